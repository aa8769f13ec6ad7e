"""The names under which a model calls the tools of MCP servers: ``mcp__server__tool``."""

import hashlib
import re
from collections.abc import Iterable

PREFIX = "mcp__"
MAX_NAME_CHARACTERS = 64  # the least that a provider takes
HASH_CHARACTERS = 8
_FOREIGN = re.compile(r"[^A-Za-z0-9_-]")


def tool_names(server: str, tools: Iterable[str]) -> dict[str, str]:
    """The name for the model of each tool of a server, which every provider takes and no two tools share.

    It depends on nothing but the server's name, the tool's own name and whether another tool of the server would get the
    same one, so that it is the same in each request.
    """
    plain = {tool: _plain(server, tool) for tool in tools}
    # guard: mcp-names-do-not-collide
    shared = {name for name in plain.values() if list(plain.values()).count(name) > 1}
    return {
        tool: _with_hash(name, server, tool) if _differs(name, server, tool, shared) else name
        for tool, name in plain.items()
    }


def _plain(server: str, tool: str) -> str:
    return PREFIX + _FOREIGN.sub("_", server) + "__" + _FOREIGN.sub("_", tool)


def _differs(name: str, server: str, tool: str, shared: set[str]) -> bool:
    """Whether the plain name is too long, or could belong to another tool or server."""
    is_changed = name != f"{PREFIX}{server}__{tool}"
    is_ambiguous = "__" in server or server.endswith("_")
    return len(name) > MAX_NAME_CHARACTERS or name in shared or is_changed or is_ambiguous


def _with_hash(name: str, server: str, tool: str) -> str:
    digest = hashlib.sha256(f"{server}\0{tool}".encode("utf-8", "replace")).hexdigest()
    return f"{name[: MAX_NAME_CHARACTERS - HASH_CHARACTERS - 1]}_{digest[:HASH_CHARACTERS]}"
