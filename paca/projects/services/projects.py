"""Services for projects."""

from typing import Any

from django.db import transaction
from django.utils import timezone

from paca.accounts import audit
from paca.accounts.models import User
from paca.common import validation
from paca.projects import permissions
from paca.projects.models import Member, Project, Role, Workspace
from paca.projects.services import members

CHANGEABLE = ("name", "description")


@transaction.atomic
def create(workspace: Workspace, name: str, *, by: User, description: str = "") -> Project:
    """Make a project with the template roles. Its creator becomes its owner.

    Raises ``Invalid`` if the name is taken, empty or too long.
    """
    project = Project(workspace=workspace, name=name, description=description)
    validation.check(project)
    project.save()
    audit.record("project.created", project, by=by, project_id=project.pk)
    for role_name, patterns in permissions.TEMPLATES.items():
        Role.objects.create(project=project, name=role_name, permissions=list(patterns))
    members.add_person(project, user=by, role=project.roles.get(name=permissions.OWNER), by=by)
    return project


@transaction.atomic
def change(project: Project, *, by: Member, **changes: Any) -> Project:
    """Change the name or the description. Raises ``Invalid`` if the name is taken or empty.

    Raises ``TypeError`` for any other field.
    """
    for field, value in changes.items():
        if field not in CHANGEABLE:
            raise TypeError(f"a project's {field!r} cannot be changed")
        setattr(project, field, value)
    validation.check(project)
    project.save()
    audit.record("project.changed", project, by=by, project_id=project.pk, fields=sorted(changes))
    return project


@transaction.atomic
def delete(project: Project, *, by: Member) -> None:
    """Delete the project: all its members are removed, its rows stay."""
    for member in project.members.live().with_names():
        members.end_membership(member, by=by)
    project.deleted_at = timezone.now()
    project.save(update_fields=["deleted_at", "updated_at"])
    audit.record("project.deleted", project, by=by, project_id=project.pk)
