"""Connects to an MCP server once, to see what it offers: for the test that a person asks for."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

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
    servers = NoMcpServers() if access_token is None else _OneToken(access_token)
    known = ServerConnection(settings, servers, _no_workspace)
    try:
        async with asyncio.timeout(seconds):
            token = known.access_token if access_token else None
            async with sdk.connect_over_http(settings, token) as session:
                offer = await session.list_offer()
                return replace(offer, left_out=known.mask(offer.left_out))
    except TimeoutError:
        raise ServerUnavailable(f"it did not answer within {seconds:g} s") from None
    except McpError as error:
        raise ServerUnavailable(known.mask(error.detail)) from None


class _OneToken(NoMcpServers):
    """Has the access token of one server."""

    def __init__(self, get: AccessToken) -> None:
        self._get = get

    async def access_token(self, server: McpServerSettings, refused: str = "") -> str:
        return await self._get(refused)


async def _no_workspace() -> SandboxWorkspace:
    raise SandboxUnavailable
