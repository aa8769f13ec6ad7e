"""The web server of ``manage.py up``: uvicorn in the main thread, with hooks at its start and end."""

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
from django.conf import settings

from paca.common.trusted_proxies import TrustedProxies
from paca.mcp_server.waiting import waits
from paca.ops.connections.limits import Limits, configured_limits
from paca.ops.connections.table import SWEEP_SECONDS, Connection, ConnectionTable
from paca.ops.uvicorn.http_protocol import BoundedHttpProtocol
from paca.ops.uvicorn.listener import Listener
from paca.ops.uvicorn.websocket_protocol import BoundedWebSocketProtocol

# Above our own limit for a frame, so that we can answer a larger frame with an error.
MAX_FRAME_BYTES = 1024 * 1024
KEEPALIVE_SECONDS = 20.0
SHUTDOWN_TIMEOUT_SECONDS = 10
TICKS_PER_SWEEP = round(SWEEP_SECONDS / 0.1)  # uvicorn's main loop ticks every 0.1 s

Application = Callable[[Any, Any, Any], Awaitable[None]]


def serve(
    listener: socket.socket,
    *,
    application: Application | str = "paca.asgi:application",
    on_ready: Callable[[], object] = lambda: None,
    before_stop: Callable[[], object] = lambda: None,
) -> None:
    """Serve until SIGTERM or SIGINT.

    Then ``before_stop`` runs in a thread, while sockets still deliver events. Afterwards the sockets
    are closed with 1012 and this function returns. A second signal ends the process at once.
    """
    Server(application, on_ready=on_ready, before_stop=before_stop).run(sockets=[listener])


class Server(uvicorn.Server):
    """uvicorn, but ``run`` returns after a signal; the original raises the signal once more."""

    def __init__(
        self,
        application: Application | str,
        *,
        on_ready: Callable[[], object] = lambda: None,
        before_stop: Callable[[], object] = lambda: None,
    ) -> None:
        self.limits: Limits = configured_limits()
        self.table = ConnectionTable(
            self.limits, trusted=TrustedProxies(settings.FORWARDED_ALLOW_IPS)
        )
        super().__init__(
            uvicorn.Config(
                application,
                loop="asyncio",
                http=BoundedHttpProtocol,
                ws=BoundedWebSocketProtocol,
                lifespan="on",
                interface="asgi3",
                log_config=None,
                log_level="warning",
                access_log=False,
                server_header=False,
                # paca.asgi reads the headers of proxies, for every server.
                proxy_headers=False,
                timeout_keep_alive=round(self.limits.idle_seconds) + 1,  # ours ends first
                ws_max_size=MAX_FRAME_BYTES,
                ws_ping_interval=KEEPALIVE_SECONDS,
                ws_ping_timeout=KEEPALIVE_SECONDS,
                # Our frames are small; compression would cost memory for each socket and time for each frame.
                ws_per_message_deflate=False,
                timeout_graceful_shutdown=SHUTDOWN_TIMEOUT_SECONDS,
            )
        )
        self._on_ready = on_ready
        self._before_stop = before_stop

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen, then call ``on_ready``."""
        await super().startup(sockets=[])  # without uvicorn's own way to accept connections
        if self.started:
            # They have the methods that uvicorn calls.
            self.servers: list[Any] = [
                Listener(each, self.table, self._new_protocol) for each in sockets or []
            ]
            self._on_ready()

    async def on_tick(self, counter: int) -> bool:
        """End connections whose client takes too long; say whether the server must end."""
        if counter % TICKS_PER_SWEEP == 0:
            self.table.sweep()
        return await super().on_tick(counter)

    def _new_protocol(self, connection: Connection) -> BoundedHttpProtocol:
        return BoundedHttpProtocol(
            connection=connection,
            config=self.config,
            server_state=self.server_state,
            app_state=self.lifespan.state,
        )

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop the worker first, so that open pages see its last events, then end the waits of MCP clients."""
        await asyncio.to_thread(self._before_stop)
        waits.end_all()
        await super().shutdown(sockets=sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Handle SIGTERM and SIGINT while the server runs, and restore the handlers afterwards."""
        if threading.current_thread() is not threading.main_thread():
            yield  # only the main thread receives signals; the starter of another thread ends it
            return
        before = {number: signal.signal(number, self.handle_exit) for number in _SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """End in order at the first signal, at once at the second.

        A signal handler and not a callback of the event loop, so that it works while the loop hangs.
        """
        if self.should_exit:
            os._exit(128 + sig)
        self.should_exit = True


_SIGNALS = (signal.SIGTERM, signal.SIGINT)
