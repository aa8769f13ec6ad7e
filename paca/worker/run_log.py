"""The engine's log, made of the store: commits, keeps the folds, and learns what others wrote."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from django.db import InterfaceError, OperationalError

from paca import events
from paca.common import database_errors
from paca.conversations import selectors, store
from paca.conversations.selectors import RecordedEvent
from paca.conversations.store import AppendResult, Lease
from paca.engine.context.history import History, advance
from paca.engine.limits import TurnProgress
from paca.engine.ports import LogEntry
from paca.events import Event
from paca.worker.database import Database, uninterrupted
from paca.worker.history_cache import Fold
from paca.worker.stream_buffer import Live


class RunLog:
    """Satisfies ``engine.ports.Log`` for one held conversation."""

    def __init__(
        self,
        lease: Lease,
        known: Fold,
        recorded: Iterable[RecordedEvent],
        *,
        database: Database,
        live: Live,
    ) -> None:
        """``recorded`` is all that the log holds above ``known``."""
        self.lease = lease
        self._history, self._progress = known.history, known.progress
        self.seen_files = known.seen_files
        self._database = database
        self._live = live
        self._noted: list[LogEntry] = []
        self._failed: InterfaceError | OperationalError | None = None
        self._one_at_a_time = asyncio.Lock()
        self._fold(recorded)

    @property
    def history(self) -> History:
        return self._history

    @property
    def progress(self) -> TurnProgress:
        return self._progress

    @property
    def fold(self) -> Fold:
        """What the log has come to."""
        return Fold(self._history, self._progress, self.seen_files)

    def add(self, *entries: LogEntry) -> None:
        self._noted.extend(entries)

    def take_noted(self) -> tuple[LogEntry, ...]:
        """What was noted, for a transaction that is not ours.

        Raises what the database failed a commit before with: nobody knows whether what was noted then is
        stored, so the run must not go on, whichever of its tasks was told.
        """
        if self._failed is not None:
            raise self._failed
        noted, self._noted = tuple(self._noted), []
        return noted

    async def commit(self, *entries: LogEntry) -> None:
        self.add(*entries)
        if self._noted:
            await uninterrupted(self._commit())

    async def _commit(self) -> None:
        async with self._one_at_a_time:
            noted = self.take_noted()
            if not noted:
                return
            try:
                appended = await self._database.call(
                    store.append,
                    self.lease.conversation_id,
                    *noted,
                    lease=self.lease,
                    known_seq=self._history.seq,
                )
            except database_errors.UNAVAILABLE_ERRORS as error:
                self._failed = error
                raise
            await self._learn(appended)

    async def _learn(self, appended: AppendResult) -> None:
        if appended.first_seq == self._history.seq + 1:
            for seq, event in enumerate(appended.events, appended.first_seq):
                self._take(event, seq)
        elif appended.last_seq > self._history.seq:
            await self.catch_up()

    async def catch_up(self) -> None:
        """Read and fold what stands in the log above what we know."""
        self._fold(
            await self._database.call(
                selectors.events_after, self.lease.conversation_id, self._history.seq
            )
        )

    def show_live(self, event: Event) -> None:
        self._live.show(event)

    def _fold(self, recorded: Iterable[RecordedEvent]) -> None:
        for entry in recorded:
            self._take(entry.event, entry.seq)

    def _take(self, event: Event, seq: int) -> None:
        self._history = advance(self._history, event, seq)
        self._progress = self._progress.advance(event)
        if isinstance(
            event, events.UsageRecorded | events.ToolReturned | events.ToolOutcomeUnknown
        ):
            self._live.end(event.call_id)
