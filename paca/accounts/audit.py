"""Adds to the audit trail; every change of people, rights and agents passes through here."""

import uuid
from typing import Any, Protocol

from django.db import models

from paca.accounts.models import AuditEntry
from paca.accounts.models.audit import Actor
from paca.common import request_ids


class Acts(Protocol):
    """Whoever can be named as the one who did something: a user, a member."""

    @property
    def actor(self) -> Actor: ...


SYSTEM = Actor(AuditEntry.Actor.SYSTEM, None, "system")


def record(
    action: str,
    subject: models.Model,
    *,
    by: Acts | None,
    project_id: uuid.UUID | None = None,
    **facts: Any,
) -> AuditEntry:
    """Note an action, in the transaction of what it notes. Never pass a secret as a fact."""
    actor = by.actor if by is not None else SYSTEM
    context = request_ids.current()
    if context.token_id is not None:
        facts["acting_for"] = actor.name
        actor = Actor(AuditEntry.Actor.TOKEN, context.token_id, context.token_name)
    return AuditEntry.objects.create(
        actor=actor.kind,
        actor_id=actor.id,
        actor_name=actor.name[:150],
        action=action,
        project_id=project_id,
        object_type=subject._meta.label_lower,
        object_id=str(subject.pk),
        object_name=str(subject)[:200],
        facts=facts,
        request_id=context.request_id,
        ip=context.ip,
    )
