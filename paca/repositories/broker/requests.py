"""Requests of git in a sandbox, as they come from the gate."""

from __future__ import annotations

import asyncio
import re
import zlib
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from uuid import UUID

from paca.repositories.broker.bodies import Body, BrokenBody
from paca.repositories.broker.routes import HOST
from paca.sandbox.egress.request_head import Request

FETCH, PUSH = "git-upload-pack", "git-receive-pack"
MAX_FETCH_REQUEST = 32 << 20
DRAIN_SECONDS = 600.0
TARGET = re.compile(
    rf"http://{re.escape(HOST)}(?::80)?/([0-9a-f]{{8}}(?:-[0-9a-f]{{4}}){{3}}-[0-9a-f]{{12}})/+(.*)\Z"
)
ADVERTISEMENT = re.compile(rf"info/refs\?service=({FETCH}|{PUSH})\Z")
LFS = re.compile(r"info/lfs(/|\Z)")
PROTOCOL = re.compile(r"version=[0-2]\Z")
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
NOT_SMART = (
    "Only git's smart protocol works here. Use git clone, git fetch, and the tool push_branch."
)
NO_LFS = (
    "Git LFS does not work here: the contents of its files are neither fetched nor pushed. Leave the pointers as they"
    " are and work on the other files; if you need the contents, ask a person to upload the files to this conversation."
)


class Refused(Exception):
    """The request is not carried out; the text says why and what to do."""


class LfsRefused(Refused):
    """A request of Git LFS, which reads refusals in its own form only."""


@dataclass(frozen=True, slots=True)
class GitRequest:
    """A request of git. ``service`` is one of the two; ``advertises`` is true for the first of each command."""

    conversation_id: UUID
    repository_id: UUID
    service: str
    advertises: bool
    head: Request
    body: Body

    @property
    def protocol(self) -> str:
        """The version of the protocol that the client wants; empty for the first."""
        wanted = self.head.header("git-protocol") or ""
        return wanted if PROTOCOL.match(wanted) else ""

    @property
    def answer_type(self) -> str:
        """The media type of a right answer."""
        kind = "advertisement" if self.advertises else "result"
        return f"application/x-{self.service}-{kind}"

    def expect(self, writer: asyncio.StreamWriter) -> None:
        """Let a client send its body that waits for that."""
        if (self.head.header("expect") or "").lower() == "100-continue":
            writer.write(CONTINUE)

    def fetch_body(self) -> AsyncIterator[bytes]:
        """The body of a fetch, not compressed and not above a limit. Raises ``BrokenBody``."""
        pieces = _limited(self.body.pieces())
        return _unzipped(pieces) if self.head.header("content-encoding") == "gzip" else pieces


def read(conversation_id: UUID, head: Request, reader: asyncio.StreamReader) -> GitRequest:
    """The request of git in a head. Raises ``Refused``, ``LfsRefused`` and ``BrokenBody``."""
    target = TARGET.match(head.target)
    if target is None:
        raise Refused("No repository is linked at this address. Use list_repositories.")
    body, path = Body.of_request(head, reader), target[2]
    if LFS.match(path):
        raise LfsRefused(NO_LFS)
    advertisement = ADVERTISEMENT.match(path)
    if advertisement and head.method == "GET":
        return GitRequest(conversation_id, UUID(target[1]), advertisement[1], True, head, body)
    wanted_type = f"application/x-{path}-request"
    is_for_git = head.method == "POST" and head.header("content-type") == wanted_type
    # guard: broker-only-two-services
    if path not in (FETCH, PUSH) or not is_for_git:
        raise Refused(NOT_SMART)
    return GitRequest(conversation_id, UUID(target[1]), path, False, head, body)


async def drain(found: GitRequest, writer: asyncio.StreamWriter) -> None:
    """Take what the client still sends: it reads no answer before."""
    with suppress(BrokenBody, OSError):
        found.expect(writer)
        async with asyncio.timeout(DRAIN_SECONDS):
            async for _ in found.body.pieces():
                pass


async def _limited(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    total = 0
    async for piece in pieces:
        total += len(piece)
        # guard: broker-bounded-request-of-a-fetch
        if total > MAX_FETCH_REQUEST:
            raise BrokenBody("too long")
        yield piece


async def _unzipped(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    reader, total = zlib.decompressobj(16 + zlib.MAX_WBITS), 0
    try:
        async for piece in pieces:
            while piece:
                found = reader.decompress(piece, 1 << 16)
                total += len(found)
                # guard: broker-bounded-compression
                if total > MAX_FETCH_REQUEST:
                    raise BrokenBody("too long")
                if found:
                    yield found
                piece = reader.unconsumed_tail
    except zlib.error:
        raise BrokenBody("not compressed as its head says") from None
