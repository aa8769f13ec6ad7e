"""Passes a request of git on to the server of the repository, and its answer back."""

from __future__ import annotations

from collections.abc import AsyncIterator

from paca.repositories.broker import pkt_line, replies, upstream
from paca.repositories.broker.bodies import Pieces, chunk
from paca.repositories.broker.requests import FETCH, GitRequest, Refused
from paca.repositories.broker.routes import Route
from paca.repositories.broker.sending import Client
from paca.repositories.broker.upstream import Question


async def pass_on(
    found: GitRequest,
    route: Route,
    client: Client,
    body: AsyncIterator[bytes] | None,
    *,
    capability: str = "",
) -> None:
    """Ask the server, and pass its answer on. Raises ``Refused`` before the first byte, if it is none for git.

    ``capability``: what the server is made to say of itself besides, in an advertisement.
    """
    answer = await upstream.ask(route, _question(found, body))
    try:
        if problem := upstream.answer_problem(route, answer, found.answer_type):
            raise Refused(problem)
        await client.send(replies.answer_head(answer))
        pieces = answer.body.pieces()
        if capability:
            pieces = pkt_line.with_capability(Pieces(pieces), capability)
        async for piece in pieces:
            await client.send(chunk(piece))
        await client.send(chunk(b""))
    finally:
        answer.close()


def _question(found: GitRequest, body: AsyncIterator[bytes] | None) -> Question:
    path = f"info/refs?service={found.service}" if found.advertises else found.service
    headers = [("Accept", found.answer_type)]
    if found.protocol:
        headers.append(("Git-Protocol", found.protocol))
    if not found.advertises:
        headers.append(("Content-Type", f"application/x-{found.service}-request"))
    return Question("GET" if found.advertises else "POST", path, tuple(headers), body)


async def require_readable(route: Route) -> None:
    """Raises ``Refused`` unless the server lets the credential of the route read the repository now."""
    kind = f"application/x-{FETCH}-advertisement"
    headers = (("Accept", kind), ("Git-Protocol", "version=2"))
    answer = await upstream.ask(route, Question("GET", f"info/refs?service={FETCH}", headers))
    try:
        # guard: broker-mirror-needs-the-right-to-read
        if problem := upstream.answer_problem(route, answer, kind):
            raise Refused(problem)
    finally:
        answer.close()
