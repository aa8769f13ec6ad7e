"""The event log of a run, and the histories that a worker keeps between runs.

The log stores the entries of the engine, and keeps history and progress up to date.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field
from uuid import UUID

from django.db import Error as DatabaseError

from paca import events
from paca.common import database_errors
from paca.common.errors import PacaError
from paca.common.secret_removal import SecretMask
from paca.conversations import event_log, store
from paca.conversations.store import AppendResult, Lease
from paca.engine.context.history import History, advance
from paca.engine.limits import TurnLimitReached, TurnProgress
from paca.engine.turn import LogEntry, ModelCallStarted
from paca.events import Event
from paca.worker.database import Database, run_to_end
from paca.worker.event_masking import NO_SECRETS, MaskedOutput, masked_entries
from paca.worker.stream_buffer import StreamBuffer


class RunLog:
    """Implements ``engine.ports.EventLog`` for one claimed conversation."""

    def __init__(
        self,
        lease: Lease,
        cached: CachedHistory,
        new_events: Iterable[tuple[int, Event]],
        *,
        database: Database,
        stream_buffer: StreamBuffer,
        claimed_seq: int = 0,
        mask: SecretMask = NO_SECRETS,
    ) -> None:
        """``new_events``: every event after ``cached``, each with its ``seq``. ``claimed_seq``: every
        message up to this event has a turn. ``mask`` is put on all that is stored and shown.
        """
        self.lease = lease
        self._history, self._progress = cached.history, cached.progress
        self.seen_files = cached.seen_files
        self._database = database
        self._stream_buffer = stream_buffer
        self._claimed_seq = claimed_seq
        self._mask, self._live_output = mask, MaskedOutput(mask)
        self._pending: list[LogEntry] = []
        self._failed: DatabaseError | PacaError | None = None
        self._refused: DatabaseError | PacaError | None = None
        self._commit_lock = asyncio.Lock()
        self._apply_all(new_events)

    @property
    def history(self) -> History:
        return self._history

    @property
    def progress(self) -> TurnProgress:
        return self._progress

    @property
    def cached_history(self) -> CachedHistory:
        """History and progress up to the last known event."""
        return CachedHistory(self._history, self._progress, self.seen_files)

    @property
    def mask(self) -> SecretMask:
        """The secrets of the running turn. Each turn sets its own."""
        return self._mask

    @mask.setter
    def mask(self, mask: SecretMask) -> None:
        if mask is not self._mask:
            self._mask, self._live_output = mask, MaskedOutput(mask)

    def add(self, *entries: LogEntry) -> None:
        """Keep entries for the next commit, without secrets."""
        # guard: log-holds-no-secret
        masked = masked_entries(entries, self._mask)
        self._pending.extend(masked)

    def take_pending(self) -> tuple[LogEntry, ...]:
        """Remove and return the entries that wait for a commit, for a transaction of the caller.

        Raises the error of an earlier commit if it is unknown whether its entries are stored, or if
        the lease is lost: no task of the run may go on. After entries were refused for good, later
        ones are dropped too, because they may follow from the refused ones.
        """
        if self._failed is not None:
            raise self._failed
        pending, self._pending = tuple(self._pending), []
        return () if self._refused is not None else pending

    async def commit(self, *entries: LogEntry) -> History:
        """Store the pending entries and these in one transaction, even if the caller is cancelled meanwhile.

        Gives the history up to them: another task may commit before the caller goes on.
        Raises ``TurnLimitReached`` if a shared budget forbids a model call that starts with them. Nothing is stored
        then; the other entries wait for the next commit.
        Raises ``Fenced`` if the lease is lost, ``IllegalStatusMove`` or a database error. Every later
        commit raises the same error. If the entries were refused for good, the caller may still store
        the end of the turn.
        """
        self.add(*entries)
        return await run_to_end(self._commit()) if self._pending else self._history

    async def _commit(self) -> History:
        async with self._commit_lock:
            if self._refused is not None:
                raise self._refused
            pending = self.take_pending()
            if not pending:
                return self._history
            try:
                appended = await self._database.call(
                    store.append,
                    self.lease.conversation_id,
                    *pending,
                    lease=self.lease,
                    claimed_seq=self._claimed_seq,
                )
            except TurnLimitReached:
                # guard: refused-call-loses-no-entry
                others = [one for one in pending if not isinstance(one, ModelCallStarted)]
                self._pending = [*others, *self._pending]
                raise
            except (store.Fenced, *database_errors.UNAVAILABLE_ERRORS) as error:
                self._failed = error
                raise
            except (DatabaseError, PacaError) as error:
                self._refused = error
                raise
            if store.starts_model_call(pending) or appended.first_seq == self._claimed_seq + 1:
                self._claimed_seq = appended.last_seq
            await self._apply_appended(appended)
            return self._history

    async def _apply_appended(self, appended: AppendResult) -> None:
        if appended.first_seq == self._history.seq + 1:
            for seq, event in enumerate(appended.events, appended.first_seq):
                self._apply(event, seq)
        elif appended.last_seq > self._history.seq:
            await self.catch_up(until=appended.last_seq)

    async def catch_up(self, *, until: int | None = None) -> None:
        """Read the events after the last known one, and apply them, up to the event ``until``.

        A model call must not read a message that is newer than its start: the message has no turn yet.
        """
        found = await self._database.call(
            event_log.load_after, self.lease.conversation_id, self._history.seq
        )
        # guard: worker-call-reads-claimed-messages
        self._apply_all((seq, event) for seq, event in found if until is None or seq <= until)

    def show_live(self, event: Event) -> None:
        """Send live text without secrets to viewers. Raises ``TypeError`` if the event is not live text."""
        # guard: live-output-shows-no-secret
        shown = self._live_output.feed(event)
        if shown is not None:
            self._stream_buffer.add(shown)

    def _apply_all(self, new_events: Iterable[tuple[int, Event]]) -> None:
        for seq, event in new_events:
            self._apply(event, seq)

    def _apply(self, event: Event, seq: int) -> None:
        self._history = advance(self._history, event, seq)
        self._progress = self._progress.advance(event, seq)
        if isinstance(
            event, events.UsageRecorded | events.ToolReturned | events.ToolOutcomeUnknown
        ):
            self._stream_buffer.forget(event.call_id)
            self._live_output.forget(event.call_id)


MAX_CONVERSATIONS = 32


@dataclass(frozen=True, slots=True)
class CachedHistory:
    """History and progress up to the event ``history.seq``. The log only grows, so they stay true.

    ``seen_files``: path to digest of the files that the model has read, as it knows them.
    """

    history: History = History()
    progress: TurnProgress = TurnProgress()
    seen_files: dict[str, str] = field(default_factory=dict)


class HistoryCache:
    """The cached histories by conversation. The least recently used is dropped first."""

    def __init__(self) -> None:
        self._entries: OrderedDict[UUID, CachedHistory] = OrderedDict()

    def put(self, conversation_id: UUID, cached: CachedHistory) -> None:
        """Keep the history at which a run ended."""
        self._entries[conversation_id] = cached
        self._entries.move_to_end(conversation_id)
        while len(self._entries) > MAX_CONVERSATIONS:
            self._entries.popitem(last=False)

    def pop(self, conversation_id: UUID) -> CachedHistory:
        """Remove and return the history of a conversation, or an empty one."""
        return self._entries.pop(conversation_id, CachedHistory())
