"""The way from a gate to the broker of repositories, which serves the virtual host ``repositories.paca``."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path
from uuid import UUID

from paca.sandbox.egress.relay import Stream
from paca.sandbox.egress.request_head import Request

HOST, PORT = "repositories.paca", 80
PREFIXES = (f"http://{HOST}/", f"http://{HOST}:{PORT}/")
BROKER_SOCKET = "serve"
CONNECT_SECONDS = 5.0


def broker_folder(gates: Path) -> Path:
    """The folder of the broker, beside that of the gates: the gate process can neither write nor read there.

    Else it could take the place of the broker, to which workers tell credentials.
    """
    return gates.with_name(f"{gates.name}.broker")


def broker_socket(gates: Path) -> Path:
    """The socket of the broker for gates."""
    return broker_folder(gates) / BROKER_SOCKET


def is_for_them(request: Request) -> bool:
    """Whether a request is one for the virtual host. TLS is none: the connection stays on this machine."""
    return request.method in ("GET", "POST") and request.target.startswith(PREFIXES)


class Repositories:
    """The broker, as the gate of one conversation reaches it. ``connect`` makes a connection, or raises ``OSError``."""

    def __init__(
        self, connect: Callable[[], Awaitable[socket.socket]], conversation_id: UUID
    ) -> None:
        self._connect = connect
        self._conversation_id = conversation_id

    async def connect(self) -> Stream:
        """A connection to the broker. Raises ``OSError`` or ``TimeoutError``."""
        async with asyncio.timeout(CONNECT_SECONDS):
            return Stream(*await asyncio.open_unix_connection(sock=await self._connect()))

    def head_for(self, request: Request) -> bytes:
        """The request, behind a line that says whose it is: the sandbox cannot, the gate knows it by its socket."""
        lines = [
            str(self._conversation_id) + f"\n{request.method} {request.target} HTTP/1.1",
            *(f"{name}: {value}" for name, value in request.headers),
        ]
        return ("\r\n".join(lines) + "\r\n\r\n").encode("ascii")
