"""Serves the connections of git in sandboxes: from a mirror, or by passing them on to the server of the repository."""

from __future__ import annotations

import asyncio
import logging
import re
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from paca.repositories.broker import host_git, pkt_line, replies, upstream
from paca.repositories.broker.bodies import PIECE_BYTES, Body, BrokenBody, Pieces, chunk
from paca.repositories.broker.host_git import GitFailed
from paca.repositories.broker.mirrors import Mirrors
from paca.repositories.broker.pkt_line import CommandList, ProtocolProblem
from paca.repositories.broker.routes import (
    HOST,
    HOW_TO_PUSH,
    Grant,
    Route,
    is_granted,
    push_problem,
)
from paca.repositories.broker.upstream import Question, ServerProblem
from paca.sandbox.egress import request_head
from paca.sandbox.egress.request_head import MalformedRequest, Request

logger = logging.getLogger(__name__)
FETCH, PUSH = "git-upload-pack", "git-receive-pack"
HEAD_SECONDS = 15.0
MAX_CONVERSATION_LINE = 64
MAX_FETCH_REQUEST = 32 << 20
MAX_SOURCES = 10_000
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
NO_LFS = "Files of Git LFS are not fetched or pushed from here. Work with the pointers, or ask a person for the files."
NO_PUSH = f"Nothing allows a push now. {HOW_TO_PUSH}"


class Refused(Exception):
    """The request is not carried out; the text says why and what to do."""


AskRoute = Callable[[UUID, UUID], Awaitable[Route]]
ListGrants = Callable[[UUID, UUID], list[Grant]]


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


class Broker:
    """Serves connections. ``ask_route`` asks a worker for the way to a repository, and raises ``Refused``."""

    def __init__(self, ask_route: AskRoute, list_grants: ListGrants, mirrors: Mirrors) -> None:
        self._ask_route = ask_route
        self._list_grants = list_grants
        self._mirrors = mirrors
        # Requests after the first one go where the first one went: what they ask for was told there.
        self._sources: dict[tuple[UUID, UUID], bool] = {}
        self.open = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection of the gate: the id of the conversation, then one request."""
        self.open += 1
        try:
            await self._serve(reader, writer)
        except (
            OSError,
            TimeoutError,
            BrokenBody,
            ValueError,
            asyncio.IncompleteReadError,
        ) as error:
            logger.info("connection ended", extra={"reason": repr(error)})
        finally:
            self.open -= 1
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with asyncio.timeout(HEAD_SECONDS):
            conversation_id = UUID((await reader.readline()).decode("ascii").strip())
            head = await reader.readuntil(request_head.HEAD_END)
        found: GitRequest | None = None
        try:
            found = _read(conversation_id, request_head.parse(head), reader)
            await self._answer(found, writer)
        except MalformedRequest:
            await replies.refuse(writer, 400, "The request is not valid.")
        except (Refused, ServerProblem, GitFailed, ProtocolProblem) as error:
            if found is not None:
                await _drain(found, writer)
            await replies.refuse(writer, 403, str(error))

    async def _answer(self, found: GitRequest, writer: asyncio.StreamWriter) -> None:
        route = await self._ask_route(found.conversation_id, found.repository_id)
        if found.service == PUSH:
            await self._push(found, route, writer)
            return
        key = found.conversation_id, found.repository_id
        if found.advertises:
            if len(self._sources) > MAX_SOURCES:
                self._sources.clear()
            # Until the server has agreed again: another request may come meanwhile.
            self._sources.pop(key, None)
        wanted = self._mirrors.is_ready(route) if found.advertises else key in self._sources
        path = await self._mirror(route, update=found.advertises) if wanted else None
        if path is None:
            self._sources.pop(key, None)
            await self._pass_on(found, route, writer, _fetch_body(found, writer))
            if not found.advertises:
                self._mirrors.fill_later(route)
        else:
            self._sources[key] = True
            await self._serve_mirror(found, route, path, writer)

    async def _mirror(self, route: Route, *, update: bool) -> Path | None:
        """The mirror as the server is now; None if the server has to answer itself, also for what is wrong."""
        try:
            if not update:
                return self._mirrors.path(route.mirror) if self._mirrors.is_ready(route) else None
            return await self._mirrors.update(route)
        except (GitFailed, ServerProblem, OSError, TimeoutError) as error:
            logger.info("mirror not used", extra={"mirror": route.mirror, "reason": str(error)})
            return None

    # --- fetches ------------------------------------------------------------------------------

    async def _pass_on(
        self,
        found: GitRequest,
        route: Route,
        writer: asyncio.StreamWriter,
        body: AsyncIterator[bytes] | None,
    ) -> None:
        """Ask the server, and pass its answer on. Raises ``Refused`` before the first byte, if it is none for git."""
        path = f"info/refs?service={found.service}" if found.advertises else found.service
        headers = [("Accept", found.answer_type)]
        if found.protocol:
            headers.append(("Git-Protocol", found.protocol))
        if not found.advertises:
            headers.append(("Content-Type", f"application/x-{found.service}-request"))
            if found.head.header("content-encoding") == "gzip":
                headers.append(("Content-Encoding", "gzip"))
        method = "GET" if found.advertises else "POST"
        answer = await upstream.ask(route, Question(method, path, tuple(headers), body))
        try:
            if problem := upstream.answer_problem(route, answer, found.answer_type):
                raise Refused(problem)
            writer.write(replies.answer_head(answer))
            async for piece in answer.body.pieces():
                writer.write(chunk(piece))
                await writer.drain()
            writer.write(chunk(b""))
            await writer.drain()
        finally:
            answer.close()

    async def _serve_mirror(
        self, found: GitRequest, route: Route, path: Path, writer: asyncio.StreamWriter
    ) -> None:
        async with self._mirrors.reading(route, found.conversation_id):
            with host_git.config_file(host_git.config_for(None)) as config:
                process = await self._mirrors.upload_pack(
                    path, advertise=found.advertises, protocol=found.protocol, config=config
                )
            try:
                await _talk(process, found, writer)
            finally:
                host_git.kill(process)
                await process.wait()

    # --- pushes -------------------------------------------------------------------------------

    async def _push(self, found: GitRequest, route: Route, writer: asyncio.StreamWriter) -> None:
        if found.advertises:
            # guard: broker-advertisement-of-a-push-needs-a-grant
            if not self._grants_of(found):
                raise Refused(NO_PUSH)
            await self._pass_on(found, route, writer, None)
            return
        if found.head.header("content-encoding") not in (None, "identity"):
            raise Refused("A push is not compressed as a whole. Push with git itself.")
        _expect(found, writer)
        pieces = Pieces(found.body)
        commands = await pkt_line.read_commands(pieces.read_exactly)
        if not commands.commands:  # git asks first whether it may, with an empty list
            await self._pass_on_probe(found, route, writer, pieces)
            return
        head = await self._head_of(route)
        # Only now: the client takes as long as it likes for its list, and a grant may have ended meanwhile.
        problem = push_problem(commands, self._grants_of(found), route, head)
        if problem:
            await replies.refuse_push(commands, problem, pieces, writer)
            return
        logger.info("push passed on", extra={"conversation": str(found.conversation_id)})
        body = self._while_granted(found, commands, _one(commands.data, pieces))
        await self._pass_on(found, route, writer, body)

    def _grants_of(self, found: GitRequest) -> list[Grant]:
        return self._list_grants(found.conversation_id, found.repository_id)

    async def _pass_on_probe(
        self, found: GitRequest, route: Route, writer: asyncio.StreamWriter, pieces: Pieces
    ) -> None:
        """Let the server say whether git may push at all. Raises ``Refused`` if more follows than the empty list."""
        # guard: broker-probe-of-a-push-needs-a-grant
        if not self._grants_of(found):
            raise Refused(NO_PUSH)
        async for _ in pieces.rest():
            raise Refused("More follows the empty list of what to push. Push with git itself.")
        await self._pass_on(found, route, writer, _only(pkt_line.FLUSH))

    async def _while_granted(
        self, found: GitRequest, commands: CommandList, pieces: AsyncIterator[bytes]
    ) -> AsyncIterator[bytes]:
        """The body of a push. Raises ``BrokenBody`` once its grant has ended: the server does nothing without the rest."""
        async for piece in pieces:
            # guard: broker-push-ends-with-its-grant
            if not is_granted(commands, self._grants_of(found)):
                raise BrokenBody("the grant has ended")
            yield piece

    async def _head_of(self, route: Route) -> str:
        """The default branch as the server has it now: somebody may have changed it since it was stored.

        Raises ``Refused`` if it cannot be asked and nothing is stored.
        """
        if route.allow_default_branch:
            return ""
        try:
            found = await self._mirrors.ask_refs(route, "HEAD")
        except (GitFailed, TimeoutError):
            raise Refused(
                "The server does not say which branch is its default. Try again later."
            ) from None
        head = found.get("ref:HEAD", "")
        if not head and not route.default_branch and found:
            raise Refused("The default branch of the repository is not known. A person can set it.")
        return head


def _read(conversation_id: UUID, head: Request, reader: asyncio.StreamReader) -> GitRequest:
    """The request of git in a head. Raises ``Refused`` and ``BrokenBody``."""
    target = TARGET.match(head.target)
    if target is None:
        raise Refused("No repository is linked at this address. Use list_repositories.")
    body, path = Body.of_request(head, reader), target[2]
    if LFS.match(path):
        raise Refused(NO_LFS)
    advertisement = ADVERTISEMENT.match(path)
    if advertisement and head.method == "GET":
        return GitRequest(conversation_id, UUID(target[1]), advertisement[1], True, head, body)
    wanted_type = f"application/x-{path}-request"
    is_for_git = head.method == "POST" and head.header("content-type") == wanted_type
    # guard: broker-only-two-services
    if path not in (FETCH, PUSH) or not is_for_git:
        raise Refused(NOT_SMART)
    return GitRequest(conversation_id, UUID(target[1]), path, False, head, body)


def _expect(found: GitRequest, writer: asyncio.StreamWriter) -> None:
    if (found.head.header("expect") or "").lower() == "100-continue":
        writer.write(CONTINUE)


def _fetch_body(found: GitRequest, writer: asyncio.StreamWriter) -> AsyncIterator[bytes] | None:
    if found.advertises:
        return None
    _expect(found, writer)
    return _limited(found.body.pieces())


async def _limited(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    total = 0
    async for piece in pieces:
        total += len(piece)
        # guard: broker-bounded-request-of-a-fetch
        if total > MAX_FETCH_REQUEST:
            raise BrokenBody("too long")
        yield piece


async def _only(piece: bytes) -> AsyncIterator[bytes]:
    yield piece


async def _one(begin: bytes, pieces: Pieces) -> AsyncIterator[bytes]:
    yield begin
    async for piece in pieces.rest():
        yield piece


async def _talk(
    process: asyncio.subprocess.Process, found: GitRequest, writer: asyncio.StreamWriter
) -> None:
    """Give the process the request, and the client what it answers."""
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    body = _fetch_body(found, writer)
    feeding = asyncio.create_task(_feed(process.stdin, body, found))
    silencing = asyncio.create_task(process.stderr.read())
    try:
        writer.write(replies.success_head(found.answer_type))
        if found.advertises and found.protocol != "version=2":
            writer.write(chunk(pkt_line.line(f"# service={found.service}\n".encode()) + b"0000"))
        while piece := await process.stdout.read(PIECE_BYTES):
            writer.write(chunk(piece))
            await writer.drain()
        await feeding
        writer.write(chunk(b""))
        await writer.drain()
    finally:
        feeding.cancel()
        silencing.cancel()
        await asyncio.gather(feeding, silencing, return_exceptions=True)


async def _feed(
    stdin: asyncio.StreamWriter, body: AsyncIterator[bytes] | None, found: GitRequest
) -> None:
    with suppress(ConnectionError):
        if body is not None:
            zipped = found.head.header("content-encoding") == "gzip"
            async for piece in _unzipped(body) if zipped else body:
                stdin.write(piece)
                await stdin.drain()
    stdin.close()


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
                yield found
                piece = reader.unconsumed_tail
    except zlib.error:
        raise BrokenBody("not compressed as its head says") from None


async def _drain(found: GitRequest, writer: asyncio.StreamWriter) -> None:
    """Take what the client still sends: it reads no answer before."""
    with suppress(BrokenBody, OSError):
        _expect(found, writer)
        async for _ in found.body.pieces():
            pass
