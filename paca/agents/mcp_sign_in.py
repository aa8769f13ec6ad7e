"""The sign-in of a person to an MCP server: asks the sign-in service, and stores what it granted."""

from __future__ import annotations

import asyncio
import secrets
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TypeVar

from asgiref.sync import async_to_sync

from paca.accounts.models import User
from paca.agents import encryption
from paca.agents.models import McpServer
from paca.agents.services import mcp_grants
from paca.common.errors import Conflict, Invalid
from paca.engine.mcp.oauth import flow
from paca.engine.mcp.oauth.client import open_web
from paca.engine.mcp.oauth.flow import Client
from paca.engine.mcp.oauth.requests import SignInFailed, Web, name_of

T = TypeVar("T")
# A sign-in waits for other servers: many at once would occupy the slots of requests.
_SLOTS = threading.BoundedSemaphore(2)
QUEUE_TIMEOUT_SECONDS = 5.0
# Of all requests of one step together: a slow service must not occupy the slot of a request for long.
TOTAL_SECONDS = 30.0


class TooManySignIns(Conflict):
    """Other people sign in to MCP servers right now. Try again in a minute."""

    code = "mcp_busy"


def begin(server: McpServer, *, user: User, session_key: str, redirect_uri: str) -> str:
    """Begin a sign-in; gives the address that the person's browser is to open.

    Raises ``Invalid`` if the server uses no OAuth, ``SignInFailed`` if its sign-in service cannot be used, and
    ``TooManySignIns``.
    """
    if not server.uses_oauth:
        raise Invalid(fields={"auth": ["Set the sign-in of this server to OAuth first."]})
    state = secrets.token_urlsafe(32)
    begun, url = _ask(
        server,
        lambda web: flow.begin(
            web,
            server.url,
            redirect_uri=redirect_uri,
            state=state,
            client=_own_client(server),
        ),
    )
    _check_service(server, begun)
    mcp_grants.store_sign_in(server, user=user, session_key=session_key, state=state, flow=begun)
    return url


def _check_service(server: McpServer, begun: flow.Flow) -> None:
    """Raises ``SignInFailed`` if the secret that people have typed would go to another service than the last time."""
    grant = getattr(server, "grant", None)
    if grant is None or not server.encrypted_oauth_secret:
        return
    # guard: oauth-client-secret-stays-with-its-service
    if grant.issuer != begun.issuer:
        raise SignInFailed(
            f"{server.name} names another sign-in service than before: {name_of(begun.issuer)} in place of "
            f"{name_of(grant.issuer)}, to which your client belongs. If that is right, sign out, and sign in again."
        )


def finish(
    answer: Mapping[str, str], *, server: McpServer, begun: flow.Flow, url: str, user: User
) -> None:
    """Exchange the code of a sign-in that was taken, and store its tokens.

    If the process dies before they are stored, the code is used up and the person signs in again.

    Raises ``SignInFailed`` if the service refused, ``McpServerChanged``, and ``TooManySignIns``.
    """
    tokens = _ask(server, lambda web: flow.finish(web, begun, answer))
    mcp_grants.store_grant(server, begun, tokens, url=url, by=user)


def _own_client(server: McpServer) -> Client | None:
    """The client that people registered by hand; None without one."""
    if not server.oauth_client_id:
        return None
    secret = server.encrypted_oauth_secret
    return Client(server.oauth_client_id, encryption.decrypt(secret) if secret else "")


def _ask(server: McpServer, ask: Callable[[Web], Awaitable[T]]) -> T:
    async def asked() -> T:
        try:
            async with (
                asyncio.timeout(TOTAL_SECONDS),
                open_web(private_allowed=server.is_private_allowed) as web,
            ):
                return await ask(web)
        except TimeoutError:
            raise SignInFailed(
                f"Its sign-in service took longer than {TOTAL_SECONDS:g} s in all."
            ) from None

    with slot():
        return async_to_sync(asked)()


@contextmanager
def slot() -> Iterator[None]:
    """A place among the few calls of other servers at once. Raises ``TooManySignIns``."""
    if not _SLOTS.acquire(timeout=QUEUE_TIMEOUT_SECONDS):
        raise TooManySignIns
    try:
        yield
    finally:
        _SLOTS.release()
