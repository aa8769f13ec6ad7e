"""Services for projects."""

import re
from typing import Any

from django.db import transaction
from django.utils import timezone

from paca.accounts import audit
from paca.accounts.models import User
from paca.common import validation
from paca.projects import permissions, signals
from paca.projects.models import (
    Member,
    Project,
    Role,
    StatusCategory,
    TaskStatus,
    TaskType,
    Workspace,
)
from paca.projects.services import images, members

CHANGEABLE = (
    "name",
    "prefix",
    "description",
    "time_zone",
    "private_mcp_servers",
    "memory",
    "network",
    "network_presets",
    "network_hosts",
    "sandbox_image",
    "setup_commands",
    "repository_setup",
    "allowed_commands",
    "package_cache",
    "limit_month_tokens",
    "limit_month_cost_usd",
)
MAX_DERIVED_PREFIX = 4

# What a new project begins with; its members change it as they like.
STATUSES = (
    ("Backlog", StatusCategory.BACKLOG),
    ("To do", StatusCategory.TODO),
    ("In progress", StatusCategory.IN_PROGRESS),
    ("In review", StatusCategory.IN_PROGRESS),
    ("Done", StatusCategory.DONE),
)
TASK_TYPES = ("Task", "Bug", "Feature")


@transaction.atomic
def create(
    workspace: Workspace, name: str, *, by: User, description: str = "", prefix: str = ""
) -> Project:
    """Make a project with the template roles, statuses and task types. Its creator becomes its owner.

    An empty ``prefix`` is derived from the name. Raises ``Invalid`` if the name or the prefix is taken
    or not valid.
    """
    project = Project(
        workspace=workspace,
        name=name,
        prefix=prefix or derive_prefix(workspace, name),
        description=description,
    )
    validation.check(project)
    project.save()
    audit.record("project.created", project, by=by, project_id=project.pk)
    _create_task_settings(project)
    for role_name, patterns in permissions.TEMPLATES.items():
        Role.objects.create(project=project, name=role_name, permissions=list(patterns))
    members.add_person(project, user=by, role=project.roles.get(name=permissions.OWNER), by=by)
    return project


def _create_task_settings(project: Project) -> None:
    for position, (name, category) in enumerate(STATUSES):
        TaskStatus.objects.create(project=project, name=name, category=category, position=position)
    for position, name in enumerate(TASK_TYPES):
        TaskType.objects.create(project=project, name=name, position=position)


def derive_prefix(workspace: Workspace, name: str) -> str:
    """A prefix that no project of the workspace has: the first letters of the name, then a number."""
    letters = re.sub(r"[^A-Z0-9]", "", name.upper()).lstrip("0123456789")[:MAX_DERIVED_PREFIX]
    base = letters or "P"
    taken = set(workspace.projects.live().values_list("prefix", flat=True))
    number, prefix = 2, base
    while prefix in taken:
        prefix, number = f"{base}{number}", number + 1
    return prefix


@transaction.atomic
def change(project: Project, *, by: Member, **changes: Any) -> Project:
    """Change any of ``CHANGEABLE``: texts, the time zone, private MCP servers, what is remembered, the network, the image
    and the setup of sandboxes, whether setup scripts of repositories run, the allowed commands, the package cache, the
    limits of a month.

    Keys in texts written before a change of the prefix keep the former one. Raises ``Invalid`` if the
    name or the prefix is taken or not valid.

    Raises ``TypeError`` for any other field.
    """
    time_zone = project.time_zone
    for field, value in changes.items():
        if field not in CHANGEABLE:
            raise TypeError(f"a project's {field!r} cannot be changed")
        setattr(project, field, value)
    if "sandbox_image" in changes:
        images.require_allowed(project.sandbox_image, field="sandbox_image")
    validation.check(project)
    project.save()
    audit.record("project.changed", project, by=by, project_id=project.pk, fields=sorted(changes))
    if project.time_zone != time_zone:
        signals.time_zone_changed.send(sender=Project, project=project)
    return project


@transaction.atomic
def delete(project: Project, *, by: Member) -> None:
    """Delete the project: all its members are removed, its rows stay."""
    project.deleted_at = timezone.now()
    project.save(update_fields=["deleted_at", "updated_at"])
    for member in project.members.live().with_names():
        member.project = project  # receivers see that it is deleted
        members.end_membership(member, by=by)
    signals.project_deleted.send(sender=Project, project=project)
    audit.record("project.deleted", project, by=by, project_id=project.pk)
