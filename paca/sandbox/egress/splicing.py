"""Moves the bytes of a large transfer from socket to socket in the kernel, so that the gate never copies them."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from functools import cache

from paca.sandbox.runner.splice import Pipe, can_splice

is_possible = cache(can_splice)


class Splice:
    """A pipe between two sockets, all of which it closes. Raises ``OSError`` if no descriptor or space for pipes is left."""

    def __init__(self, source: socket.socket, target: socket.socket) -> None:
        self._source, self._target = source, target
        self._pipe = Pipe()

    async def run(self, on_bytes: Callable[[int], None]) -> None:
        """Move bytes until the source ends. ``on_bytes`` is told of them before they are passed on, and may raise.

        It is told of none whenever a part is passed on: a slow target is no idle one. Raises ``OSError``.
        """
        while count := await self._fill():
            on_bytes(count)
            await self._empty(on_bytes)
            await asyncio.sleep(0)  # now it is the turn of the other connections

    async def _fill(self) -> int:
        loop = asyncio.get_running_loop()
        while True:
            try:
                return self._pipe.fill(self._source)
            except BlockingIOError:
                await _ready(self._source, loop.add_reader, loop.remove_reader)

    async def _empty(self, on_bytes: Callable[[int], None]) -> None:
        loop = asyncio.get_running_loop()
        while self._pipe:
            try:
                self._pipe.empty(self._target)
                on_bytes(0)
            except BlockingIOError:
                await _ready(self._target, loop.add_writer, loop.remove_writer)

    def close(self) -> None:
        """Close the pipe and these descriptors of the sockets."""
        for each in (self._pipe, self._source, self._target):
            each.close()


async def _ready(
    awaited: socket.socket, add: Callable[..., None], remove: Callable[[socket.socket], bool]
) -> None:
    """Wait until the socket has bytes, or takes some."""
    ready = asyncio.Event()
    add(awaited, ready.set)
    try:
        await ready.wait()
    finally:
        remove(awaited)
