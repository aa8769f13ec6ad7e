"""Reads the bodies of HTTP messages piece by piece: of a set length, in chunks, or up to the end of the connection."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Protocol

PIECE_BYTES = 64 << 10
MAX_CHUNK_LINE = 128
CHUNK_LINE = re.compile(rb"([0-9a-fA-F]{1,12})[ \t]*(?:;[\x20-\x7e]*)?\r\n\Z")
IDLE_SECONDS = 300.0


class BrokenBody(Exception):
    """The body is cut off, or not framed as its head says."""


class HasHeaders(Protocol):
    """A message whose headers can be asked for."""

    def header(self, name: str) -> str | None:
        """The value of a header; None if it was not sent."""
        ...


@dataclass(slots=True)
class Body:
    """The body that follows a head. ``length``: its bytes; None in chunks, negative up to the end of the connection."""

    reader: asyncio.StreamReader
    length: int | None
    _pieces: AsyncIterator[bytes] | None = None

    @classmethod
    def of_request(cls, message: HasHeaders, reader: asyncio.StreamReader) -> Body:
        """The body of a request, which has none without a header that says so. Raises ``BrokenBody``."""
        return cls(reader, _length(message, otherwise=0))

    @classmethod
    def of_answer(cls, message: HasHeaders, reader: asyncio.StreamReader) -> Body:
        """The body of an answer. Raises ``BrokenBody``."""
        return cls(reader, _length(message, otherwise=-1))

    def pieces(self) -> AsyncIterator[bytes]:
        """The bytes of the body in order; a second call goes on where the first one stands. Raises ``BrokenBody``."""
        if self._pieces is None:
            self._pieces = self._read_pieces()
        return self._pieces

    async def _read_pieces(self) -> AsyncIterator[bytes]:
        if self.length is None:
            async for piece in self._chunks():
                yield piece
            return
        left = self.length
        while left:
            piece = await self._read(PIECE_BYTES if left < 0 else min(left, PIECE_BYTES))
            if not piece:
                if left < 0:
                    return
                raise BrokenBody("cut off")
            left -= len(piece) if left > 0 else 0
            yield piece

    async def _chunks(self) -> AsyncIterator[bytes]:
        while True:
            try:
                async with asyncio.timeout(IDLE_SECONDS):
                    found = CHUNK_LINE.match(await self.reader.readuntil(b"\r\n"))
            except (
                OSError,
                TimeoutError,
                asyncio.IncompleteReadError,
                asyncio.LimitOverrunError,
            ):
                raise BrokenBody("cut off") from None
            if found is None:
                raise BrokenBody("no length of a chunk")
            left = int(found[1], 16)
            if not left:
                await self._end_of_chunks()
                return
            while left:
                piece = await self._read(min(left, PIECE_BYTES))
                if not piece:
                    raise BrokenBody("cut off")
                left -= len(piece)
                yield piece
            if await self._read_exactly(2) != b"\r\n":
                raise BrokenBody("no end of a chunk")

    async def _end_of_chunks(self) -> None:
        # guard: broker-no-trailers
        if await self._read_exactly(2) != b"\r\n":
            raise BrokenBody("a trailer")

    async def _read(self, most: int) -> bytes:
        try:
            async with asyncio.timeout(IDLE_SECONDS):
                return await self.reader.read(most)
        except (OSError, TimeoutError):
            raise BrokenBody("cut off") from None

    async def _read_exactly(self, count: int) -> bytes:
        try:
            async with asyncio.timeout(IDLE_SECONDS):
                return await self.reader.readexactly(count)
        except (OSError, TimeoutError, asyncio.IncompleteReadError):
            raise BrokenBody("cut off") from None


class Pieces:
    """Reads pieces by counts, for a begin that has to be understood; the rest follows piece by piece."""

    def __init__(self, pieces: AsyncIterator[bytes]) -> None:
        self._pieces = pieces
        self._kept, self._at = b"", 0

    async def read_exactly(self, count: int) -> bytes:
        """So many bytes. Raises ``asyncio.IncompleteReadError`` at the end, and what the pieces raise."""
        while len(self._kept) - self._at < count:
            piece = await anext(self._pieces, b"")
            kept = self._kept[self._at :]
            if not piece:
                raise asyncio.IncompleteReadError(kept, count)
            self._kept, self._at = kept + piece, 0
        begin, self._at = self._at, self._at + count
        return self._kept[begin : self._at]

    async def rest(self) -> AsyncIterator[bytes]:
        """What was not read. Raises what the pieces raise."""
        kept, self._kept, self._at = self._kept[self._at :], b"", 0
        if kept:
            yield kept
        async for piece in self._pieces:
            yield piece


def chunk(piece: bytes) -> bytes:
    """A piece as one chunk; an empty piece ends the body."""
    return b"%x\r\n%b\r\n" % (len(piece), piece)


def _length(message: HasHeaders, *, otherwise: int) -> int | None:
    coding, length = message.header("transfer-encoding"), message.header("content-length")
    # guard: broker-one-framing-of-a-body
    if coding is not None and (coding.lower() != "chunked" or length is not None):
        raise BrokenBody("framed in two ways")
    if coding is not None:
        return None
    if length is None:
        return otherwise
    if not re.fullmatch(r"[0-9]{1,15}", length):
        raise BrokenBody("no length")
    return int(length)
