"""A client that speaks HTTP byte by byte, and so can do what no browser does."""

import resource
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

HANDSHAKE = (
    b"GET /ws/projects/1/ HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
)
HALF_REQUEST = b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Unfinished: "
TIMEOUT_SECONDS = 60.0


def status_of(port: int, sent: bytes) -> int:
    """Send the bytes, read until the server closes, and give the status; 0 if it closes without one."""
    return int((exchange(port, sent).split(b" ", 2) + [b"0"])[1] or 0)


def exchange(port: int, sent: bytes) -> bytes:
    """Send the bytes, and give all that comes until the server closes the connection."""
    received = b""
    with connect(port) as connection:
        try:
            connection.sendall(sent)
            while piece := connection.recv(65536):
                received += piece
        except (BrokenPipeError, ConnectionResetError):
            pass  # it has closed before all was sent, or read
    return received


def connect(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT_SECONDS)


@contextmanager
def half_requests(port: int, number: int) -> Iterator[None]:
    """Hold this many connections, each with half a request."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(max(soft, number + 500), hard), hard))
    with ExitStack() as held:
        for _ in range(number):
            connection = held.enter_context(connect(port))
            connection.sendall(HALF_REQUEST)
        yield
