"""The way of a running agent to its MCP servers: their settings through the worker's database threads."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

from paca.engine.mcp.group import ServerGroup
from paca.engine.mcp.settings import NoMcpServers
from paca.engine.tools.registry import Toolbox
from paca.engine.turn import ToolNews
from paca.worker.database import Database


class RunMcpServers(NoMcpServers):
    """Implements ``engine.mcp.settings.McpServers`` for one agent."""

    def __init__(self, agent_id: UUID, database: Database) -> None:
        self._agent_id, self._database = agent_id, database


async def refresh_tools(servers: ServerGroup, new_toolbox: Callable[[], Toolbox]) -> ToolNews:
    """The news of the servers before a step, with a toolbox if they have brought tools."""
    news = await servers.before_step()
    return ToolNews(news.events, new_toolbox() if news.more_tools else None)
