"""The names of all permissions, and how a pattern such as ``agents:*`` covers them.

A permission is added together with the feature that asks for it. Roles and tokens may still hold
a name from another version of Paca. It stays stored and allows nothing, but it may become a
permission again. Therefore only somebody who holds it too may grant it.
"""

from collections.abc import Iterable

PERMISSIONS = (
    "projects:read",
    "projects:write",
    "projects:delete",
    "members:read",
    "members:write",
    "roles:read",
    "roles:write",
    "tasks:read",
    "tasks:write",
    "docs:read",
    "docs:write",
    "agents:read",
    "agents:write",
    "conversations:read",
    "conversations:write",
    "conversations:approve",
    "usage:read",
    "traces:read",
)
PATTERNS = frozenset({"*", *PERMISSIONS, *(f"{name.partition(':')[0]}:*" for name in PERMISSIONS)})


def covers(patterns: Iterable[str], permission: str) -> bool:
    """Whether a pattern is the permission itself, its group's ``group:*``, or ``*``."""
    held = set(patterns)
    return "*" in held or permission in held or f"{permission.partition(':')[0]}:*" in held


def expand(patterns: Iterable[str]) -> frozenset[str]:
    """All permissions that the patterns cover; unknown patterns are ignored."""
    held = set(patterns)
    return frozenset(name for name in PERMISSIONS if covers(held, name))


def find_unknown(patterns: Iterable[object], *, stored: Iterable[object] = ()) -> list[str]:
    """The patterns that do not exist; those that are stored already are accepted."""
    known = PATTERNS.union(stored)
    return [str(pattern) for pattern in patterns if pattern not in known]
