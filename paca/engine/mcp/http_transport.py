"""The guarded way over HTTP to MCP servers: checked addresses, no redirects, bounded answers, access tokens."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass

import httpx2

from paca.engine.llm.transport import ModelTransport
from paca.engine.mcp.addresses import AllowedAddresses

MAX_MESSAGE_BYTES = 8 << 20
MAX_STREAM_BYTES = 64 << 20
CONNECT_SECONDS = 10.0
MAX_STREAM_LINES = 200_000
MAX_STREAMS = 500  # that one connection begins by GET; a server may break each off at once
# token(refused): the access token; with the one that the server has refused, a new one.
AccessToken = Callable[[str], Awaitable[str]]


class AnswerRefused(httpx2.StreamError):
    """An answer of the server that is not read, with the reason."""


class GuardedTransport(ModelTransport):
    """Sends the requests of one connection. ``problem`` is what it has refused or the server has answered last.

    ``access_token`` gives the token for a server with OAuth; None if it needs none.
    """

    def __init__(self, *, private_allowed: bool, access_token: AccessToken | None) -> None:
        super().__init__(AllowedAddresses(private_allowed), httpx2.Limits(max_connections=8))
        self._access_token = access_token
        self._token = ""
        self._streams = 0
        self._unasked = _Count()
        self.problem = ""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send the request, once more with a new token if the server refuses the old one.

        Raises ``AnswerRefused`` for a redirect, an encoded answer or too many streams, and ``SignInNeeded``.
        """
        is_stream = request.method == "GET"
        self._streams += is_stream
        # guard: mcp-streams-are-not-begun-for-ever
        if is_stream and self._streams > MAX_STREAMS:
            raise self._refused("it breaks its streams off again and again")
        # Nothing is decompressed, so that no small answer becomes a large one.
        request.headers["Accept-Encoding"] = "identity"
        response, used = await self._send_with_token(request)
        if response.status_code == 401 and self._access_token is not None:
            await response.aclose()
            # Another request may have a new token already, which the server has not refused.
            # guard: oauth-new-token-is-not-renewed-again
            if self._token == used:
                self._token = await self._access_token(used)
            response, _ = await self._send_with_token(request)
        # guard: mcp-unasked-messages-end
        read = self._unasked if is_stream else _Count()
        return await self._checked(response, read)

    async def _send_with_token(self, request: httpx2.Request) -> tuple[httpx2.Response, str]:
        """The response, and the token that was sent; empty if the server needs none."""
        token = self._token
        if self._access_token is not None:
            self._token = token = token or await self._access_token("")
            request.headers["Authorization"] = f"Bearer {token}"
        return await self._send(request), token

    async def _checked(self, response: httpx2.Response, read: _Count) -> httpx2.Response:
        # guard: mcp-redirects-are-refused
        if response.is_redirect:
            await response.aclose()
            raise self._refused("it redirects to another address; enter that one if it is right")
        if response.headers.get("Content-Encoding", "identity").strip().lower() != "identity":
            await response.aclose()
            raise self._refused("it sends compressed answers, although it was asked not to")
        if response.is_error:
            self.problem = f"it answers HTTP {response.status_code}"
        is_stream = response.headers.get("Content-Type", "").startswith("text/event-stream")
        limit = MAX_STREAM_BYTES if is_stream else MAX_MESSAGE_BYTES
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        lines = MAX_STREAM_LINES if is_stream else limit
        response.stream = _BoundedStream(response.stream, read, limit, lines, self._refused)
        return response

    def _refused(self, problem: str) -> AnswerRefused:
        self.problem = problem
        return AnswerRefused(problem)


@dataclass(slots=True)
class _Count:
    """How much was read: of one answer, or of all that the server has sent unasked on one connection."""

    size: int = 0
    lines: int = 0


class _BoundedStream(httpx2.AsyncByteStream):
    """The body of an answer, up to a limit of bytes and of lines."""

    def __init__(
        self,
        stream: httpx2.AsyncByteStream,
        read: _Count,
        limit: int,
        lines: int,
        refused: Callable[[str], AnswerRefused],
    ) -> None:
        self._stream, self._read = stream, read
        self._limit, self._lines, self._refused = limit, lines, refused

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for data in self._stream:
            self._read.size += len(data)
            # guard: mcp-answers-are-bounded
            if self._read.size > self._limit:
                raise self._refused(f"its answer is longer than {self._limit >> 20} MiB")
            self._read.lines += data.count(b"\n")
            # guard: mcp-event-streams-end
            if self._read.lines > self._lines:
                raise self._refused("it writes without end")
            yield data

    async def aclose(self) -> None:
        await self._stream.aclose()
