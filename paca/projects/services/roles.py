"""Services for the roles of a project."""

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
    """Make a role. Raises ``Invalid`` if a permission is unknown or the name is taken or empty."""
    role = Role(project=project, name=name, permissions=permissions)
    _validate(role)
    role.save()
    audit.record("role.created", role, by=by, project_id=project.pk, permissions=role.permissions)
    return role


@transaction.atomic
def change(role: Role, *, by: Member, **changes: Any) -> Role:
    """Change the name or the permissions of a role. Its members have the new permissions at once.

    Raises ``Invalid`` if a new permission is unknown or the name is taken or empty, and
    ``LastOwner`` if no person of the project would have all permissions any more. Raises
    ``TypeError`` for any other field.
    """
    before = role.permissions
    for field, value in changes.items():
        if field not in CHANGEABLE:
            raise TypeError(f"a role's {field!r} cannot be changed")
        setattr(role, field, value)
    _validate(role, stored=before)
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
    """Delete a role. Raises ``RoleInUse`` if a member has it or had it."""
    if role.members.exists():
        raise RoleInUse
    audit.record("role.deleted", role, by=by, project_id=role.project_id)
    role.delete()


def _validate(role: Role, *, stored: list[str] | None = None) -> None:
    """``stored`` are the role's permissions in the database.

    They may be of another version of Paca and unknown to this one; a role keeps them.
    """
    role.permissions = sorted(set(role.permissions))
    if unknown := permission_patterns.find_unknown(role.permissions, stored=stored or ()):
        raise Invalid(fields={"permissions": [f"{', '.join(unknown)}: no such permission."]})
    validation.check(role)
