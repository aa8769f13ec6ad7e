"""The web server of Paca: uvicorn in the main thread, with our way to begin and to end."""

import asyncio
import os
import signal
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import uvicorn

from paca.ops.uvicorn.websocket_protocol import SocketProtocol

# Above our own limit for a frame, so that a frame that is too large can be answered with an error.
LARGEST_FRAME_BYTES = 1024 * 1024
KEEPALIVE_SECONDS = 20.0
GOODBYE_SECONDS = 10

Application = Callable[[Any, Any, Any], Awaitable[None]]


def serve(
    listener: socket.socket,
    *,
    application: Application | str = "paca.asgi:application",
    on_ready: Callable[[], object] = lambda: None,
    before_stop: Callable[[], object] = lambda: None,
) -> None:
    """Serve until SIGTERM or SIGINT. Then ``before_stop`` runs, in a thread, while pages still hear
    what happens; then sockets are closed with 1012 and this returns. A second signal ends the
    process at once.
    """
    Server(application, on_ready=on_ready, before_stop=before_stop).run(sockets=[listener])


class Server(uvicorn.Server):
    """uvicorn, which would end by raising the signal again instead of returning."""

    def __init__(
        self,
        application: Application | str,
        *,
        on_ready: Callable[[], object] = lambda: None,
        before_stop: Callable[[], object] = lambda: None,
    ) -> None:
        super().__init__(
            uvicorn.Config(
                application,
                loop="asyncio",
                http="httptools",
                ws=SocketProtocol,
                lifespan="on",
                interface="asgi3",
                log_config=None,
                log_level="warning",
                access_log=False,
                server_header=False,
                ws_max_size=LARGEST_FRAME_BYTES,
                ws_ping_interval=KEEPALIVE_SECONDS,
                ws_ping_timeout=KEEPALIVE_SECONDS,
                # Our frames are small; compression would cost memory a socket and time a frame.
                ws_per_message_deflate=False,
                timeout_graceful_shutdown=GOODBYE_SECONDS,
            )
        )
        self._on_ready = on_ready
        self._before_stop = before_stop

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen, then say so."""
        await super().startup(sockets=sockets)
        if self.started:
            self._on_ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """The worker first: what it still stores and says reaches the pages that are open."""
        await asyncio.to_thread(self._before_stop)
        await super().shutdown(sockets=sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """The first signal asks us to end, the second ends us."""
        if threading.current_thread() is not threading.main_thread():
            yield  # only the main thread hears signals; whoever started this ends it
            return
        before = {number: signal.signal(number, self.handle_exit) for number in _SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Not a callback of the loop, so that it is heard when the loop hangs."""
        if self.should_exit:
            os._exit(128 + sig)
        self.should_exit = True


_SIGNALS = (signal.SIGTERM, signal.SIGINT)
