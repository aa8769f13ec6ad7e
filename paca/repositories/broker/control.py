"""The private socket of the broker: workers answer its questions over it, and allow pushes.

Lines of JSON. A connection begins with one line that says what it is for. Routes and grants live as long as the
connection that brought them, so a worker that is killed leaves nothing behind.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from paca.repositories.broker.requests import Refused
from paca.repositories.broker.routes import Grant, Route

logger = logging.getLogger(__name__)
MAX_LINE = 64 << 10
ASK_SECONDS = 30.0
WAIT_SECONDS = 120.0  # for a worker, after the broker was started or the last worker has ended
KEPT_SECONDS = 5.0
MAX_KEPT = 1000
NO_WORKER = "Paca cannot look this repository up now. Run the command again in a moment."


class Answerer:
    """One worker that answers questions."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        self._waiting: dict[int, asyncio.Future[Mapping[str, Any]]] = {}
        self._number = 0

    async def ask(self, question: Mapping[str, Any]) -> Mapping[str, Any]:
        """The answer to a question. Raises ``TimeoutError`` or ``ConnectionError``."""
        self._number += 1
        number = self._number
        future: asyncio.Future[Mapping[str, Any]] = asyncio.get_running_loop().create_future()
        self._waiting[number] = future
        try:
            async with asyncio.timeout(ASK_SECONDS):
                await send(self._writer, {"id": number, **question})
                return await future
        finally:
            del self._waiting[number]

    async def listen(self, reader: asyncio.StreamReader) -> None:
        """Take answers until the worker is gone."""
        try:
            while (fields := await receive(reader)) is not None:
                future = self._waiting.get(fields.get("id", 0))
                if future is not None and not future.done():
                    future.set_result(fields)
        finally:
            for future in self._waiting.values():
                if not future.done():
                    future.set_exception(ConnectionResetError())


class Control:
    """What workers have told: who answers, and what may be pushed."""

    def __init__(self) -> None:
        self._answerers: list[Answerer] = []
        self._has_answerer = asyncio.Event()
        self._grants: list[Grant] = []
        self._kept: dict[tuple[UUID, UUID], tuple[float, Route]] = {}

    def grants(self, conversation_id: UUID, repository_id: UUID) -> list[Grant]:
        """The pushes that are allowed now."""
        wanted = conversation_id, repository_id
        # guard: broker-grants-of-this-conversation
        return [
            each for each in self._grants if (each.conversation_id, each.repository_id) == wanted
        ]

    async def route(self, conversation_id: UUID, repository_id: UUID) -> Route:
        """The way to a repository, as a worker says it; kept for a few seconds. Raises ``Refused``."""
        key = conversation_id, repository_id
        kept = self._kept.get(key)
        if kept is not None and time.monotonic() - kept[0] < KEPT_SECONDS:
            return kept[1]
        answer = await self._ask({"conversation": str(key[0]), "repository": str(key[1])})
        if refusal := answer.get("refusal"):
            self._kept.pop(key, None)
            raise Refused(str(refusal))
        route = Route.from_fields(answer["route"])
        if len(self._kept) >= MAX_KEPT:
            self._kept.clear()
        self._kept[key] = time.monotonic(), route
        return route

    async def _ask(self, question: Mapping[str, Any]) -> Mapping[str, Any]:
        """The answer of the first worker that has one. Raises ``Refused`` if none does in time.

        A worker that is killed is replaced by another one, which takes a while: git in the sandbox waits.
        """
        try:
            async with asyncio.timeout(WAIT_SECONDS):
                while True:
                    await self._has_answerer.wait()
                    answerer = self._answerers[-1]
                    try:
                        return await answerer.ask(question)
                    except TimeoutError:
                        self._ask_last(answerer)
                    except ConnectionError:
                        self._forget(answerer)
        except TimeoutError:
            raise Refused(NO_WORKER) from None

    def _ask_last(self, answerer: Answerer) -> None:
        """Ask other workers first. This one lives: perhaps it waits for the server of one repository."""
        if answerer in self._answerers:
            self._answerers.remove(answerer)
            self._answerers.insert(0, answerer)

    def _forget(self, answerer: Answerer) -> None:
        """Ask this worker no more: it is gone."""
        if answerer in self._answerers:
            self._answerers.remove(answerer)
        if not self._answerers:
            self._has_answerer.clear()
            self._kept.clear()

    async def answerer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve the connection of a worker that answers, until it is gone."""
        answerer = Answerer(writer)
        self._answerers.append(answerer)
        self._has_answerer.set()
        try:
            await answerer.listen(reader)
        finally:
            self._forget(answerer)

    async def grant(
        self,
        fields: Mapping[str, Any],
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        """Allow one push until the worker closes the connection."""
        grant = Grant(
            UUID(fields["conversation"]),
            UUID(fields["repository"]),
            str(fields["ref"]),
            str(fields["old"]),
            str(fields["new"]),
        )
        self._grants.append(grant)
        self._kept.pop((grant.conversation_id, grant.repository_id), None)
        try:
            await send(writer, {"granted": True})
            await reader.read(1)
        finally:
            # guard: broker-grant-ends-with-its-connection
            self._grants.remove(grant)


async def send(writer: asyncio.StreamWriter, fields: Mapping[str, Any]) -> None:
    """Write one line. Raises ``ConnectionError``."""
    writer.write(json.dumps(fields).encode("ascii") + b"\n")
    await writer.drain()


async def receive(reader: asyncio.StreamReader) -> dict[str, Any] | None:
    """The next line; None at the end. Raises ``ValueError`` if it is no line of this protocol."""
    try:
        line = await reader.readline()
    except ConnectionError:
        return None
    if not line:
        return None
    fields = json.loads(line)
    if not isinstance(fields, dict):
        raise ValueError("no line of the control socket")
    return fields
