"""One socket of uvicorn, corrected for visitors who do not read.

Of uvicorn's implementations this is the one on ``websockets``' Sans-I/O core: its ``send`` waits
while the connection's write buffer is above its high-water mark (64 KiB), so a slow visitor slows
its sender and nothing piles up; the older one, on the library's legacy server, does so too but is
deprecated and warns at import. What it lacks is an end: closing waits for the visitor like any
frame, and a closed connection keeps its buffer until the visitor reads it, which may be never.
"""

from typing import Any, ClassVar

from uvicorn.protocols.utils import ClientDisconnected
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol


class SocketProtocol(WebSocketsSansIOProtocol):
    """Closing is never held up, and is final after 10 seconds."""

    # How long a visitor has to read what was sent before the goodbye, and to answer it.
    farewell_seconds: ClassVar[float] = 10.0

    async def send(self, message: Any) -> None:
        """As ``ClientDisconnected`` says for a socket that is gone: also after uvicorn closed it."""
        if message["type"] == "websocket.close":
            self.writable.set()  # a few bytes, behind which nothing more will come
        elif self.close_sent:
            raise ClientDisconnected
        await super().send(message)
        if message["type"] == "websocket.close":
            self._end_for_certain()

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
