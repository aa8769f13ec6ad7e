"""Reads of projects, each limited to what the person may see."""

from uuid import UUID

from django.core.exceptions import ValidationError

from paca.accounts.models import User
from paca.common.errors import Invalid, NotFound
from paca.projects.models import Member, Project, Role, Workspace, WorkspaceMember


def get_membership(user: User, project_id: UUID | str) -> Member:
    """The person's membership in the project.

    Raises ``NotFound`` if there is none, and also if there is no such project: a stranger must not
    learn which projects exist.
    """
    try:
        return (
            Member.objects.live()
            .select_related("role", "project", "user")
            .get(project_id=project_id, project__deleted_at=None, user=user, user__is_active=True)
        )
    except (Member.DoesNotExist, ValidationError):
        raise NotFound from None


def get_member(project: Project, member_id: UUID) -> Member:
    """A member of the project. Raises ``NotFound`` if there is none of this id."""
    try:
        return Member.objects.live().with_names().get(project=project, pk=member_id)
    except Member.DoesNotExist:
        raise NotFound from None


def get_role(project: Project, role_id: UUID) -> Role:
    """A role of the project. Raises ``NotFound`` if there is none of this id."""
    try:
        return project.roles.get(pk=role_id)
    except Role.DoesNotExist:
        raise NotFound from None


def get_workspace(user: User, workspace_id: UUID | str) -> Workspace:
    """A workspace of the person. Raises ``NotFound`` if they do not belong to it or it does not exist."""
    try:
        return Workspace.objects.for_person(user).get(pk=workspace_id)
    except (Workspace.DoesNotExist, ValidationError):
        raise NotFound from None


def is_workspace_owner(user: User, workspace: Workspace) -> bool:
    """Whether the person is an owner of the workspace."""
    return workspace.members.filter(user=user, role=WorkspaceMember.Role.OWNER).exists()


def get_workspace_person(project: Project, username: str) -> User:
    """A person of the project's workspace.

    Raises ``Invalid`` with the same text for a person of another workspace and for one who does not
    exist: the answer must not reveal which usernames exist.
    """
    entry = project.workspace.members.filter(user__username__iexact=username, user__is_active=True)
    found = entry.select_related("user").first()
    if found is None:
        raise Invalid(fields={"username": ["The workspace has no person of this name."]})
    return found.user
