"""Adds MCP servers to an agent from pasted JSON: all of them, or none."""

from __future__ import annotations

from typing import Any

from django.db import transaction

from paca.accounts import audit
from paca.agents import mcp_json
from paca.agents.mcp_json import BadMcpJson
from paca.agents.models import Agent, McpServer
from paca.agents.services import mcp_servers
from paca.common.errors import Invalid


@transaction.atomic
def import_json(agent: Agent, value: Any, *, by: audit.HasActor | None) -> list[McpServer]:
    """Add each server of the JSON. If one cannot be added, none is.

    Raises ``BadMcpJson`` with the errors by their place, ``TooManyMcpServers``, and ``ConfigurationError`` if a
    secret cannot be encrypted with ENCRYPTION_KEY.
    """
    made, errors = list[McpServer](), dict[str, list[str]]()
    for settings in mcp_json.read(value):
        try:
            made.append(mcp_servers.create(agent, by=by, **settings))
        except Invalid as invalid:
            place = f"mcpServers.{settings['name']}"
            errors |= {f"{place}.{field}": texts for field, texts in invalid.fields.items()}
    if errors:
        raise BadMcpJson(fields=errors)
    return made
