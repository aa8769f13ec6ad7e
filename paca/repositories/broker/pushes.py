"""Passes on a push that a person approved, and refuses every other one in git's own words."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from uuid import UUID

from paca.repositories.broker import passing, pkt_line, replies, server_refs
from paca.repositories.broker.ancestry import PushProofs, Unproven
from paca.repositories.broker.bodies import BrokenBody, Pieces
from paca.repositories.broker.host_git import GitFailed, GitUnusable
from paca.repositories.broker.mirrors import Mirrors
from paca.repositories.broker.pkt_line import CommandList
from paca.repositories.broker.push_rules import (
    HOW_TO_PUSH,
    is_granted,
    push_problem,
    server_problem,
)
from paca.repositories.broker.requests import GitRequest, Refused
from paca.repositories.broker.routes import Grant, Route
from paca.repositories.broker.sending import Client

logger = logging.getLogger(__name__)
NO_PUSH = f"Nothing allows a push now. {HOW_TO_PUSH}"
ListGrants = Callable[[UUID, UUID], list[Grant]]


class Pushes:
    """Answers the pushes of all conversations. ``list_grants``: which ones are allowed now."""

    def __init__(self, list_grants: ListGrants, mirrors: Mirrors) -> None:
        self._list_grants = list_grants
        self._mirrors = mirrors
        self.proofs = PushProofs(mirrors)

    async def answer(
        self, found: GitRequest, route: Route, client: Client, writer: asyncio.StreamWriter
    ) -> None:
        """Raises ``Refused``, ``ServerProblem``, ``ProtocolProblem``, and what bodies and clients raise."""
        if found.advertises:
            await self._advertise(found, route, client)
            return
        if found.head.header("content-encoding") not in (None, "identity"):
            raise Refused("A push is not compressed as a whole. Push with git itself.")
        found.expect(writer)
        pieces = Pieces(found.body.pieces())
        commands = await pkt_line.read_commands(pieces.read_exactly)
        if not commands.commands:  # git asks first whether it may, with an empty list
            await self._pass_on_probe(found, route, client, pieces)
            return
        try:
            await self._check(found, route, commands)
            await self._pass_on(found, route, client, commands, pieces)
        except Unproven as problem:
            await replies.refuse_push(commands, str(problem), pieces, writer)

    def _grants_of(self, found: GitRequest) -> list[Grant]:
        return self._list_grants(found.conversation_id, found.repository_id)

    async def _advertise(self, found: GitRequest, route: Route, client: Client) -> None:
        """Raises ``Refused``."""
        grants = self._grants_of(found)
        # guard: broker-advertisement-of-a-push-needs-a-grant
        if not grants:
            raise Refused(NO_PUSH)
        # A push to a branch that exists is read here. Without a mirror there is nothing to complete a thin pack with.
        is_read = any(grant.old.strip("0") for grant in grants)
        whole = "no-thin" if is_read and not self._mirrors.is_ready(route) else ""
        await passing.pass_on(found, route, client, None, capability=whole)

    async def _check(self, found: GitRequest, route: Route, commands: CommandList) -> None:
        """Raises ``Unproven`` for a push that nobody approved, or that the server's branches speak against.

        The client takes as long as it likes for its list, so the grants are asked for after it.
        """
        if problem := push_problem(commands, self._grants_of(found)):
            raise Unproven(problem)
        try:
            refs = await server_refs.ask(route, self._mirrors.git, server_refs.BRANCHES)
        except GitUnusable:
            raise
        except (GitFailed, TimeoutError):
            raise Refused(
                "The server does not say which branches it has. Try again later."
            ) from None
        if problem := server_problem(commands.commands[0].ref, route, refs):
            raise Unproven(problem)

    async def _pass_on(
        self,
        found: GitRequest,
        route: Route,
        client: Client,
        commands: CommandList,
        pieces: Pieces,
    ) -> None:
        """Pass the push on; if its branch exists, once it is proven that it drops no commit. Raises ``Unproven``."""
        command = commands.commands[0]
        pack = self._while_granted(found, commands, pieces.rest())
        log = {"conversation": str(found.conversation_id), "repository": route.name}
        if command.creates:
            logger.info("push of a new branch passed on", extra=log)
            await passing.pass_on(found, route, client, _after(commands.data, pack))
            return
        async with self.proofs.proven(route, command, pack) as proven:
            logger.info("push passed on", extra=log)
            body = self._while_granted(found, commands, _after(commands.data, proven))
            await passing.pass_on(found, route, client, body)

    async def _pass_on_probe(
        self, found: GitRequest, route: Route, client: Client, pieces: Pieces
    ) -> None:
        """Let the server say whether git may push at all. Raises ``Refused`` if more follows than the empty list."""
        # guard: broker-probe-of-a-push-needs-a-grant
        if not self._grants_of(found):
            raise Refused(NO_PUSH)
        async for _ in pieces.rest():
            raise Refused("More follows the empty list of what to push. Push with git itself.")
        await passing.pass_on(found, route, client, _after(pkt_line.FLUSH))

    async def _while_granted(
        self, found: GitRequest, commands: CommandList, pieces: AsyncIterator[bytes]
    ) -> AsyncIterator[bytes]:
        """The body of a push. Raises ``BrokenBody`` once its grant has ended: the server does nothing without the rest."""
        async for piece in pieces:
            # guard: broker-push-ends-with-its-grant
            if not is_granted(commands, self._grants_of(found)):
                raise BrokenBody("the grant has ended")
            yield piece


async def _after(begin: bytes, pieces: AsyncIterator[bytes] | None = None) -> AsyncIterator[bytes]:
    yield begin
    if pieces is not None:
        async for piece in pieces:
            yield piece
