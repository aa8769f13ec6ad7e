"""uvicorn's HTTP connection, with limits for everything that a client can send or leave unsent."""

from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from paca.ops.connections.limits import MAX_HEAD_BYTES
from paca.ops.connections.table import Connection


class BoundedHttpProtocol(HttpToolsProtocol):
    """Tells its ``Connection`` what it waits for, and refuses a head above 64 KiB before it is parsed.

    The handshake of a socket is a request too, so it has the same limits.
    """

    cycle: Any  # the newest request and its response, or None

    def __init__(self, *, connection: Connection, **of_uvicorn: Any) -> None:
        super().__init__(**of_uvicorn)
        self.connection = connection
        self._in_head = False
        self._head_bytes = 0

    def connection_made(self, transport: Any) -> None:
        """The connection is open, and its client must send a head."""
        super().connection_made(transport)
        self.connection.opened(abort=transport.abort, time_out=self._time_out)

    # --- what arrives ---------------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        """Feed the parser, never with more than the rest of a head of 64 KiB at a time."""
        while data and not self.transport.is_closing():
            piece = data[: max(MAX_HEAD_BYTES - self._head_bytes, 1)]
            data = data[len(piece) :]
            self._head_bytes += len(piece)
            super().data_received(piece)
            # guard: web-head-bytes
            if self._in_head and self._head_bytes >= MAX_HEAD_BYTES:
                is_long_url = 2 * len(self.url) > MAX_HEAD_BYTES
                self._refuse("414 URI Too Long" if is_long_url else HEAD_TOO_LARGE)
            elif not self._in_head:
                self._head_bytes = 0
            if self.transport.get_protocol() is not self:
                return  # a socket; uvicorn has handed the head over, and a client waits for the answer

    def on_message_begin(self) -> None:
        """A head begins; while an earlier response is not sent, it has time."""
        super().on_message_begin()
        self._in_head = True
        if not self._is_responding:
            self.connection.waits_for_head()

    def on_headers_complete(self) -> None:
        """The body follows, or nothing."""
        self._in_head = False
        is_pipelined = self._is_responding
        super().on_headers_complete()
        if not is_pipelined:
            self.connection.waits_for_body()

    def on_body(self, body: bytes) -> None:
        """A piece of the body has come."""
        super().on_body(body)
        if self.connection.deadline is not None:
            self.connection.received_body(len(body))

    def on_message_complete(self) -> None:
        """The request is complete, and its client need not do anything."""
        super().on_message_complete()
        self.connection.works()

    # --- what is sent ---------------------------------------------------------------------------

    def pause_writing(self) -> None:
        """The client reads too slowly."""
        super().pause_writing()
        self.connection.waits_for_reader()

    def resume_writing(self) -> None:
        """The client has read."""
        super().resume_writing()
        self._wait_for_next()

    def on_response_complete(self) -> None:
        """The response is written, though perhaps not sent."""
        super().on_response_complete()
        if not self.flow.write_paused:
            self._wait_for_next()

    def _wait_for_next(self) -> None:
        if self.transport.is_closing():
            self.connection.waits_for_close()
        elif self._is_responding:
            self.connection.works()
        elif self._in_head:
            self.connection.waits_for_head()
        else:
            self.connection.waits_for_request()

    @property
    def _is_responding(self) -> bool:
        return bool(self.cycle) and not self.cycle.response_complete

    # --- the end --------------------------------------------------------------------------------

    def handle_websocket_upgrade(self) -> None:
        """Hand the connection over to the socket, which has limits of its own."""
        super().handle_websocket_upgrade()
        socket: Any = self.transport.get_protocol()
        socket.connection = self.connection
        self.connection.works()
        if not socket.handshake_initiated:
            # Its parser takes lines of 8 KiB and 128 headers, and says nothing to others.
            self._refuse(HEAD_TOO_LARGE)
        elif self.transport.is_closing():
            self.connection.waits_for_close()

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection has ended, whoever ended it."""
        self.connection.ended()
        super().connection_lost(exc)

    def _time_out(self) -> None:
        """Say 408 to a client that has begun a request, and close."""
        if self.flow.write_paused:
            self.transport.abort()
        elif self._in_head or self._is_responding:
            self._refuse("408 Request Timeout")
        else:
            self.transport.close()
            self.connection.waits_for_close()

    def _refuse(self, status: str) -> None:
        if not (self._is_responding and self.cycle.response_started):
            self.transport.write(answer(status))
        self.transport.close()
        self.connection.waits_for_close()


HEAD_TOO_LARGE = "431 Request Header Fields Too Large"


def answer(status: str, *headers: str) -> bytes:
    """A whole response without the application, after which the connection is closed."""
    body = status.partition(" ")[2] + "\n"
    head = [
        f"HTTP/1.1 {status}",
        "content-type: text/plain; charset=utf-8",
        f"content-length: {len(body)}",
        "connection: close",
        *headers,
    ]
    return "\r\n".join([*head, "", body]).encode()
