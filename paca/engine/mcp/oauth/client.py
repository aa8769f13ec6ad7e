"""The guarded HTTP client of a sign-in: it connects to checked addresses only, and keeps nothing between two sign-ins."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from paca.engine.llm import http_pool
from paca.engine.llm.address_check import Address, AllowedServers
from paca.engine.mcp.oauth.requests import Web

MAX_CONNECTIONS = 10


@dataclass(frozen=True, slots=True)
class _AnyServer(AllowedServers):
    """Lets connections into private networks through, as the project allows."""

    def allows(self, host: str, port: int, address: Address) -> bool:
        return True


@asynccontextmanager
async def open_web(*, private_allowed: bool) -> AsyncIterator[Web]:
    """The client for one sign-in or refresh of a server, which may be in a private network or not."""
    import httpx2

    from paca.engine.llm.transport import ModelTransport

    listed = http_pool.allowed_servers()
    allowed = _AnyServer(listed.listed, listed.local) if private_allowed else AllowedServers()
    limits = httpx2.Limits(max_connections=MAX_CONNECTIONS, max_keepalive_connections=0)
    async with httpx2.AsyncClient(
        transport=ModelTransport(allowed, limits),
        timeout=None,
        follow_redirects=False,
        trust_env=False,
    ) as http:
        yield Web(http, private_allowed)
