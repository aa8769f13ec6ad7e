"""Bringing people and agents into a project, giving them roles, and taking them out."""

from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from paca.accounts import audit
from paca.accounts.models import User
from paca.common import validation
from paca.common.errors import Conflict, Invalid
from paca.projects import signals
from paca.projects.models import Member, Project, Role


class LastOwner(Conflict):
    """A project keeps at least one person who may do everything; make someone else an owner first."""

    code = "last_owner"


@transaction.atomic
def add_person(project: Project, *, user: User, role: Role, by: audit.Acts) -> Member:
    """Make the person a member; one who was removed earlier comes back as the same member."""
    _must_be_of(project, role)
    former = Member.objects.filter(project=project, user=user, deleted_at__isnull=False).first()
    if former is None:
        former = Member(project=project, user=user, kind=Member.Kind.HUMAN)
    former.role, former.deleted_at = role, None
    return _added(former, by=by)


@transaction.atomic
def add_agent(project: Project, *, agent: Any, role: Role, by: audit.Acts | None) -> Member:
    """Make the agent a member. Called by ``agents.services.create``, which makes both at once."""
    _must_be_of(project, role)
    return _added(Member(project=project, agent=agent, role=role, kind=Member.Kind.AGENT), by=by)


@transaction.atomic
def give_role(member: Member, *, role: Role, by: audit.Acts | None) -> Member:
    """Give the member another role."""
    _must_be_of(member.project, role)
    if "*" not in role.permissions:
        _refuse_if_last_owner(member)
    before, member.role = member.role, role
    member.save(update_fields=["role", "updated_at"])
    audit.record(
        "member.role_changed",
        member,
        by=by,
        project_id=member.project_id,
        before=before.name,
        after=role.name,
    )
    signals.members_changed.send(sender=Member, member=member, change="role_changed", by=by)
    return member


@transaction.atomic
def remove(member: Member, *, by: audit.Acts) -> None:
    """Take a person out; what they wrote stays theirs. Agents leave by ``agents.services.retire``."""
    if member.kind == Member.Kind.AGENT:
        raise Invalid("An agent leaves a project by being retired.")
    _refuse_if_last_owner(member)
    end(member, by=by)


def end(member: Member, *, by: audit.Acts | None) -> None:
    """End a membership without further questions, inside the caller's transaction."""
    member.deleted_at = timezone.now()
    member.save(update_fields=["deleted_at", "updated_at"])
    audit.record("member.removed", member, by=by, project_id=member.project_id)
    signals.members_changed.send(sender=Member, member=member, change="removed", by=by)


def _added(member: Member, *, by: audit.Acts | None) -> Member:
    validation.check(member)
    member.save()
    audit.record("member.added", member, by=by, project_id=member.project_id, role=member.role.name)
    signals.members_changed.send(sender=Member, member=member, change="added", by=by)
    return member


def _must_be_of(project: Project, role: Role) -> None:
    if role.project_id != project.pk:
        raise Invalid(fields={"role_id": ["This role belongs to another project."]})


def require_an_owner(project_id: UUID, *, besides: Member | None = None) -> None:
    """Raise ``LastOwner`` unless some person (besides this one) may do everything."""
    # Two owners removing one another at once must not both succeed.
    Project.objects.select_for_update(no_key=True).get(pk=project_id)
    people = Member.objects.live().filter(project_id=project_id, kind=Member.Kind.HUMAN)
    if besides is not None:
        people = people.exclude(pk=besides.pk)
    if not any("*" in person.role.permissions for person in people.select_related("role")):
        raise LastOwner


def _refuse_if_last_owner(member: Member) -> None:
    if "*" in member.role.permissions and member.kind == Member.Kind.HUMAN:
        require_an_owner(member.project_id, besides=member)
