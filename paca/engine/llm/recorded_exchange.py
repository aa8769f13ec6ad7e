"""Sends a request and records it, with the times at which its answer came."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable

import httpx2

from paca.common import clock
from paca.common.best_effort import tolerated
from paca.engine.llm.call_recording import MAX_REFUSAL_BYTES, CallRecording, Exchange

Send = Callable[[httpx2.Request], Awaitable[httpx2.Response]]


async def send_recorded(
    request: httpx2.Request, send: Send, recording: CallRecording
) -> httpx2.Response:
    """The response of ``send``, whose body notes when it is read. A fault of the recording changes nothing."""
    exchange = None
    with tolerated("trace"):
        exchange = _exchange_of(request)
        recording.add(exchange)
    try:
        response = await send(request)
    except BaseException as error:
        if exchange is not None:
            exchange.error = type(error).__name__
        raise
    if exchange is not None:
        with tolerated("trace"):
            _record_answer(response, exchange)
    return response


def _exchange_of(request: httpx2.Request) -> Exchange:
    stream = request.stream
    body = b"".join(stream) if isinstance(stream, httpx2.SyncByteStream) else b""
    return Exchange(
        request.method, str(request.url), request.headers.raw, body, asked=clock.monotonic()
    )


def _record_answer(response: httpx2.Response, exchange: Exchange) -> None:
    exchange.status = response.status_code
    exchange.reply_headers = response.headers.raw
    exchange.first_byte = clock.monotonic()
    if isinstance(response.stream, httpx2.AsyncByteStream):
        response.stream = _NotingStream(response.stream, exchange, keeps=not response.is_success)


class _NotingStream(httpx2.AsyncByteStream):
    """The body of an answer. It notes the time of the newest bytes, and keeps the body of a refusal."""

    def __init__(self, stream: httpx2.AsyncByteStream, exchange: Exchange, *, keeps: bool) -> None:
        self._stream = stream
        self._exchange = exchange
        self._keeps = keeps

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for data in self._stream:
            self._exchange.last_byte = clock.monotonic()
            if self._keeps and len(self._exchange.refusal) < MAX_REFUSAL_BYTES:
                self._exchange.refusal += data
            yield data

    async def aclose(self) -> None:
        await self._stream.aclose()
