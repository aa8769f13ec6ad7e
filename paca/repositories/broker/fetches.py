"""Answers fetches: the server tells its refs, and a mirror gives the objects that it has."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import suppress
from functools import partial

from paca.repositories.broker import git_config, host_git, passing, pkt_line, replies
from paca.repositories.broker.bodies import PIECE_BYTES, Pieces, chunk
from paca.repositories.broker.host_git import GitFailed
from paca.repositories.broker.mirrors import Mirrors, NoPlace
from paca.repositories.broker.pkt_line import FetchRequest
from paca.repositories.broker.requests import GitRequest, Refused
from paca.repositories.broker.routes import Route
from paca.repositories.broker.sending import Client
from paca.repositories.broker.upstream import ServerProblem
from paca.repositories.broker.watching import while_watched

logger = logging.getLogger(__name__)
# For this long after the server has answered a credential, the mirror is read with it.
READABLE_SECONDS = 60.0


class AccessEnded(ConnectionAbortedError):
    """The right to read or write has ended while something was transferred; the connection is cut."""


class Fetches:
    """Answers the fetches of all conversations."""

    def __init__(self, mirrors: Mirrors) -> None:
        self._mirrors = mirrors

    async def answer(self, found: GitRequest, route: Route, client: Client) -> None:
        """Raises ``Refused``, ``ServerProblem`` or ``AccessEnded``, and what bodies and clients raise."""
        if found.advertises:
            await passing.pass_on(found, route, client, None)
        elif found.protocol == "version=2":
            await self._answer_version_2(found, route, client)
        else:
            await passing.pass_on(found, route, client, found.fetch_body())
            self._mirrors.fill_later(route)

    async def _answer_version_2(self, found: GitRequest, route: Route, client: Client) -> None:
        pieces = Pieces(found.fetch_body())
        request = await pkt_line.read_fetch(pieces.read_exactly)
        body = _whole(request, pieces)
        if request.is_plain and self._mirrors.is_ready(route) and await self._gives(route, request):
            with suppress(NoPlace, GitFailed):
                await self._serve_mirror(found, route, client, body)
                return
        await passing.pass_on(found, route, client, body)
        if request.is_fetch:
            self._mirrors.fill_later(route)

    async def _gives(self, route: Route, request: FetchRequest) -> bool:
        """Whether the mirror gives what is wanted; if not, the server answers, also with what is wrong."""
        try:
            return await self._mirrors.gives(route, request.wants, max_age=READABLE_SECONDS)
        except (GitFailed, ServerProblem, OSError) as error:
            logger.info("mirror not used", extra={"mirror": route.mirror, "reason": str(error)})
            return False

    async def _serve_mirror(
        self, found: GitRequest, route: Route, client: Client, body: AsyncIterator[bytes]
    ) -> None:
        """Raises ``NoPlace`` or ``GitFailed`` before anything is read or sent."""
        async with self._mirrors.reading(route, found.conversation_id):
            with git_config.config_file(git_config.config_for(None)) as config:
                path = self._mirrors.path(route.mirror)
                process = await self._mirrors.upload_pack(path, config=config)
            try:
                talking = _talk(process, client, body)
                look = partial(_look_again, route)
                await while_watched(talking, look, seconds=READABLE_SECONDS)
            finally:
                host_git.kill(process)
                await process.wait()


async def _look_again(route: Route) -> None:
    """Raises ``AccessEnded`` if a long transfer must not go on."""
    try:
        await passing.require_readable(route)
    except (Refused, ServerProblem) as error:
        raise AccessEnded(str(error)) from error


async def _whole(request: FetchRequest, pieces: Pieces) -> AsyncIterator[bytes]:
    yield request.data
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
