"""Sends the spans of ended turns to an OpenTelemetry collector, beside the work and never in its way."""

from __future__ import annotations

import asyncio
import json
import logging
from types import TracebackType
from typing import TYPE_CHECKING, Self
from uuid import UUID

from django.conf import settings

from paca.common.best_effort import failures, tolerated
from paca.conversations.telemetry import otlp, spans, turn_ends
from paca.worker.database import Database

if TYPE_CHECKING:
    import httpx2

logger = logging.getLogger(__name__)

MAX_WAITING = 200  # turns; those beyond are dropped
REQUEST_SECONDS = 10.0
FLUSH_SECONDS = 5.0
RETRIES, RETRY_SECONDS, MAX_RETRY_SECONDS = 2, 1.0, 20.0
# The answers after which OTLP lets a client send again.
RETRYABLE = (429, 502, 503, 504)


class TelemetryExporter:
    """Exports the turns whose ends are committed in this process, while ``async with`` lasts.

    A turn that cannot be sent is dropped, counted and logged. Its spans have fixed ids, so a turn that
    arrived and is sent again is no second one.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._turns: asyncio.Queue[tuple[UUID, int]] = asyncio.Queue(MAX_WAITING)
        self._loop = asyncio.get_running_loop()
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        if settings.OTEL_EXPORTER_OTLP_ENDPOINT:
            self._task = asyncio.create_task(self._export_repeatedly())
            turn_ends.listen(self._on_turn_ended_in_thread)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._task is None:
            return
        turn_ends.unlisten(self._on_turn_ended_in_thread)
        try:
            async with asyncio.timeout(FLUSH_SECONDS):
                await self._turns.join()
        except TimeoutError:
            self._drop("the worker ends", turns=self._turns.qsize() + 1)
        self._task.cancel()
        await asyncio.wait({self._task})

    def _on_turn_ended_in_thread(self, conversation_id: UUID, turn: int) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._on_turn_ended, conversation_id, turn)

    def _on_turn_ended(self, conversation_id: UUID, turn: int) -> None:
        # guard: telemetry-is-dropped-and-not-waited-for
        if self._turns.full():
            self._drop("too many turns wait")
            return
        self._turns.put_nowait((conversation_id, turn))

    async def _export_repeatedly(self) -> None:
        import httpx2

        # No redirect: it would send the headers to a host that they were not given for.
        async with httpx2.AsyncClient(timeout=REQUEST_SECONDS, follow_redirects=False) as http:
            while True:
                conversation_id, turn = await self._turns.get()
                try:
                    with tolerated("telemetry"):
                        await self._export(conversation_id, turn, http)
                finally:
                    self._turns.task_done()

    async def _export(self, conversation_id: UUID, turn: int, http: httpx2.AsyncClient) -> None:
        contents = settings.OTEL_CAPTURE_MESSAGE_CONTENT
        found = await self._database.call(
            spans.of_turn, conversation_id, turn, with_contents=contents
        )
        if not found:
            return
        body = json.dumps(otlp.request(found, service=settings.OTEL_SERVICE_NAME)).encode()
        for attempt in range(RETRIES + 1):
            cause, wait = await _send(body, http, seconds=RETRY_SECONDS * 2**attempt)
            if not cause:
                return
            if wait is None or attempt == RETRIES:
                break
            await asyncio.sleep(wait)
        self._drop(cause)

    def _drop(self, cause: str, *, turns: int = 1) -> None:
        failures["telemetry"] += turns
        logger.warning("spans dropped", extra={"cause": cause, "turns": turns})


async def _send(
    body: bytes, http: httpx2.AsyncClient, *, seconds: float
) -> tuple[str, float | None]:
    """Send a request once. Gives why it failed, and the seconds after which to send it again, if that may help."""
    import httpx2

    address = f"{settings.OTEL_EXPORTER_OTLP_ENDPOINT}/v1/traces"
    headers = {**settings.OTEL_EXPORTER_OTLP_HEADERS, "content-type": "application/json"}
    try:
        # The library's own limits are of each piece of an answer, which may come for ever.
        async with asyncio.timeout(REQUEST_SECONDS):
            answer = await http.post(address, content=body, headers=headers)
    except (TimeoutError, httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
        return type(error).__name__, seconds
    if answer.is_success:
        return "", None
    given = answer.headers.get("retry-after", "")
    wait = float(given) if given.isascii() and given.isdigit() else seconds
    is_worth_it = answer.status_code in RETRYABLE and wait <= MAX_RETRY_SECONDS
    return f"HTTP {answer.status_code}", wait if is_worth_it else None
