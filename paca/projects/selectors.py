"""Reads across the tables of projects, each within what the asking person may see."""

from uuid import UUID

from django.core.exceptions import ValidationError

from paca.accounts.models import User
from paca.common.errors import Invalid, NotFound
from paca.projects.models import Member, Project, Role, Workspace, WorkspaceMember


def member_of(user: User, project_id: UUID | str) -> Member:
    """The person's membership; ``NotFound`` when there is none or no such project.

    The two are one answer on purpose: a stranger learns nothing about which projects exist.
    """
    try:
        return (
            Member.objects.live()
            .select_related("role", "project", "user")
            .get(project_id=project_id, project__deleted_at=None, user=user, user__is_active=True)
        )
    except (Member.DoesNotExist, ValidationError):
        raise NotFound from None


def member(project: Project, member_id: UUID) -> Member:
    """One member of the project, human or agent."""
    try:
        return Member.objects.live().with_names().get(project=project, pk=member_id)
    except Member.DoesNotExist:
        raise NotFound from None


def role(project: Project, role_id: UUID) -> Role:
    """One role of the project."""
    try:
        return project.roles.get(pk=role_id)
    except Role.DoesNotExist:
        raise NotFound from None


def role_named(project: Project, name: str) -> Role:
    """The project's role of this name."""
    try:
        return project.roles.get(name=name)
    except Role.DoesNotExist:
        raise NotFound from None


def workspace(user: User, workspace_id: UUID | str) -> Workspace:
    """A workspace the person belongs to."""
    try:
        return Workspace.objects.of(user).get(pk=workspace_id)
    except (Workspace.DoesNotExist, ValidationError):
        raise NotFound from None


def owns(user: User, workspace: Workspace) -> bool:
    """Whether the person is an owner of the workspace."""
    return workspace.members.filter(user=user, role=WorkspaceMember.Role.OWNER).exists()


def colleague(project: Project, username: str) -> User:
    """A person of the project's workspace; of others, nobody learns whether they exist."""
    entry = project.workspace.members.filter(user__username__iexact=username, user__is_active=True)
    found = entry.select_related("user").first()
    if found is None:
        raise Invalid(fields={"username": ["The workspace has no person of this name."]})
    return found.user
