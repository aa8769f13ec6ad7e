"""One socket of uvicorn, corrected for visitors who do not read.

Of uvicorn's implementations this is the one on ``websockets``' Sans-I/O core: its ``send`` waits
while the connection's write buffer is above its high-water mark (64 KiB), so a slow visitor slows
its sender and nothing piles up; the older one, on the library's legacy server, does so too but is
deprecated and warns at import. What it lacks is an end: waiting for the visitor has no limit, closing
waits like any frame, and a closed connection keeps its buffer until it is read, which may be never.
"""

import asyncio
from typing import Any, ClassVar

from uvicorn.protocols.utils import ClientDisconnected
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.protocol import State


class SocketProtocol(WebSocketsSansIOProtocol):
    """Sending waits 10 seconds at most; closing is never held up, and is final after 10 more."""

    send_seconds: ClassVar[float] = 10.0
    # How long a visitor has to read what was sent before the goodbye, and to answer it.
    farewell_seconds: ClassVar[float] = 10.0

    async def send(self, message: Any) -> None:
        """Raises ``TimeoutError`` if the visitor takes nothing, and ``ClientDisconnected`` if the socket
        is gone: also after uvicorn closed it, and before it has noticed that the visitor did.
        """
        if message["type"] == "websocket.close":
            self.writable.set()  # a few bytes, behind which nothing more will come
        elif self.close_sent or self.transport.is_closing():
            raise ClientDisconnected
        elif not self.writable.is_set():  # rarely; a clock for every frame would cost as much as it
            async with asyncio.timeout(self.send_seconds):
                while not self.writable.is_set():  # another may have filled it before we wake
                    await self.writable.wait()
        await super().send(message)
        if message["type"] == "websocket.close":
            self._end_for_certain()

    def send_receive_event_to_app(self) -> None:
        """Text that is none ends the line, as uvicorn has it; it is nobody's error but the visitor's, and
        uvicorn would log it as one of ours."""
        is_text = self.curr_msg_data_type == "text"
        if self.close_sent or not is_text or _is_text(b"".join(self.frames)):
            super().send_receive_event_to_app()
            return
        if self.conn.state is State.OPEN:  # else it came together with the visitor's goodbye
            self.conn.send_close(1007)
        self.handle_parser_exception()

    def keepalive_timeout(self) -> None:
        """The visitor is not there any more: nothing that was meant for them is kept."""
        super().keepalive_timeout()
        self._end_for_certain()

    def shutdown(self) -> None:
        """The server ends: say so (1012), and wait for no reader."""
        super().shutdown()
        self._end_for_certain()

    def _end_for_certain(self) -> None:
        if self.close_timer is not None:
            self.close_timer.cancel()
        self.close_timer = self.loop.call_later(self.farewell_seconds, self.transport.abort)


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
