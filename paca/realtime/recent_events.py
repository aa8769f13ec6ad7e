"""Keeps the newest events of a log that is watched in this process, encoded once for all its viewers."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from itertools import islice
from typing import Any, NamedTuple

MAX_EVENTS = 500
MAX_CHARACTERS = 256 * 1024


class EventFrame(NamedTuple):
    """An event of the log, encoded as a frame. ``call_id`` is set if the event ends live text."""

    seq: int
    type: str
    call_id: str
    text: str


Read = Callable[[int, int], Awaitable[list[EventFrame]]]


class RecentEvents:
    """The newest events of one log, without a gap, for all viewers of it in this process.

    Viewers at the end of these events share one query at a time. A viewer that is further behind
    than the first event kept reads from the database for itself. Events are never updated here,
    because a log only grows.
    """

    def __init__(self, read: Read) -> None:
        """``read(after, limit)`` reads at most ``limit`` events above a ``seq`` from the database."""
        self._read = read
        self._events: deque[EventFrame] = deque()
        self._characters = 0
        self._end = -1  # every event from the first one kept up to this seq is here
        self._queries_started = 0
        self._query: asyncio.Task[tuple[int, list[EventFrame]]] | None = None

    @property
    def end(self) -> int:
        """The highest ``seq`` that a viewer here has reached."""
        return self._end

    async def after(self, seq: int, limit: int) -> list[EventFrame]:
        """At most ``limit`` events above ``seq``, in order.

        The list is empty only if the log had no such event when this was called. Raises what
        ``read`` raises.
        """
        started_before = self._queries_started
        while True:
            if seq > self._end:
                self._restart_at(seq)
            if seq < self._end:
                return self._kept_after(seq, limit) or await self._read(seq, limit)
            if self._query is None:
                if self._queries_started > started_before:
                    return []  # a query that started after this call has found nothing
                self._query = asyncio.create_task(self._read_next(limit))
                self._query.add_done_callback(_retrieve_exception)
            # The query is shared: cancelling one waiter does not cancel it.
            started_at, events = await asyncio.shield(self._query)
            if started_at == seq and events:
                return events[:limit]  # of these, fewer may have been kept

    def _kept_after(self, seq: int, limit: int) -> list[EventFrame]:
        if not self._events or seq < self._events[0].seq - 1:
            return []
        first = seq + 1 - self._events[0].seq
        return list(islice(self._events, first, first + limit))

    async def _read_next(self, limit: int) -> tuple[int, list[EventFrame]]:
        """Read and keep the events at the end. Gives the ``seq`` it started at, and the events."""
        self._queries_started += 1
        end = self._end
        try:
            events = await self._read(end, limit)
        finally:
            self._query = None
        if end == self._end:
            self._add(events)
        return end, events

    def _add(self, events: list[EventFrame]) -> None:
        self._events.extend(events)
        self._characters += sum(len(event.text) for event in events)
        if events:
            self._end = events[-1].seq
        while len(self._events) > MAX_EVENTS or self._characters > MAX_CHARACTERS:
            self._characters -= len(self._events.popleft().text)

    def _restart_at(self, seq: int) -> None:
        """Drop the events kept: no viewer here was this far. Viewers behind ``seq`` read for themselves."""
        self._events.clear()
        self._characters, self._end = 0, seq


def _retrieve_exception(query: asyncio.Task[Any]) -> None:
    """Keep asyncio from reporting a failed query that no viewer waits for any more."""
    if not query.cancelled():
        query.exception()
