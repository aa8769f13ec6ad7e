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

    It depends on nothing but the server's name and the tool's own name, so that it is the same in each request.
    """
    return {tool: _name(server, tool) for tool in tools}


def _name(server: str, tool: str) -> str:
    name = PREFIX + _FOREIGN.sub("_", server) + "__" + _FOREIGN.sub("_", tool)
    if not _may_be_shared(name, server, tool) and len(name) <= MAX_NAME_CHARACTERS:
        return name
    digest = hashlib.sha256(f"{server}\0{tool}".encode("utf-8", "replace")).hexdigest()
    return f"{name[: MAX_NAME_CHARACTERS - HASH_CHARACTERS - 1]}_{digest[:HASH_CHARACTERS]}"


def _may_be_shared(name: str, server: str, tool: str) -> bool:
    """Whether another server and tool could have the same plain name."""
    is_changed = name != f"{PREFIX}{server}__{tool}"
    # guard: mcp-names-do-not-collide
    return is_changed or "__" in server or server.endswith("_")
