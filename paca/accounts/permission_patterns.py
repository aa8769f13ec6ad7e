"""The names of all rights, and how a pattern such as ``tasks:*`` covers them."""

from collections.abc import Iterable

NAMES = (
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
    "traces:read",
    "usage:read",
)
PATTERNS = frozenset({"*", *NAMES, *(f"{name.partition(':')[0]}:*" for name in NAMES)})


def covers(patterns: Iterable[str], right: str) -> bool:
    """Whether one of the patterns is the right itself, its group's ``group:*``, or ``*``."""
    held = set(patterns)
    return "*" in held or right in held or f"{right.partition(':')[0]}:*" in held


def expand(patterns: Iterable[str]) -> frozenset[str]:
    """The single rights behind the patterns."""
    held = set(patterns)
    return frozenset(name for name in NAMES if covers(held, name))


def unknown(patterns: Iterable[object]) -> list[str]:
    """Those that are no right and no pattern."""
    return [str(pattern) for pattern in patterns if pattern not in PATTERNS]
