"""The MCP servers of an agent, as the page of its settings shows them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from paca.agents import mcp_reading
from paca.agents.models import Agent, McpHealth, McpServer, McpTool, McpTransport
from paca.agents.services import mcp_grants
from paca.agents.services.mcp_tools import HEAD_OF_DIFF, diff_of

KINDS = {"+": "add", "-": "del", "@": "hunk", " ": "same"}
EXAMPLE = json.dumps(
    {"mcpServers": {"files": {"command": "mcp-server-filesystem", "args": ["/workspace"]}}},
    indent=2,
)
OVER_HTTP = [(each.value, each.label) for each in McpTransport if each != McpTransport.STDIO]


def context(agent: Agent) -> dict[str, Any]:
    """What the section of MCP servers needs: a row for each server with its tools, and an empty one."""
    rows = [_row(server) for server in mcp_reading.of_agent(agent)]
    waiting = sum(len(row["waiting"]) for row in rows)
    new = McpServer(agent=agent, transport=McpTransport.HTTP)
    return {
        "mcp_servers": rows,
        "mcp_waiting": waiting,
        "mcp_example": EXAMPLE,
        "mcp_transports": McpTransport.choices,
        "new_mcp_server": {"server": new, "key": "new", "transports": McpTransport.choices},
    }


def _row(server: McpServer) -> dict[str, Any]:
    tools = [tool for tool in server.tools.all() if tool.offered]
    waiting = [tool for tool in tools if tool.state in (McpTool.State.NEW, McpTool.State.CHANGED)]
    fails = server.health_state not in (McpHealth.AVAILABLE, McpHealth.UNKNOWN)
    return {
        "server": server,
        "key": str(server.pk),
        "address": " ".join((server.command, *server.args)) if server.is_stdio else server.url,
        "sign_in": mcp_grants.state_of(server),
        "fails": fails,
        "env": "\n".join(f"{name}=***" for name in server.env_names),
        "headers": "\n".join(f"{name}: ***" for name in server.header_names),
        "tools": [_tool_row(tool) for tool in tools],
        "usable": sum(tool.is_accepted and tool.enabled for tool in tools),
        "waiting": waiting,
        "accept_all": decision_on(waiting, accept=True),
        "transports": [(McpTransport.STDIO.value, McpTransport.STDIO.label)]
        if server.is_stdio
        else OVER_HTTP,
    }


def _tool_row(tool: McpTool) -> dict[str, Any]:
    return {
        "tool": tool,
        "arguments": json.dumps(tool.schema, indent=1, ensure_ascii=False),
        "diff": [(KINDS[line[0]], line[0], line[1:]) for line in _diff_lines(tool)],
        "accept": decision_on([tool], accept=True),
        "refuse": decision_on([tool], accept=False),
        "switch": _decision(tool, enabled=not tool.enabled),
        "mark": _decision(tool, safe=not tool.safe),
    }


def _diff_lines(tool: McpTool) -> Iterable[str]:
    diff = diff_of(tool)
    # By their place, not by their look: a description may have lines of its own that begin with -- or ++.
    # guard: mcp-diff-shows-each-line
    lines = diff.split("\n")[len(HEAD_OF_DIFF) :] if diff else []
    return (line or " " for line in lines)


def decision_on(tools: Iterable[McpTool], *, accept: bool) -> str:
    """The body that accepts or refuses these descriptions, as they are shown."""
    rows = [{"name": tool.name, "hash": tool.hash, "accept": accept} for tool in tools]
    return json.dumps({"tools": rows})


def _decision(tool: McpTool, **facts: bool) -> str:
    return json.dumps({"tools": [{"name": tool.name, **facts}]})
