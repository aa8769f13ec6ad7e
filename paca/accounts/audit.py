"""The only code that writes the audit trail of people, permissions and agents."""

import uuid
from dataclasses import dataclass
from typing import Any, Protocol

from django.db import models

from paca.accounts.models import AuditEntry
from paca.accounts.models.audit import Actor
from paca.common import request_ids


class HasActor(Protocol):
    """A user or a member: both can be the actor of an audit entry."""

    @property
    def actor(self) -> Actor: ...


@dataclass(frozen=True, slots=True)
class OutsideObject:
    """The object of an audit entry that is no row, such as an entry of a stream."""

    kind: str
    id: str
    name: str


SYSTEM = Actor(AuditEntry.ActorKind.SYSTEM, None, "system")


def record(
    action: str,
    subject: models.Model | OutsideObject,
    *,
    by: HasActor | None,
    project_id: uuid.UUID | None = None,
    **facts: Any,
) -> AuditEntry:
    """Write an entry in the transaction of the change. Never pass a secret as a fact.

    ``by`` is None for the system. In a request with an API token the token is the actor, and the
    entry names its owner.
    """
    actor = by.actor if by is not None else SYSTEM
    context = request_ids.current()
    if context.token_id is not None:
        facts["acting_for"] = actor.name
        actor = Actor(AuditEntry.ActorKind.TOKEN, context.token_id, context.token_name)
    if isinstance(subject, OutsideObject):
        kind, subject_id, name = subject.kind, subject.id, subject.name
    else:
        kind, subject_id, name = subject._meta.label_lower, str(subject.pk), str(subject)
    return AuditEntry.objects.create(
        actor=actor.kind,
        actor_id=actor.id,
        actor_name=actor.name[:150],
        action=action,
        project_id=project_id,
        object_type=kind,
        object_id=subject_id,
        object_name=name[:200],
        facts=facts,
        request_id=context.request_id,
        ip=context.ip,
    )
