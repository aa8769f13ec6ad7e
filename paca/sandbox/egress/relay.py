"""Passes bytes between a sandbox and a server until one of them ends, in bounded memory."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import dataclass, field

from paca.sandbox.egress.reasons import Reason
from paca.sandbox.egress.splicing import Splice, is_possible
from paca.sandbox.runner.splice import SPLICE_FROM_BYTES

CHUNK_BYTES = 256 << 10
IDLE_SECONDS = 300.0
LOOK_SECONDS = 15.0


class Cut(Exception):
    """The gate ends a connection for the reason."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(slots=True)
class Stream:
    """One end of a connection."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    def close(self) -> None:
        """Close it at once; what is not sent yet is still sent in the background."""
        self.writer.close()

    async def send(self, data: bytes, *, wholly: bool = False) -> None:
        """Send bytes, and wait while many are not sent yet; ``wholly``: while any are. Raises ``OSError``."""
        if wholly:
            self.writer.transport.set_write_buffer_limits(high=0)
        self.writer.write(data)
        await self.writer.drain()

    async def stop_reading(self) -> bytes:
        """The bytes that were read already. Those after them are left to whoever takes the socket. Raises ``OSError``."""
        transport = self.writer.transport
        assert isinstance(transport, asyncio.Transport)
        transport.pause_reading()
        self.reader.feed_eof()
        rest = await self.reader.read(-1)  # gives what is there; may have the transport read again
        transport.pause_reading()
        return rest

    def duplicate_socket(self) -> socket.socket:
        """The socket with a descriptor of its own, which the caller closes. Raises ``OSError`` if none is left."""
        found: socket.socket = self.writer.get_extra_info("socket").dup()
        return found


@dataclass(slots=True)
class Relay:
    """Passes bytes both ways. ``take`` counts bytes and says whether the budget has them. It counts ``sent`` and
    ``received`` as the sandbox sees them."""

    client: Stream
    server: Stream
    take: Callable[[int], bool]
    sent: int = 0
    received: int = 0
    _moves: int = field(default=0, repr=False)

    async def run(self, *, both_ways: bool) -> None:
        """Pass bytes until the server ends, or nothing has moved for ``IDLE_SECONDS``.

        ``both_ways``: also what the client sends. Raises ``Cut`` or ``OSError``.
        """
        tasks = [asyncio.create_task(self._receive())]
        if both_ways:
            tasks.append(asyncio.create_task(self._send()))
        try:
            await self._wait(tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _wait(self, tasks: list[asyncio.Task[None]]) -> None:
        """Wait for the answer to end, and as long as bytes move."""
        waiting, moves, idle = set(tasks), -1, 0.0
        while not tasks[0].done():
            done, waiting = await asyncio.wait(
                waiting, timeout=LOOK_SECONDS, return_when=asyncio.FIRST_COMPLETED
            )
            for task in done:
                task.result()
            idle, moves = (0.0 if self._moves != moves else idle + LOOK_SECONDS), self._moves
            if idle >= IDLE_SECONDS:
                raise Cut(Reason.SLOW)

    async def _receive(self) -> None:
        await self._move(self.server, self.client, self._on_received)

    async def _send(self) -> None:
        await self._move(self.client, self.server, self._on_sent)
        self.server.writer.write_eof()

    async def _move(self, source: Stream, target: Stream, on_bytes: Callable[[int], None]) -> None:
        """Pass bytes one way until they end. The kernel moves them once they are many: most connections are small."""
        passed = 0
        while data := await source.reader.read(CHUNK_BYTES):
            passed += len(data)
            on_bytes(len(data))
            await target.send(data)
            if passed >= SPLICE_FROM_BYTES and (splice := _splice(source, target)):
                with closing(splice):
                    rest = await source.stop_reading()
                    on_bytes(len(rest))
                    await target.send(rest, wholly=True)
                    await splice.run(on_bytes)
                return

    async def send(self, data: bytes) -> None:
        """Pass bytes of the client to the server. Raises ``Cut`` or ``OSError``."""
        self._on_sent(len(data))
        await self.server.send(data)

    def _on_sent(self, count: int) -> None:
        self.sent += count
        self._on_bytes(count)

    def _on_received(self, count: int) -> None:
        self.received += count
        self._on_bytes(count)

    def _on_bytes(self, count: int) -> None:
        self._moves += 1
        # guard: egress-budget-of-bytes
        if not self.take(count):
            raise Cut(Reason.BUDGET)


def _splice(source: Stream, target: Stream) -> Splice | None:
    """A splice of two streams; None if this system has none, or no descriptor is left: bytes are copied then."""
    if not is_possible():
        return None
    with ExitStack() as opened:
        try:
            taken = opened.enter_context(source.duplicate_socket())
            given = opened.enter_context(target.duplicate_socket())
            made = Splice(taken, given)
        except OSError:
            return None
        opened.pop_all()
        return made
