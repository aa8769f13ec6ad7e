"""Sends to git in a sandbox, which has to take what it is sent: a client that stands still keeps no place of others."""

from __future__ import annotations

import asyncio
import time

# A client may be this long behind the slowest speed, which is far below that of any that works.
GRACE_SECONDS = 60.0
MIN_BYTES_PER_SECOND = 32 << 10


class Client:
    """The client of one connection."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        self._sent = 0
        self._waited = 0.0

    async def send(self, data: bytes) -> None:
        """Send, once the client has taken most of what came before.

        Raises ``TimeoutError`` if it takes too long for that, and ``OSError``.
        """
        self._sent += len(data)
        self._writer.write(data)
        patience = GRACE_SECONDS + self._sent / MIN_BYTES_PER_SECOND - self._waited
        began_at = time.monotonic()
        async with asyncio.timeout(max(patience, 0)):
            await self._writer.drain()
        self._waited += time.monotonic() - began_at
