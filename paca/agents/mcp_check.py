"""Tests an MCP server: connects to it now, and stores its health and what it offers."""

from __future__ import annotations

import dataclasses
from typing import Any
from uuid import UUID

from asgiref.sync import async_to_sync, sync_to_async

from paca.agents import mcp_reading, mcp_tokens
from paca.agents.mcp_sign_in import slot
from paca.agents.models import McpServer
from paca.agents.services import mcp_tools
from paca.common import clock
from paca.common.api.throttling import RequestsPerMinute
from paca.common.errors import PacaError
from paca.engine.mcp.settings import McpServerSettings, ServerOffer, ServerState, SignInNeeded

MAX_SECONDS = 30.0  # a person waits, and the test occupies the slot of a request
IN_SANDBOX = (
    "This server runs inside a sandbox. Its tools are found when the agent works the next time; "
    "then they wait here."
)


class ChecksPerMinute(RequestsPerMinute):
    """A separate rate limit for tests and sign-ins, as each one calls other servers."""

    scope = "test_connection"


@dataclasses.dataclass(frozen=True, slots=True)
class McpCheck:
    """What became of a test. ``code`` is empty if it worked."""

    works: bool
    detail: str
    code: str = ""
    seconds: float = 0.0

    def as_dict(self) -> dict[str, Any]:
        """All facts by name."""
        return dataclasses.asdict(self)


def run(server: McpServer) -> McpCheck:
    """Connect to the server and store what it offers. A failure is in the result and not raised.

    A server with the transport stdio is not started: it needs a sandbox, which only a run has.

    Raises ``TooManySignIns`` if others are tested right now.
    """
    if server.is_stdio:
        return McpCheck(False, IN_SANDBOX, "in_sandbox")
    with slot():
        return _connect(server)


def _connect(server: McpServer) -> McpCheck:
    began = clock.monotonic()
    try:
        settings = mcp_reading.as_settings(server)
        offer = async_to_sync(_offer)(server.agent_id, server.pk, settings)
    except SignInNeeded as error:
        return _failed(server, ServerState.SIGN_IN_NEEDED, error)
    except PacaError as error:
        return _failed(server, ServerState.UNAVAILABLE, error)
    mcp_tools.report(
        server.agent_id,
        server.pk,
        state=ServerState.AVAILABLE,
        error=offer.left_out,
        offer=offer,
        settings=server,  # somebody may have changed it meanwhile
    )
    seconds = clock.monotonic() - began
    count = len(offer.tools)
    found = f"Works: it offers {count} tool{'' if count == 1 else 's'}."
    return McpCheck(True, f"{found} {offer.left_out}".strip(), seconds=seconds)


async def _offer(agent_id: UUID, server_id: UUID, settings: McpServerSettings) -> ServerOffer:
    """What the server offers. Raises ``SignInNeeded``, and ``PacaError`` if it cannot be reached."""
    from paca.engine.mcp.probe import offer_of

    async def token(refused: str = "") -> str:
        return await mcp_tokens.get(
            agent_id, server_id, url=settings.url, refused=refused, run=sync_to_async
        )

    return await offer_of(
        settings, access_token=token if settings.uses_oauth else None, seconds=MAX_SECONDS
    )


def _failed(server: McpServer, state: ServerState, error: PacaError) -> McpCheck:
    mcp_tools.report(server.agent_id, server.pk, state=state, error=error.detail, settings=server)
    return McpCheck(False, error.detail, error.code)
