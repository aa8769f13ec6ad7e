"""Which role may do what: the whole table, by eye."""

import pytest

from paca.accounts import permission_patterns
from paca.projects import permissions
from paca.projects.models import Member, Role

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
    "traces:read":           (1, 1, 1, 0, 1),
    "usage:read":            (1, 1, 1, 1, 1),
}  # fmt: skip
NAMES = (
    permissions.OWNER,
    permissions.MANAGER,
    permissions.MEMBER,
    permissions.VIEWER,
    permissions.AGENT,
)


def member(*patterns: str, kind: str = "human") -> Member:
    return Member(role=Role(permissions=list(patterns)), kind=kind)


@pytest.mark.parametrize("right", permission_patterns.NAMES)
def test_the_usual_roles_allow_what_the_table_says(right: str) -> None:
    answers = [permissions.allows(member(*permissions.TEMPLATES[n]), right) for n in NAMES]
    assert answers == [bool(cell) for cell in TABLE[right]]


@pytest.mark.parametrize(
    ("patterns", "right", "allowed"),
    [
        (["*"], "tasks:write", True),
        (["tasks:*"], "tasks:write", True),
        (["tasks:*"], "docs:write", False),
        (["tasks:write"], "tasks:read", False),
        (["conversations:*"], "conversations:approve", True),
        (["task"], "tasks:read", False),
        (["t*"], "tasks:read", False),
        ([], "projects:read", False),
    ],
)
def test_patterns(patterns: list[str], right: str, allowed: bool) -> None:
    assert permissions.allows(member(*patterns), right) is allowed


def test_an_agent_never_approves_whatever_its_role() -> None:
    agent = member("*", kind="agent")
    assert permissions.allows(agent, "conversations:write")
    assert not permissions.allows(agent, "conversations:approve")


@pytest.mark.parametrize(
    ("held", "given", "may"),
    [
        (["*"], ["*"], True),
        (permissions.TEMPLATES[permissions.MANAGER], ["*"], False),
        (permissions.TEMPLATES[permissions.MANAGER], ["tasks:*", "agents:write"], True),
        (permissions.TEMPLATES[permissions.MANAGER], ["roles:*"], False),
        (["tasks:read"], [], True),
    ],
)
def test_nobody_gives_more_than_they_have(held: list[str], given: list[str], may: bool) -> None:
    assert permissions.may_grant(held, given) is may
