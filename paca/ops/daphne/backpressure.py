"""Back-pressure for sockets on daphne, whose own ``send`` never waits for a viewer who does not read."""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from typing import Any

MAX_UNSENT_BYTES = 64 * 1024
SEND_TIMEOUT_SECONDS = 10.0
POLL_SECONDS = 0.02

Send = Callable[[Any], Awaitable[None]]
Application = Callable[[Any, Any, Send], Awaitable[None]]


class DaphneBackpressure:
    """ASGI middleware around all sockets. On other servers it does nothing."""

    def __init__(self, application: Application) -> None:
        self._application = application

    async def __call__(self, scope: Any, receive: Any, send: Send) -> None:
        """Run the application with a ``send`` that waits while too much is unsent.

        That ``send`` raises ``TimeoutError`` if the viewer reads nothing for 10 seconds, and ``OSError``
        if the connection is closed, like the one of uvicorn.
        """
        protocol = _protocol_of(send)

        async def send_when_drained(message: Any) -> None:
            if message["type"] == "websocket.send":
                await _wait_until_drained(protocol)
            await send(message)

        await self._application(scope, receive, send if protocol is None else send_when_drained)


def _protocol_of(send: Send) -> Any:
    """The connection to which daphne has bound ``send``; None on other servers."""
    if "daphne.server" not in sys.modules:
        return None
    from daphne.ws_protocol import WebSocketProtocol

    arguments = getattr(send, "args", ())
    return next((each for each in arguments if isinstance(each, WebSocketProtocol)), None)


async def _wait_until_drained(protocol: Any) -> None:
    if protocol.state != protocol.STATE_OPEN:
        raise ConnectionError("the viewer has closed the connection")
    # guard: daphne-unsent-bytes
    if unsent_bytes(protocol) <= MAX_UNSENT_BYTES:
        return
    async with asyncio.timeout(SEND_TIMEOUT_SECONDS):
        while unsent_bytes(protocol) > MAX_UNSENT_BYTES:  # noqa: ASYNC110 - Twisted has no event for it
            await asyncio.sleep(POLL_SECONDS)


def unsent_bytes(protocol: Any) -> int:
    """The size of Twisted's write buffer. With TLS it belongs to the transport below."""
    transport = protocol.transport
    while not hasattr(transport, "dataBuffer") and hasattr(transport, "transport"):
        transport = transport.transport
    return len(getattr(transport, "dataBuffer", b"")) + getattr(transport, "_tempDataLen", 0)
