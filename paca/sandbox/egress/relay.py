"""Passes bytes between a sandbox and a server until one of them ends, in bounded memory."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from paca.sandbox.egress.reasons import Reason

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
        while data := await self.server.reader.read(CHUNK_BYTES):
            self.received += len(data)
            await self._pass(data, self.client.writer)

    async def _send(self) -> None:
        while data := await self.client.reader.read(CHUNK_BYTES):
            await self.send(data)
        self.server.writer.write_eof()

    async def send(self, data: bytes) -> None:
        """Pass bytes of the client to the server. Raises ``Cut`` or ``OSError``."""
        self.sent += len(data)
        await self._pass(data, self.server.writer)

    async def _pass(self, data: bytes, writer: asyncio.StreamWriter) -> None:
        self._moves += 1
        # guard: egress-budget-of-bytes
        if not self.take(len(data)):
            raise Cut(Reason.BUDGET)
        writer.write(data)
        await writer.drain()
