"""Connects to an MCP server once, to see what it offers: for the test that a person asks for."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from paca.engine.mcp.connection import ServerConnection, load_sdk
from paca.engine.mcp.errors import McpError, ServerUnavailable
from paca.engine.mcp.settings import McpServerSettings, NoMcpServers, ServerOffer
from paca.engine.workspace import SandboxUnavailable, SandboxWorkspace

AccessToken = Callable[[str], Awaitable[str]]


async def offer_of(
    settings: McpServerSettings, *, access_token: AccessToken | None, seconds: float
) -> ServerOffer:
    """What a server with the transport http or sse offers. ``access_token`` is as in the engine's ``McpServers``.

    Raises ``ServerUnavailable`` and ``SignInNeeded``. It takes at most ``seconds`` and a few more.
    """
    await load_sdk()
    from paca.engine.mcp import sdk

    seconds = min(seconds, settings.start_seconds)
    mask = ServerConnection(settings, NoMcpServers(), _no_workspace).mask
    try:
        async with asyncio.timeout(seconds):
            async with sdk.connect_over_http(settings, access_token) as session:
                return await session.list_offer()
    except TimeoutError:
        raise ServerUnavailable(f"it did not answer within {seconds:g} s") from None
    except McpError as error:
        raise ServerUnavailable(mask(error.detail)) from None


async def _no_workspace() -> SandboxWorkspace:
    raise SandboxUnavailable
