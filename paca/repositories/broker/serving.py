"""Serves the connections of git in sandboxes, for as long as each may use its repository."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from functools import partial
from uuid import UUID

from paca.repositories.broker import replies, requests
from paca.repositories.broker.bodies import BrokenBody
from paca.repositories.broker.fetches import AccessEnded, Fetches
from paca.repositories.broker.host_git import GitFailed
from paca.repositories.broker.mirrors import Mirrors
from paca.repositories.broker.pkt_line import ProtocolProblem
from paca.repositories.broker.pushes import ListGrants, Pushes
from paca.repositories.broker.requests import PUSH, GitRequest, LfsRefused, Refused
from paca.repositories.broker.routes import Route
from paca.repositories.broker.sending import Client
from paca.repositories.broker.upstream import ServerProblem
from paca.repositories.broker.watching import while_watched
from paca.sandbox.egress import request_head
from paca.sandbox.egress.request_head import MalformedRequest

logger = logging.getLogger(__name__)
HEAD_SECONDS = 15.0
LOOK_SECONDS = 5.0

AskRoute = Callable[[UUID, UUID], Awaitable[Route]]


class Broker:
    """Serves connections. ``ask_route`` asks a worker for the way to a repository, and raises ``Refused``."""

    def __init__(self, ask_route: AskRoute, list_grants: ListGrants, mirrors: Mirrors) -> None:
        self._ask_route = ask_route
        self._fetches = Fetches(mirrors)
        self.pushes = Pushes(list_grants, mirrors)
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
            found = requests.read(conversation_id, request_head.parse(head), reader)
            await self._answer(found, writer)
        except MalformedRequest:
            await replies.refuse(writer, 400, "The request is not valid.")
        except LfsRefused as error:
            await replies.refuse_lfs(writer, str(error))
        except (Refused, ServerProblem, GitFailed, ProtocolProblem) as error:
            if found is not None:
                await requests.drain(found, writer)
            await replies.refuse(writer, 403, str(error))

    async def _answer(self, found: GitRequest, writer: asyncio.StreamWriter) -> None:
        route = await self._ask_route(found.conversation_id, found.repository_id)
        look = partial(self._require_access, found, route)
        await while_watched(self._carry_out(found, route, writer), look, seconds=LOOK_SECONDS)

    async def _carry_out(
        self, found: GitRequest, route: Route, writer: asyncio.StreamWriter
    ) -> None:
        client = Client(writer)
        if found.service == PUSH:
            await self.pushes.answer(found, route, client, writer)
            return
        if not found.advertises:
            found.expect(writer)
        await self._fetches.answer(found, route, client)

    async def _require_access(self, found: GitRequest, route: Route) -> None:
        """Raises ``AccessEnded`` if the conversation may not use the repository any more, or it is elsewhere now."""
        try:
            now = await self._ask_route(found.conversation_id, found.repository_id)
        except Refused as error:
            raise AccessEnded(str(error)) from error
        # guard: broker-transfer-ends-with-its-right
        if (now.url, now.mirror) != (route.url, route.mirror):
            raise AccessEnded("the repository is at another address now")
