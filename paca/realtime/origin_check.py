"""Rejects a handshake that a page of another site makes with the person's cookies."""

from collections.abc import Awaitable, Callable
from typing import Any

from paca.common.origins import is_ours
from paca.realtime.handshake import Scope, has_header, header, query_parameter

Application = Callable[[Scope, Any, Any], Awaitable[None]]


class OriginGuard:
    """ASGI middleware for sockets. It runs before anything is looked up.

    A browser always sends the page's origin, and always sends cookies. So an origin, if there is
    one, must be ours. A client that sends no origin is not a browser: it must send a token or a
    ticket, which another site does not have.
    """

    def __init__(self, application: Application) -> None:
        self.application = application

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        if self._is_allowed(scope):
            await self.application(scope, receive, send)
            return
        await receive()
        await send({"type": "websocket.close"})  # before it was accepted: HTTP 403

    def _is_allowed(self, scope: Scope) -> bool:
        if has_header(scope, b"origin"):
            # guard: realtime-origin
            return is_ours(header(scope, b"origin"), host=header(scope, b"host"))
        return has_header(scope, b"authorization") or bool(query_parameter(scope, "ticket"))
