"""Who may do what in a project: asked at the door (view, consumer, tool), never in a service."""

from collections.abc import Iterable

from paca.accounts import permission_patterns
from paca.projects.models import Member

OWNER, MANAGER, MEMBER, VIEWER, AGENT = "Owner", "Manager", "Member", "Viewer", "Agent"

_READS = tuple(name for name in permission_patterns.NAMES if name.endswith(":read"))
_WORK = ("tasks:write", "docs:write", "conversations:write")

# The roles a new project begins with.
TEMPLATES: dict[str, tuple[str, ...]] = {
    OWNER: ("*",),
    MANAGER: tuple(
        n for n in permission_patterns.NAMES if n not in {"roles:write", "projects:delete"}
    ),
    MEMBER: (*_READS, *_WORK, "conversations:approve"),
    VIEWER: tuple(name for name in _READS if name != "traces:read"),
    AGENT: (*_READS, *_WORK),
}


def allows(member: Member, right: str) -> bool:
    """Whether the member's role holds this right. An agent never approves, whatever its role."""
    if member.deleted_at is not None:
        return False
    if member.kind == Member.Kind.AGENT and right == "conversations:approve":
        return False
    return permission_patterns.covers(member.role.permissions, right)


def may_grant(held: Iterable[str], patterns: Iterable[str]) -> bool:
    """Whether someone who holds ``held`` may give these away: nobody gives more than they have."""
    return permission_patterns.expand(patterns) <= permission_patterns.expand(held)
