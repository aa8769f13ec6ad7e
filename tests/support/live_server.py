"""A real uvicorn on a free port, in a thread of its own, with Paca or any other application."""

import contextlib
import socket
import threading
from collections.abc import Iterator
from typing import Any

from paca.ops.uvicorn.server import Server


class LiveServer:
    """Serves until ``stop``; ``url`` and ``ws_url`` have no slash at the end."""

    def __init__(self, application: Any, **options: Any) -> None:
        listener = socket.create_server(("127.0.0.1", 0))
        self.port = listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.ws_url = f"ws://127.0.0.1:{self.port}"
        self._ready = threading.Event()
        self.server = Server(application, on_ready=self._ready.set, **options)
        self._thread = threading.Thread(target=self.server.run, args=([listener],))
        self._thread.start()
        assert self._ready.wait(20), "the server did not start"

    def stop(self, seconds: float = 20) -> None:
        self.server.should_exit = True
        self._thread.join(seconds)
        assert not self._thread.is_alive(), "the server did not end"


@contextlib.contextmanager
def running(application: Any, **options: Any) -> Iterator[LiveServer]:
    server = LiveServer(application, **options)
    try:
        yield server
    finally:
        server.stop()
