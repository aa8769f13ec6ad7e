"""One request to the git server of a repository: to a checked address, with TLS verified, never to another host."""

from __future__ import annotations

import asyncio
import re
import ssl
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import urlsplit

from paca.engine.llm.address_check import AllowedServers
from paca.repositories.broker.bodies import Body, chunk
from paca.repositories.broker.routes import Route
from paca.sandbox.egress import addresses

CONNECT_SECONDS = 20.0
ANSWER_SECONDS = 300.0
TAKE_SECONDS = 120.0  # for a server to take what was sent last
MAX_HEAD_BYTES = 32 << 10
STATUS_LINE = re.compile(rb"HTTP/1\.[01] ([1-5][0-9]{2})(?: [^\r\n]*)?\Z")
PASSED_ON = ("content-type", "content-encoding", "cache-control")


class ServerProblem(Exception):
    """The server cannot be used; the text says why and what to do."""


@dataclass(slots=True)
class Answer:
    """What a server answered: its status, its headers in small letters, and the body to be read."""

    status: int
    headers: dict[str, str]
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    def header(self, name: str) -> str | None:
        """The value of a header; None if it was not sent."""
        return self.headers.get(name)

    @property
    def body(self) -> Body:
        """The body. Raises ``BrokenBody``."""
        return Body.of_answer(self, self.reader)

    def close(self) -> None:
        """Close the connection."""
        self.writer.close()


@dataclass(frozen=True, slots=True)
class Question:
    """A request of git: the part of the path after the repository, with its query, and what git says of itself."""

    method: str
    path: str
    headers: tuple[tuple[str, str], ...] = ()
    body: AsyncIterator[bytes] | None = None


async def checked_address(route: Route) -> list[str]:
    """The addresses of the server, resolved once and allowed. Raises ``ServerProblem``."""
    host, port = route.server
    try:
        found = await addresses.resolve(host, port)
    except (OSError, TimeoutError, UnicodeError):
        raise ServerProblem(f"The name {host} cannot be resolved. Try again later.") from None
    # A git server may be on this machine, if the operator lists it.
    # guard: broker-private-addresses
    allowed = addresses.allowed_addresses(host, port, found, AllowedServers.parse(route.private))
    if not allowed:
        raise ServerProblem(
            f"{host} is in a private network. The operator can allow it: PRIVATE_GIT_SERVERS={host}:{port}."
        )
    return [str(address) for address in allowed]


async def ask(route: Route, question: Question) -> Answer:
    """Send a request and read the head of its answer. Raises ``ServerProblem``, and what the body of the request raises."""
    reader, writer = await _connect(route)
    try:
        with suppress(ConnectionError):  # it may have answered before it has read all
            await _send(writer, route, question)
        async with asyncio.timeout(ANSWER_SECONDS):
            return await _read_answer(reader, writer)
    except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        writer.close()
        raise ServerProblem(
            f"{route.server[0]} has broken the connection off. Try again later."
        ) from None
    except BaseException:
        writer.close()
        raise


async def _send(writer: asyncio.StreamWriter, route: Route, question: Question) -> None:
    writer.write(_head(route, question))
    if question.body is not None:
        async for piece in question.body:
            writer.write(chunk(piece))
            await _taken(writer)
        writer.write(chunk(b""))
    await _taken(writer)


async def _taken(writer: asyncio.StreamWriter) -> None:
    """Wait until the server has taken most of what was sent. Raises ``TimeoutError``."""
    async with asyncio.timeout(TAKE_SECONDS):
        await writer.drain()


async def _connect(route: Route) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    host, port = route.server
    context = _context(route.ca_file) if route.address.scheme == "https" else None
    problem = "it does not answer"
    for address in await checked_address(route):
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                return await asyncio.open_connection(
                    address,
                    port,
                    ssl=context,
                    server_hostname=host if context else None,
                    limit=MAX_HEAD_BYTES,
                )
        except ssl.SSLCertVerificationError as error:
            problem = f"its certificate is not valid ({error.verify_message})"
        except (OSError, TimeoutError):
            continue
    raise ServerProblem(f"{host} cannot be used: {problem}. Try again later, or ask a person.")


@lru_cache(maxsize=8)
def _context(ca_file: str) -> ssl.SSLContext:
    context = ssl.create_default_context()
    if ca_file:
        context.load_verify_locations(ca_file)
    return context


def _head(route: Route, question: Question) -> bytes:
    """The head, written anew: of what the sandbox sent only what git needs goes on."""
    address = route.address
    target = f"{address.path.rstrip('/')}/{question.path}"
    lines = [
        f"{question.method} {target} HTTP/1.1",
        f"Host: {address.netloc.rpartition('@')[2]}",
        "Connection: close",
        "User-Agent: git/2 (paca)",
        *(f"{name}: {value}" for name, value in question.headers),
    ]
    if question.body is not None:
        lines.append("Transfer-Encoding: chunked")
    if route.header:
        lines.append(f"Authorization: {route.header}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


async def _read_answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Answer:
    while True:
        head = await reader.readuntil(b"\r\n\r\n")
        first, *lines = head.removesuffix(b"\r\n\r\n").split(b"\r\n")
        found = STATUS_LINE.match(first)
        if found is None:
            raise ServerProblem("The server does not speak HTTP. Check the address.")
        status = int(found[1])
        if status >= 200:
            break
    headers: dict[str, str] = {}
    for each in lines:
        name, _, value = each.decode("latin-1").partition(":")
        headers[name.strip().lower()] = value.strip()
    return Answer(status, headers, reader, writer)


def answer_problem(route: Route, answer: Answer, wanted_type: str) -> str:
    """Why an answer is none for git, as a sentence with the next step; empty if it is one."""
    host = route.server[0]
    if answer.status in (301, 302, 303, 307, 308):
        return f"{host} says that the repository is at {moved_to(answer)} now. A person can change its address."
    if answer.status in (401, 403):
        return f"{host} refuses the credentials of {route.name}. A person must renew them, or their rights."
    if answer.status == 404:
        return f"{host} does not know {route.name}, or its credentials do not see it. A person can check both."
    if answer.status != 200:
        return f"{host} answered with {answer.status}. Try again later."
    # guard: broker-only-answers-of-git
    if (answer.header("content-type") or "").partition(";")[0].strip() != wanted_type:
        return f"{host} does not speak git's protocol at this address. A person can check it."
    return ""


def moved_to(answer: Answer) -> str:
    """Where a redirect leads, without what a server might hide in it."""
    try:
        found = urlsplit(answer.header("location") or "")
        place = f"{found.scheme}://{found.hostname}{found.path}" if found.hostname else found.path
    except ValueError:
        place = ""
    place = place.partition("/info/refs")[0]
    return "".join(c for c in place if c.isascii() and c.isprintable())[:200] or "another place"
