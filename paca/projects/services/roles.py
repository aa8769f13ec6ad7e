"""Making, changing and deleting roles."""

from typing import Any

from django.db import transaction

from paca.accounts import audit, permission_patterns
from paca.common import validation
from paca.common.errors import Conflict, Invalid
from paca.projects.models import Member, Project, Role
from paca.projects.services import members

CHANGEABLE = ("name", "permissions")


class RoleInUse(Conflict):
    """Members have or had this role; it cannot be deleted."""

    code = "role_in_use"


@transaction.atomic
def create(project: Project, *, name: str, permissions: list[str], by: Member) -> Role:
    """Make a role."""
    role = Role(project=project, name=name, permissions=permissions)
    _check(role)
    role.save()
    audit.record("role.created", role, by=by, project_id=project.pk, permissions=role.permissions)
    return role


@transaction.atomic
def change(role: Role, *, by: Member, **changes: Any) -> Role:
    """Rename it or change what it may do; it counts for its members at once."""
    before = role.permissions
    for field, value in changes.items():
        if field not in CHANGEABLE:
            raise TypeError(f"a role's {field!r} cannot be changed")
        setattr(role, field, value)
    _check(role)
    role.save()
    if "*" in before and "*" not in role.permissions:
        members.require_an_owner(role.project_id)
    audit.record(
        "role.changed",
        role,
        by=by,
        project_id=role.project_id,
        before=before,
        after=role.permissions,
    )
    return role


@transaction.atomic
def delete(role: Role, *, by: Member) -> None:
    """Delete a role that no member has or had."""
    if role.members.exists():
        raise RoleInUse
    audit.record("role.deleted", role, by=by, project_id=role.project_id)
    role.delete()


def _check(role: Role) -> None:
    role.permissions = sorted(set(role.permissions))
    if wrong := permission_patterns.unknown(role.permissions):
        raise Invalid(fields={"permissions": [f"{', '.join(wrong)}: no such right."]})
    validation.check(role)
