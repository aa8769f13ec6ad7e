"""The permissions of each template role, and of permission patterns."""

from typing import Any

import pytest

from paca.accounts import permission_patterns
from paca.accounts.permission_patterns import covers
from paca.projects import permissions
from paca.projects.models import Member, Role
from tests.security.access_routes import all_views

#                          owner  manager member viewer agent
TABLE = {
    "projects:read":         (1, 1, 1, 1, 1),
    "projects:write":        (1, 1, 0, 0, 0),
    "projects:delete":       (1, 0, 0, 0, 0),
    "members:read":          (1, 1, 1, 1, 1),
    "members:write":         (1, 1, 0, 0, 0),
    "roles:read":            (1, 1, 1, 1, 1),
    "roles:write":           (1, 0, 0, 0, 0),
    "tasks:read":            (1, 1, 1, 1, 1),
    "tasks:write":           (1, 1, 1, 0, 1),
    "docs:read":             (1, 1, 1, 1, 1),
    "docs:write":            (1, 1, 1, 0, 1),
    "agents:read":           (1, 1, 1, 1, 1),
    "agents:write":          (1, 1, 0, 0, 0),
    "conversations:read":    (1, 1, 1, 1, 1),
    "conversations:write":   (1, 1, 1, 0, 1),
    "conversations:approve": (1, 1, 1, 0, 0),
    "usage:read":            (1, 1, 1, 1, 1),
    "traces:read":           (1, 1, 1, 0, 0),
}  # fmt: skip
ROLES = (
    permissions.OWNER,
    permissions.MANAGER,
    permissions.MEMBER,
    permissions.VIEWER,
    permissions.AGENT,
)
# Stored patterns of another version of Paca, which are no permissions now.
UNKNOWN_STORED = ("deploys:write", "pages:*", "conversations:fly")


def member(*patterns: str) -> Member:
    return Member(role=Role(permissions=list(patterns)), kind="human")


@pytest.mark.parametrize("permission", permission_patterns.PERMISSIONS)
def test_template_roles_allow_what_the_table_says(permission: str) -> None:
    answers = [permissions.allows(member(*permissions.TEMPLATES[n]), permission) for n in ROLES]
    assert answers == [bool(cell) for cell in TABLE[permission]]


def test_every_permission_is_required_by_a_view() -> None:
    required: set[str] = set()
    for view in all_views():
        asked: Any = getattr(view, "required_permission", {})
        required |= {asked} if isinstance(asked, str) else set(asked.values())
    assert required == set(permission_patterns.PERMISSIONS)


@pytest.mark.parametrize(
    ("patterns", "permission", "allowed"),
    [
        (["*"], "agents:write", True),
        (["agents:*"], "agents:write", True),
        (["agents:*"], "members:write", False),
        (["agents:write"], "agents:read", False),
        (["projects:*"], "projects:delete", True),
        (["agent"], "agents:read", False),
        (["a*"], "agents:read", False),
        ([], "projects:read", False),
    ],
)
def test_patterns_cover_a_permission_its_group_or_all(
    patterns: list[str], permission: str, allowed: bool
) -> None:
    assert permissions.allows(member(*patterns), permission) is allowed


def test_unknown_stored_patterns_allow_nothing() -> None:
    assert permission_patterns.expand(UNKNOWN_STORED) == frozenset()
    assert not any(
        permissions.allows(member(*UNKNOWN_STORED), name)
        for name in permission_patterns.PERMISSIONS
    )
    assert permissions.allows(member("agents:read", *UNKNOWN_STORED), "agents:read")


@pytest.mark.parametrize(
    ("held", "given", "may"),
    [
        (["*"], ["*"], True),
        (permissions.TEMPLATES[permissions.MANAGER], ["*"], False),
        (permissions.TEMPLATES[permissions.MANAGER], ["agents:*", "members:write"], True),
        (permissions.TEMPLATES[permissions.MANAGER], ["roles:*"], False),
        (["agents:read"], [], True),
        (["*"], UNKNOWN_STORED, True),
        (UNKNOWN_STORED, UNKNOWN_STORED, True),
        (["agents:read"], ["agents:read", "conversations:approve"], False),
        (["conversations:write"], ["conversations:approve"], False),
        (["conversations:*"], ["conversations:approve"], True),
        (["pages:read"], ["pages:*"], False),
        (["pages:*"], ["pages:read"], True),
    ],
)
def test_grant_of_more_permissions_than_held_is_refused(
    held: list[str], given: list[str], may: bool
) -> None:
    assert permissions.may_grant(lambda name: covers(held, name), given) is may
