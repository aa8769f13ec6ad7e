"""The access token of an MCP server with OAuth, refreshed by one process at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import UUID

from paca.agents.services import mcp_grants
from paca.agents.services.mcp_grants import RENEWAL_LIFE, Renewal
from paca.common import clock
from paca.engine.mcp.oauth import flow
from paca.engine.mcp.oauth.client import open_web
from paca.engine.mcp.oauth.requests import GrantRefused, SignInFailed
from paca.engine.mcp.settings import SignInNeeded

POLL_SECONDS = 0.25
_running: set[asyncio.Task[str]] = set()
# run(function)(arguments): a service, run where database connections are.
Run = Callable[[Callable[..., Any]], Callable[..., Awaitable[Any]]]


async def get(agent_id: UUID, server_id: UUID, *, url: str, refused: str = "", run: Run) -> str:
    """The token of a server of this agent, for this address of it; a new one if the server has ``refused`` this one.

    ``run`` makes a service awaitable, such as ``sync_to_async``. While another process refreshes the token this one
    waits, at most as long as a refresh may take.

    Raises ``SignInNeeded`` if a person has to sign in, and ``SignInFailed`` if the sign-in service cannot be reached.
    """
    until = clock.monotonic() + 2 * RENEWAL_LIFE.total_seconds()
    while clock.monotonic() < until:
        step = await run(mcp_grants.access_token)(agent_id, server_id, url=url, refused=refused)
        if isinstance(step, str):
            return step
        if isinstance(step, Renewal):
            return await _renew_to_its_end(step, run)
        await asyncio.sleep(POLL_SECONDS)
    raise SignInFailed("The token is being refreshed by another process for too long. Try again.")


async def _renew_to_its_end(renewal: Renewal, run: Run) -> str:
    """Carry the refresh out, also if the caller is stopped meanwhile.

    Its service may have replaced the refresh token already: an answer that nobody stores would cost the sign-in.
    It takes as long as one request may take.
    """
    task = asyncio.create_task(_renew(renewal, run))
    _running.add(task)
    task.add_done_callback(_forget)
    # guard: oauth-refresh-outlives-a-stop
    return await asyncio.shield(task)


def _forget(task: asyncio.Task[str]) -> None:
    _running.discard(task)
    if not task.cancelled():
        task.exception()  # a caller that was stopped asks no more


async def _renew(renewal: Renewal, run: Run) -> str:
    """Carry the refresh out. If the process dies before the new tokens are stored, see ``mcp_grants``."""
    try:
        async with open_web(private_allowed=renewal.private_allowed) as web:
            tokens = await flow.refresh(
                web,
                renewal.token_endpoint,
                renewal.client,
                refresh_token=renewal.refresh_token,
                resource=renewal.resource,
            )
    except GrantRefused as error:
        await run(mcp_grants.renewal_failed)(renewal, error.detail, final=True)
        raise SignInNeeded(error.detail) from None
    except SignInFailed as error:
        await run(mcp_grants.renewal_failed)(renewal, error.detail, final=False)
        raise
    await run(mcp_grants.renewed)(renewal, tokens)
    return tokens.access_token
