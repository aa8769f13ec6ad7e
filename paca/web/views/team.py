"""The page of a project's team: members, invitations and roles."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

from paca.accounts import permission_patterns
from paca.projects import permissions
from paca.projects.models import Member, Role
from paca.projects.services import invitations
from paca.web.selectors import members_of
from paca.web.views.decorators import project_page
from paca.web.views.pages import page_context


@project_page("members:read")
def team(request: HttpRequest, member: Member) -> HttpResponse:
    """People and agents with their roles, open invitations, and the roles with their permissions."""
    project = member.project
    may_write = permissions.allows(member, "members:write")
    roles = list(project.roles.order_by("created_at", "id"))
    grantable = [role for role in roles if _may_grant(member, role)]
    context = page_context(
        member,
        "team",
        people=list(members_of(project)),
        roles=[_role_row(member, role) for role in roles],
        grantable=grantable,
        invitations=_open_invitations(member) if may_write else [],
        may_change_members=may_write,
        may_change_roles=permissions.allows(member, "roles:write"),
        permission_groups=_permission_groups(),
    )
    return render(request, "web/team.html", context)


def _may_grant(member: Member, role: Role) -> bool:
    return permissions.may_grant(lambda name: permissions.allows(member, name), role.permissions)


def _role_row(member: Member, role: Role) -> dict[str, Any]:
    return {
        "role": role,
        "held": sorted(permission_patterns.expand(role.permissions)),
        "everything": "*" in role.permissions,
        "may_change": permissions.allows(member, "roles:write") and _may_grant(member, role),
    }


def _open_invitations(member: Member) -> list[Any]:
    """The invitations that are not used, revoked or too old, each with ``valid``: whether its link works."""
    fresh = member.project.invitations.filter(
        accepted_at=None, revoked_at=None, expires_at__gt=timezone.now()
    )
    found = list(fresh.select_related("role", "by"))
    for invitation, valid in zip(found, invitations.are_valid(found), strict=True):
        invitation.valid = valid  # type: ignore[attr-defined]
    return found


def _permission_groups() -> list[tuple[str, list[str]]]:
    """The permissions by their group, for the form of a role."""
    groups: dict[str, list[str]] = {}
    for name in permission_patterns.PERMISSIONS:
        groups.setdefault(name.partition(":")[0], []).append(name)
    return list(groups.items())
