"""Checks what a member may do in a project. Views, consumers and tools ask; services never do."""

from collections.abc import Callable, Iterable

from paca.accounts import permission_patterns
from paca.projects.models import Member

# An agent never approves, whatever its role says.
APPROVE = "conversations:approve"
# To answer a question of an agent. Its service refuses answers of agents.
ANSWER = "conversations:write"
OWNER, MANAGER, MEMBER, VIEWER, AGENT = "Owner", "Manager", "Member", "Viewer", "Agent"

_READ = tuple(name for name in permission_patterns.PERMISSIONS if name.endswith(":read"))
# A trace holds whatever the model was sent, also what the log does not show.
_READ_WITHOUT_TRACES = tuple(name for name in _READ if name != "traces:read")

# The roles of a new project and their permission patterns.
TEMPLATES: dict[str, tuple[str, ...]] = {
    OWNER: ("*",),
    MANAGER: tuple(
        name
        for name in permission_patterns.PERMISSIONS
        if name not in {"roles:write", "projects:delete"}
    ),
    MEMBER: (*_READ, "tasks:write", "docs:write", "conversations:write", APPROVE),
    VIEWER: _READ_WITHOUT_TRACES,
    AGENT: (*_READ_WITHOUT_TRACES, "tasks:write", "docs:write", "conversations:write"),
}


def allows(member: Member, permission: str) -> bool:
    """Whether the member's role covers the permission; a removed member may do nothing."""
    if member.deleted_at is not None:
        return False
    # guard: agents-never-approve
    if permission == APPROVE and member.agent_id is not None:
        return False
    return permission_patterns.covers(member.role.permissions, permission)


def may_grant(is_held: Callable[[str], bool], patterns: Iterable[str]) -> bool:
    """Whether somebody may grant ``patterns``: only what they hold themselves, as ``is_held`` tells.

    A pattern that is unknown to this version of Paca must be held too. It allows nothing now, but it
    may become a permission with another version.
    """
    given = list(patterns)
    needed = {*permission_patterns.expand(given), *permission_patterns.find_unknown(given)}
    return all(is_held(name) for name in needed)
