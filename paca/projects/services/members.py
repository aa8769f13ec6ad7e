"""Services for the members of a project."""

from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from paca.accounts import audit
from paca.accounts.models import User
from paca.common import validation
from paca.common.errors import Conflict, Invalid
from paca.projects import signals
from paca.projects.models import Member, Project, Role


class LastOwner(Conflict):
    """A project needs at least one owner; make someone else an owner first."""

    code = "last_owner"


@transaction.atomic
def add_person(project: Project, *, user: User, role: Role, by: audit.HasActor) -> Member:
    """Make the person a member. A removed member becomes the same member again.

    Raises ``Invalid`` if the person is a member already, if an agent of the project has their username
    as its handle, or if the role is of another project.
    """
    _require_role_of(project, role)
    former = Member.objects.filter(project=project, user=user, deleted_at__isnull=False).first()
    if former is None:
        former = Member(project=project, user=user, kind=Member.Kind.HUMAN)
    former.role, former.deleted_at = role, None
    return _save_added(former, by=by)


@transaction.atomic
def add_agent(project: Project, *, agent: Any, role: Role, by: audit.HasActor | None) -> Member:
    """Make the agent a member. Only ``agents.services.create`` calls this, in its transaction.

    Raises ``Invalid`` if the agent is a member already or the role is of another project.
    """
    _require_role_of(project, role)
    return _save_added(
        Member(project=project, agent=agent, role=role, kind=Member.Kind.AGENT), by=by
    )


@transaction.atomic
def change_role(member: Member, *, role: Role, by: audit.HasActor | None) -> Member:
    """Give the member another role.

    Raises ``Invalid`` if the role is of another project, and ``LastOwner`` if the member is the last
    owner and would no longer be one.
    """
    _require_role_of(member.project, role)
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
def remove(member: Member, *, by: audit.HasActor) -> None:
    """Remove a person from the project. What they wrote keeps their name.

    Raises ``Invalid`` for an agent, which is removed by ``agents.services.retire``, and ``LastOwner``
    for the last owner.
    """
    if member.kind == Member.Kind.AGENT:
        raise Invalid("An agent leaves a project by being retired.")
    _refuse_if_last_owner(member)
    end_membership(member, by=by)


def end_membership(member: Member, *, by: audit.HasActor | None) -> None:
    """Mark the member as removed, without checks, in the caller's transaction."""
    member.deleted_at = timezone.now()
    member.save(update_fields=["deleted_at", "updated_at"])
    audit.record("member.removed", member, by=by, project_id=member.project_id)
    signals.members_changed.send(sender=Member, member=member, change="removed", by=by)


def _save_added(member: Member, *, by: audit.HasActor | None) -> Member:
    validation.check(member)
    _require_free_handle(member)
    member.save()
    audit.record("member.added", member, by=by, project_id=member.project_id, role=member.role.name)
    signals.members_changed.send(sender=Member, member=member, change="added", by=by)
    return member


def _require_free_handle(member: Member) -> None:
    """Raises ``Invalid`` if another member has the handle: a mention must mean one member."""
    # The lock prevents that a person and an agent of the same handle are added at the same time.
    Project.objects.select_for_update(no_key=True).get(pk=member.project_id)
    others = Member.objects.live().filter(project_id=member.project_id).exclude(pk=member.pk)
    handle = member.handle
    if others.filter(Q(user__username__iexact=handle) | Q(agent__handle=handle.lower())).exists():
        field = "handle" if member.kind == Member.Kind.AGENT else "username"
        raise Invalid(fields={field: [f"Another member has the handle @{handle}."]})


def _require_role_of(project: Project, role: Role) -> None:
    if role.project_id != project.pk:
        raise Invalid(fields={"role_id": ["This role belongs to another project."]})


def require_an_owner(project_id: UUID, *, besides: Member | None = None) -> None:
    """Raises ``LastOwner`` unless a person of the project, other than ``besides``, has the pattern ``*``."""
    # The lock prevents that two owners remove one another at the same time.
    Project.objects.select_for_update(no_key=True).get(pk=project_id)
    people = Member.objects.live().filter(project_id=project_id, kind=Member.Kind.HUMAN)
    if besides is not None:
        people = people.exclude(pk=besides.pk)
    if not any("*" in person.role.permissions for person in people.select_related("role")):
        raise LastOwner


def _refuse_if_last_owner(member: Member) -> None:
    if "*" in member.role.permissions and member.kind == Member.Kind.HUMAN:
        require_an_owner(member.project_id, besides=member)
