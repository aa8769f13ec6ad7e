"""The guarded HTTP client of a sign-in: it connects to checked addresses only, and keeps nothing between two sign-ins."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from paca.engine.mcp.addresses import AllowedAddresses
from paca.engine.mcp.oauth.requests import Web

MAX_CONNECTIONS = 10


@asynccontextmanager
async def open_web(*, private_allowed: bool) -> AsyncIterator[Web]:
    """The client for one sign-in or refresh of a server, which may be in a private network or not."""
    import httpx2

    from paca.engine.llm.transport import ModelTransport

    limits = httpx2.Limits(max_connections=MAX_CONNECTIONS, max_keepalive_connections=0)
    async with httpx2.AsyncClient(
        transport=ModelTransport(AllowedAddresses(private_allowed), limits),
        timeout=None,
        follow_redirects=False,
        trust_env=False,
        headers={"Accept-Encoding": "identity"},
    ) as http:
        yield Web(http, private_allowed)
