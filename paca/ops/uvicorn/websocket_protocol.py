"""A WebSocket of uvicorn that limits how long it waits for a viewer who does not read.

uvicorn has two implementations. This one is based on the Sans-I/O core of ``websockets``. Its ``send``
waits while the write buffer of the connection is above its high-water mark (64 KiB), so a slow viewer
slows the sender and no data piles up. The other one uses the legacy server of ``websockets``; it does
the same, but is deprecated and warns at import.

What this one lacks is a limit: ``send`` waits for the viewer without end, closing waits like any other
frame, and a closed connection keeps its buffer until it is read, which may be never.
"""

import asyncio
from typing import Any, ClassVar

from uvicorn.protocols.utils import ClientDisconnected
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.protocol import State

from paca.ops.connections.table import Connection


class BoundedWebSocketProtocol(WebSocketsSansIOProtocol):
    """Sending waits 10 seconds at most. Closing never waits, and the connection is gone 10 seconds later."""

    send_timeout_seconds: ClassVar[float] = 10.0
    # How long a viewer has to read what is left and to answer the close frame.
    close_timeout_seconds: ClassVar[float] = 10.0
    # Its place in the table of connections; the HTTP connection hands it over with the handshake.
    connection: Connection | None = None

    async def send(self, message: Any) -> None:
        """Send one ASGI message.

        Raises ``TimeoutError`` if the viewer reads nothing, and ``ClientDisconnected`` if the socket is
        closed: by uvicorn, or by the viewer before uvicorn has noticed it.
        """
        if message["type"] == "websocket.close":
            self.writable.set()  # a few bytes, and the last ones
        elif self.close_sent or self.transport.is_closing():
            raise ClientDisconnected
        elif not self.writable.is_set():
            # Rarely; a timeout for every frame would cost as much as the frame.
            async with asyncio.timeout(self.send_timeout_seconds):
                while not self.writable.is_set():  # another sender may fill it before we wake
                    await self.writable.wait()
        await super().send(message)
        if message["type"] == "websocket.close":
            self._abort_after_close_timeout()

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection has ended, whoever ended it."""
        if self.connection is not None:
            self.connection.ended()
        super().connection_lost(exc)

    def send_receive_event_to_app(self) -> None:
        """Hand a received frame to the application.

        A text frame that is not UTF-8 ends the connection, as in uvicorn. uvicorn would also log it as an
        error of the server, although it is one of the client.
        """
        is_text = self.curr_msg_data_type == "text"
        if self.close_sent or not is_text or _is_utf8(b"".join(self.frames)):
            super().send_receive_event_to_app()
            return
        # If it is not open, the viewer's close frame has come together with the text frame.
        if self.conn.state is State.OPEN:
            self.conn.send_close(1007)
        self.handle_parser_exception()

    def keepalive_timeout(self) -> None:
        """The viewer did not answer a ping: drop the connection and its unsent data."""
        super().keepalive_timeout()
        self._abort_after_close_timeout()

    def shutdown(self) -> None:
        """The server ends: close with 1012, without waiting for viewers who do not read."""
        super().shutdown()
        self._abort_after_close_timeout()

    def _abort_after_close_timeout(self) -> None:
        if self.close_timer is not None:
            self.close_timer.cancel()
        if self.connection is not None:
            # A stranger's socket is closed at once, and its place is free for others from now on.
            # guard: web-closed-sockets
            self.connection.waits_for_close(self.close_timeout_seconds)
        self.close_timer = self.loop.call_later(self.close_timeout_seconds, self.transport.abort)


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
