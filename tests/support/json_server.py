"""A small server over real HTTP that answers each request with JSON from a function."""

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


@dataclass(frozen=True)
class Asked:
    """A request as it was received."""

    method: str
    path: str
    headers: dict[str, str]
    body: str


Answer = Callable[[Asked], tuple[int, Any]]


class JsonServer:
    """``answer`` gives the status and the value for each request. ``asked`` are the requests so far."""

    def __init__(self, answer: Answer, *, media_type: str = "application/json") -> None:
        self.asked: list[Asked] = []
        handler = _handler(self.asked, answer, media_type)
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.01,), daemon=True
        )

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(10)


def _handler(asked: list[Asked], answer: Answer, media_type: str) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0))).decode()
            headers = {name.lower(): value for name, value in self.headers.items()}
            asked.append(Asked(self.command, self.path, headers, body))
            status, value = answer(asked[-1])
            content = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("content-type", media_type)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST

        def log_message(self, *_: object) -> None:
            pass

    return Handler
