"""Reads of projects, each limited to what the person may see."""

from typing import Any
from uuid import UUID

from django.core.exceptions import ValidationError

from paca.accounts.models import User
from paca.common.errors import Invalid, NotFound
from paca.projects import permissions
from paca.projects.models import (
    Attachment,
    Member,
    Project,
    Role,
    Sprint,
    Task,
    TaskStatus,
    TaskType,
    Workspace,
    WorkspaceMember,
)


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


def projects_allowing(person: User, permission: str) -> tuple[UUID, ...]:
    """The ids of the projects in which the person's role covers the permission."""
    if not person.is_active:
        return ()
    found = Member.objects.live().filter(user=person, project__deleted_at=None)
    # guard: projects-are-those-that-allow
    return tuple(
        member.project_id
        for member in found.select_related("role")
        if permissions.allows(member, permission)
    )


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


def describe_member(member: Member) -> dict[str, Any]:
    """A member as tasks, comments and timelines show it; JSON values only."""
    return {
        "id": str(member.pk),
        "kind": member.kind,
        "name": member.name,
        "handle": member.handle,
        "agent_id": None if member.agent_id is None else str(member.agent_id),
    }


def get_task(project: Project, number: int, *, deleted: bool = False) -> Task:
    """A task of the project by its number, with all that the API shows of it.

    Raises ``NotFound`` if there is none, or if it is deleted and ``deleted`` does not allow that.
    """
    task = Task.objects.filter(project=project, number=number).with_details().first()
    if task is None or (task.deleted_at is not None and not deleted):
        raise NotFound(f"There is no task {project.prefix}-{number}.")
    return task


def get_status(project: Project, status_id: UUID) -> TaskStatus:
    """A status of the project. Raises ``NotFound`` if there is none of this id."""
    found = project.statuses.filter(pk=status_id).first()
    if found is None:
        raise NotFound("The project has no status of this id.")
    return found


def get_type(project: Project, type_id: UUID) -> TaskType:
    """A task type of the project. Raises ``NotFound`` if there is none of this id."""
    found = project.task_types.filter(pk=type_id).first()
    if found is None:
        raise NotFound("The project has no task type of this id.")
    return found


def get_sprint(project: Project, sprint_id: UUID) -> Sprint:
    """A sprint of the project. Raises ``NotFound`` if there is none of this id."""
    found = project.sprints.filter(pk=sprint_id).first()
    if found is None:
        raise NotFound("The project has no sprint of this id.")
    return found


def get_attachment(task: Task, attachment_id: UUID) -> Attachment:
    """A file of the task. Raises ``NotFound`` if there is none of this id."""
    found = (
        task.attachments.filter(pk=attachment_id).select_related("by__user", "by__agent").first()
    )
    if found is None:
        raise NotFound("The task has no file of this id.")
    return found
