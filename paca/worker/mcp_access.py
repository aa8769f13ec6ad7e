"""The way of a running agent to its MCP servers: their settings through the worker's database threads."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from uuid import UUID

from paca.agents import mcp_reading, mcp_tokens
from paca.agents.services import mcp_tools
from paca.engine.mcp.group import ServerGroup
from paca.engine.mcp.settings import McpServerSettings, PinnedTool, ServerOffer, ServerState
from paca.engine.tools.registry import Toolbox
from paca.engine.turn import ToolNews
from paca.worker.database import Database


class RunMcpServers:
    """Implements ``engine.mcp.settings.McpServers`` for one agent. Its methods raise database errors."""

    def __init__(self, agent_id: UUID, database: Database) -> None:
        self._agent_id, self._database = agent_id, database

    async def settings(self) -> tuple[McpServerSettings, ...]:
        return await self._database.call(mcp_reading.settings_of, self._agent_id)

    async def access_token(self, server: McpServerSettings, refused: str = "") -> str:
        """The token as ``mcp_tokens`` has it. Raises what ``mcp_tokens.get`` raises."""
        return await mcp_tokens.get(
            self._agent_id,
            UUID(server.id),
            url=server.url,
            refused=refused,
            run=lambda service: functools.partial(self._database.call, service),
        )

    async def decided(
        self, server: McpServerSettings, names: Sequence[str]
    ) -> Mapping[str, PinnedTool] | None:
        return await self._database.call(mcp_reading.decided, self._agent_id, server, names)

    async def report(
        self,
        server: McpServerSettings,
        state: ServerState,
        error: str = "",
        offer: ServerOffer | None = None,
    ) -> Mapping[str, PinnedTool]:
        return await self._database.call(
            mcp_tools.report,
            self._agent_id,
            UUID(server.id),
            state=state,
            error=error,
            offer=offer,
            settings=server,
        )


async def refresh_tools(servers: ServerGroup, new_toolbox: Callable[[], Toolbox]) -> ToolNews:
    """The news of the servers before a step, with a toolbox if they have brought tools."""
    news = await servers.before_step()
    return ToolNews(news.events, new_toolbox() if news.more_tools else None)
