"""All tools that MCP clients can call."""

from typing import Any

from paca.mcp_server.tools import agents, docs, projects, tasks
from paca.mcp_server.tools.base import McpTool

TOOLS: dict[str, McpTool[Any]] = {
    tool.name: tool for tool in (*projects.TOOLS, *tasks.TOOLS, *docs.TOOLS, *agents.TOOLS)
}
