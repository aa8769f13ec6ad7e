"""Answers fetches: the server tells its refs, and a mirror gives the objects that it has."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import suppress
from functools import partial
from uuid import UUID

from paca.common import clock
from paca.repositories.broker import host_git, passing, pkt_line, replies
from paca.repositories.broker.bodies import PIECE_BYTES, Pieces, chunk
from paca.repositories.broker.host_git import GitFailed
from paca.repositories.broker.mirrors import Mirrors, NoPlace
from paca.repositories.broker.pkt_line import FetchBegin
from paca.repositories.broker.requests import GitRequest, Refused
from paca.repositories.broker.routes import Route
from paca.repositories.broker.sending import Client
from paca.repositories.broker.upstream import ServerProblem
from paca.repositories.broker.watching import while_watched

logger = logging.getLogger(__name__)
# For this long after the server has answered a credential, the mirror is read with it.
READABLE_SECONDS = 60.0
MAX_REMEMBERED = 10_000


class AccessEnded(ConnectionAbortedError):
    """The right to read or write has ended while something was transferred; the connection is cut."""


class Fetches:
    """Answers the fetches of all conversations."""

    def __init__(self, mirrors: Mirrors) -> None:
        self._mirrors = mirrors
        # Which credential a server has answered, and when.
        self._readable: dict[tuple[UUID, UUID], tuple[float, str, str]] = {}

    async def answer(self, found: GitRequest, route: Route, client: Client) -> None:
        """Raises ``Refused``, ``ServerProblem`` or ``AccessEnded``, and what bodies and clients raise."""
        if found.advertises:
            await passing.pass_on(found, route, client, None)
            self._note_readable(found, route)
        elif found.protocol == "version=2":
            await self._answer_version_2(found, route, client)
        else:
            await passing.pass_on(found, route, client, found.fetch_body())
            self._mirrors.fill_later(route)

    async def _answer_version_2(self, found: GitRequest, route: Route, client: Client) -> None:
        pieces = Pieces(found.fetch_body())
        begin = await pkt_line.read_fetch(pieces.read_exactly)
        body = _whole(begin, pieces)
        if begin.is_plain and self._mirrors.is_ready(route):
            await self._require_readable(found, route)
            if await self._mirror_has(route, begin):
                with suppress(NoPlace):
                    await self._serve_mirror(found, route, client, body)
                    return
        await passing.pass_on(found, route, client, body)
        if begin.is_fetch:
            self._mirrors.fill_later(route)

    async def _mirror_has(self, route: Route, begin: FetchBegin) -> bool:
        """Whether the mirror has what is wanted, if need be after it was brought up to date."""
        try:
            async with self._mirrors.in_use(route) as path:
                if await self._mirrors.has_all(path, begin.wants):
                    return True
                await self._mirrors.update(route)
                return await self._mirrors.has_all(path, begin.wants)
        except (GitFailed, ServerProblem, OSError) as error:
            logger.info("mirror not used", extra={"mirror": route.mirror, "reason": str(error)})
            return False

    def _note_readable(self, found: GitRequest, route: Route) -> None:
        if len(self._readable) >= MAX_REMEMBERED:
            self._readable.clear()
        key = found.conversation_id, found.repository_id
        self._readable[key] = clock.monotonic(), route.url, route.header

    async def _require_readable(self, found: GitRequest, route: Route) -> None:
        """Raises ``Refused`` or ``ServerProblem`` unless the server has let this credential read within the last minute."""
        known = self._readable.get((found.conversation_id, found.repository_id))
        # guard: broker-mirror-is-read-with-a-fresh-right
        if known is None or known[1:] != (route.url, route.header) or _is_old(known[0]):
            await passing.require_readable(route)
            self._note_readable(found, route)

    async def _serve_mirror(
        self, found: GitRequest, route: Route, client: Client, body: AsyncIterator[bytes]
    ) -> None:
        """Raises ``NoPlace`` before anything is read or sent."""
        async with self._mirrors.reading(route, found.conversation_id):
            with host_git.config_file(host_git.config_for(None)) as config:
                path = self._mirrors.path(route.mirror)
                process = await self._mirrors.upload_pack(path, config=config)
            try:
                talking = _talk(process, client, body)
                look = partial(self._look_again, found, route)
                await while_watched(talking, look, seconds=READABLE_SECONDS)
            finally:
                host_git.kill(process)
                await process.wait()

    async def _look_again(self, found: GitRequest, route: Route) -> None:
        """Raises ``AccessEnded`` if a long transfer must not go on."""
        try:
            await passing.require_readable(route)
        except (Refused, ServerProblem) as error:
            raise AccessEnded(str(error)) from error
        self._note_readable(found, route)


def _is_old(noted_at: float) -> bool:
    return clock.monotonic() - noted_at > READABLE_SECONDS


async def _whole(begin: FetchBegin, pieces: Pieces) -> AsyncIterator[bytes]:
    yield begin.data
    async for piece in pieces.rest():
        yield piece


async def _talk(
    process: asyncio.subprocess.Process, client: Client, body: AsyncIterator[bytes]
) -> None:
    """Give the process the request, and the client what it answers."""
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    feeding = asyncio.create_task(_feed(process.stdin, body))
    silencing = asyncio.create_task(_discard(process.stderr))
    try:
        await client.send(replies.success_head("application/x-git-upload-pack-result"))
        while piece := await process.stdout.read(PIECE_BYTES):
            await client.send(chunk(piece))
        await feeding
        await client.send(chunk(b""))
    finally:
        feeding.cancel()
        silencing.cancel()
        await asyncio.gather(feeding, silencing, return_exceptions=True)


async def _feed(stdin: asyncio.StreamWriter, body: AsyncIterator[bytes]) -> None:
    with suppress(ConnectionError):
        async for piece in body:
            stdin.write(piece)
            await stdin.drain()
    stdin.close()


async def _discard(stream: asyncio.StreamReader) -> None:
    while await stream.read(PIECE_BYTES):
        pass
