"""Beginning and changing workspaces, and who belongs to them."""

from django.db import transaction

from paca.accounts import audit
from paca.accounts.models import User
from paca.common import validation
from paca.projects.models import Workspace, WorkspaceMember


@transaction.atomic
def create(name: str, *, owner: User, by: audit.Acts | None = None) -> Workspace:
    """Begin a workspace with one owner."""
    workspace = Workspace(name=name)
    validation.check(workspace)
    workspace.save()
    audit.record("workspace.created", workspace, by=by)
    add(workspace, user=owner, role=WorkspaceMember.Role.OWNER, by=by)
    return workspace


@transaction.atomic
def rename(workspace: Workspace, *, name: str, by: audit.Acts) -> Workspace:
    """Give it another name."""
    workspace.name = name
    validation.check(workspace)
    workspace.save(update_fields=["name", "updated_at"])
    audit.record("workspace.renamed", workspace, by=by)
    return workspace


@transaction.atomic
def add(
    workspace: Workspace,
    *,
    user: User,
    role: WorkspaceMember.Role = WorkspaceMember.Role.MEMBER,
    by: audit.Acts | None = None,
) -> WorkspaceMember:
    """Let a person in; only people of a workspace can be added to its projects."""
    entry = WorkspaceMember(workspace=workspace, user=user, role=role)
    validation.check(entry)
    entry.save()
    audit.record("workspace.person_added", workspace, by=by, user=user.username, role=str(role))
    return entry


@transaction.atomic
def give_role(entry: WorkspaceMember, *, role: str, by: audit.Acts | None) -> None:
    """Make a person an owner, or no longer one."""
    entry.role = role
    validation.check(entry)
    entry.save(update_fields=["role", "updated_at"])
    who = entry.user.username
    audit.record("workspace.role_changed", entry.workspace, by=by, user=who, role=role)


@transaction.atomic
def remove(entry: WorkspaceMember, *, by: audit.Acts | None) -> None:
    """Take a person out; in projects they are a member of, they stay one until removed there."""
    audit.record("workspace.person_removed", entry.workspace, by=by, user=entry.user.username)
    entry.delete()
