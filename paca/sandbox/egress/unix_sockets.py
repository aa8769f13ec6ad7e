"""Sockets in files, at paths that may be longer than the address of a socket."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

BACKLOG = 128
MAX_LINE = 64


@contextmanager
def address_of(path: Path) -> Iterator[str]:
    """A short address of the path, while the context lasts. Raises ``OSError``."""
    folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)


def listen(path: Path) -> socket.socket:
    """A listening socket at the path, which replaces the one of an earlier process. Raises ``OSError``."""
    path.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with address_of(path) as address:
            listener.bind(address)
        # guard: egress-gate-gets-listening-sockets
        listener.listen(BACKLOG)
    except OSError:
        listener.close()
        raise
    return listener


def connect(path: Path) -> socket.socket:
    """A connection to the socket at the path, at once or not at all. Raises ``OSError``."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.setblocking(False)
    try:
        with address_of(path) as address:
            connection.connect(address)
    except OSError:
        connection.close()
        raise
    return connection


async def serve(
    listener: socket.socket,
    serve: asyncio.streams._ClientConnectedCallback,
    *,
    limit: int = MAX_LINE,
) -> asyncio.AbstractServer:
    """A server on a listening socket, which it closes. Raises ``OSError``."""
    try:
        return await asyncio.start_unix_server(serve, sock=listener, limit=limit, backlog=BACKLOG)
    except OSError:
        listener.close()
        raise
