"""uvicorn's HTTP connection, with limits for everything that a client can send or leave unsent."""

from collections.abc import Callable
from typing import Any, Literal

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
        self._receiving: Literal["", "head", "body"] = (
            ""  # the unfinished part of the newest request
        )
        # What has come of a head, or since the last piece of a body: a body ends with trailers.
        self._head_bytes = 0
        self._state: Callable[[Connection], None] = Connection.waits_for_head

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
            if self._receiving and self._head_bytes >= MAX_HEAD_BYTES:
                is_long_url = 2 * len(self.url) > MAX_HEAD_BYTES
                self._refuse("414 URI Too Long" if is_long_url else HEAD_TOO_LARGE)
            elif not self._receiving:
                self._head_bytes = 0
            if self.transport.get_protocol() is not self:
                return  # a socket; uvicorn has handed the head over, and a client waits for the answer

    def on_message_begin(self) -> None:
        """A head begins; while an earlier response is not sent, it has time."""
        super().on_message_begin()
        self._receiving = "head"
        self._tell_connection()

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header. Those behind the body are dropped: the application has read the head before."""
        # guard: web-trailers
        if self._receiving == "head":
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """The body follows, or nothing."""
        self._receiving, self._head_bytes = "body", 0
        super().on_headers_complete()
        self._tell_connection()

    def on_body(self, body: bytes) -> None:
        """A piece of the body has come."""
        self._head_bytes = 0
        super().on_body(body)
        if self._state is Connection.waits_for_body:
            self.connection.received_body(len(body))

    def on_message_complete(self) -> None:
        """The request is complete, and its client need not do anything."""
        self._receiving = ""
        super().on_message_complete()
        self._tell_connection()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP, and close."""
        super().send_400_response(msg)
        self.connection.waits_for_close()

    # --- what is sent ---------------------------------------------------------------------------

    def pause_writing(self) -> None:
        """The client reads too slowly."""
        super().pause_writing()
        self._tell_connection()

    def resume_writing(self) -> None:
        """The client has read."""
        super().resume_writing()
        self._tell_connection()

    def on_response_complete(self) -> None:
        """The response is written, though perhaps not sent."""
        super().on_response_complete()
        self._tell_connection()

    def _tell_connection(self) -> None:
        """Tell the connection what it waits for, if that has changed; its time begins anew then."""
        state = self._find_state()
        if state is not self._state:
            self._state = state
            state(self.connection)

    def _find_state(self) -> Callable[[Connection], None]:
        is_closing = self.transport.is_closing()
        if self.flow.write_paused or (is_closing and self.transport.get_write_buffer_size()):
            return Connection.waits_for_reader
        if is_closing:
            return Connection.waits_for_close
        # guard: web-pipelined-body
        if self._receiving == "body" and not self.pipeline:
            return Connection.waits_for_body
        if self._is_responding:
            return Connection.works
        return Connection.waits_for_head if self._receiving else Connection.waits_for_request

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
        elif self._receiving:
            self._refuse("408 Request Timeout")
        else:
            self.transport.close()
            self.connection.waits_for_close()

    def _refuse(self, status: str) -> None:
        if self._may_answer():
            self.transport.write(answer(status))
        self.transport.close()
        self.connection.waits_for_close()

    def _may_answer(self) -> bool:
        """Whether the answer to the newest request comes next, so that the client takes none for another."""
        if self._receiving == "body" and not self.pipeline:
            return not (self.cycle and self.cycle.response_started)
        return not self._is_responding


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
