"""Services for workspaces and their people."""

from uuid import UUID

from django.db import transaction

from paca.accounts import audit
from paca.accounts.models import User
from paca.common import validation
from paca.common.errors import Conflict
from paca.projects.models import Member, Workspace, WorkspaceMember
from paca.projects.services import members


class LastWorkspaceOwner(Conflict):
    """A workspace needs at least one owner; make someone else an owner first."""

    code = "last_workspace_owner"


@transaction.atomic
def create(name: str, *, owner: User, by: audit.HasActor | None = None) -> Workspace:
    """Make a workspace with one owner. Raises ``Invalid`` if the name is empty or too long."""
    workspace = Workspace(name=name)
    validation.check(workspace)
    workspace.save()
    audit.record("workspace.created", workspace, by=by)
    add_person(workspace, user=owner, role=WorkspaceMember.Role.OWNER, by=by)
    return workspace


@transaction.atomic
def rename(workspace: Workspace, *, name: str, by: audit.HasActor) -> Workspace:
    """Change the name. Raises ``Invalid`` if it is empty or too long."""
    workspace.name = name
    validation.check(workspace)
    workspace.save(update_fields=["name", "updated_at"])
    audit.record("workspace.renamed", workspace, by=by)
    return workspace


@transaction.atomic
def add_person(
    workspace: Workspace,
    *,
    user: User,
    role: WorkspaceMember.Role = WorkspaceMember.Role.MEMBER,
    by: audit.HasActor | None = None,
) -> WorkspaceMember:
    """Add a person. Only people of a workspace can be added to its projects.

    Raises ``Invalid`` if the person belongs to the workspace already.
    """
    entry = WorkspaceMember(workspace=workspace, user=user, role=role)
    validation.check(entry)
    entry.save()
    audit.record("workspace.person_added", workspace, by=by, user=user.username, role=str(role))
    return entry


@transaction.atomic
def change_role(entry: WorkspaceMember, *, role: str, by: audit.HasActor | None) -> None:
    """Make a person an owner or a plain member.

    Raises ``Invalid`` if there is no such role, and ``LastWorkspaceOwner`` for the last owner.
    """
    if role != WorkspaceMember.Role.OWNER:
        _refuse_if_last_owner(entry)
    entry.role = role
    validation.check(entry)
    entry.save(update_fields=["role", "updated_at"])
    user = entry.user.username
    audit.record("workspace.role_changed", entry.workspace, by=by, user=user, role=role)


@transaction.atomic
def remove_person(entry: WorkspaceMember, *, by: audit.HasActor) -> None:
    """Remove a person from the workspace and from its projects. What they wrote keeps their name.

    Raises ``LastWorkspaceOwner`` for the last owner of the workspace, and ``LastOwner`` for the last owner
    of one of its projects.
    """
    _refuse_if_last_owner(entry)
    memberships = Member.objects.live().filter(
        user=entry.user, project__workspace=entry.workspace, project__deleted_at=None
    )
    for member in memberships.with_names().select_related("project"):
        members.remove(member, by=by)
    audit.record("workspace.person_removed", entry.workspace, by=by, user=entry.user.username)
    entry.delete()


def lock(workspace_id: UUID) -> None:
    """Let no other transaction change the workspace or its people until this one ends, if there is one."""
    list(Workspace.objects.filter(pk=workspace_id).select_for_update(no_key=True))


def _refuse_if_last_owner(entry: WorkspaceMember) -> None:
    lock(entry.workspace_id)  # two owners must not remove one another at the same time
    owners = WorkspaceMember.objects.filter(
        workspace=entry.workspace_id, role=WorkspaceMember.Role.OWNER, user__is_active=True
    )
    if owners.filter(pk=entry.pk).exists() and not owners.exclude(pk=entry.pk).exists():
        raise LastWorkspaceOwner
