"""Reads the trigger stream for one worker. Each entry goes to one worker, and none is lost."""

from collections.abc import Mapping
from uuid import UUID

import redis

from paca.bus.base import STOP, EntryResult, EntryStatus, HintsLost, TriggerDue, TriggerHandler
from paca.bus.listener import Listener
from paca.bus.redis.connection import ConnectionThread
from paca.bus.redis.consumer_group import (
    FIRST_ENTRY_ID,
    ConsumerGroup,
    ConsumerSettings,
    Entry,
    Fields,
    original_id,
)
from paca.common import clock

MAX_BATCH = 10
BUSY_SECONDS = 0.1
# After a hint, its worker gets the interpreter of the process first: so long a run takes to ask its model.
HANDOVER_SECONDS = 0.003
RETRY_SECONDS = 0.5
TRIM_SECONDS = 5.0
MAX_DELIVERIES = 5
# The fields of an entry that its result repeats, so that its program knows it again.
RESULT_NAMES = ("type", "conversation_id", "client_id")
MAX_RESULT_CHARACTERS = 500


class TriggerStreamReader(ConnectionThread):
    """Reads entries while the worker has capacity, and peeks for stops while it has none.

    If entries fill the memory of Redis, they are read without capacity too.

    An entry of another program is removed when its rows are committed. If the worker dies between the
    two, the entry is delivered again, and its ids show that it is stored.
    """

    def __init__(
        self, url: str, settings: ConsumerSettings, listener: Listener, handler: TriggerHandler
    ) -> None:
        super().__init__(url, name="trigger-stream")
        self._settings = settings
        self._listener = listener
        self._handler = handler
        self._may_have_lost_hints = False
        self._batch_ids: list[bytes] = []  # entries that were read and are still to be handled
        self._delivered_ids: list[bytes] = []  # hints that are offered and still to be acknowledged
        # Every stop up to this entry was handled; empty: not known.
        self._peeked_to = b""
        self._next_claim = self._next_cleaning = 0.0
        self._next_trim = clock.monotonic() + TRIM_SECONDS
        # Waiting entries take much memory: then they become rows even if no worker has capacity.
        self._is_crowded = False
        self.client_id: int | None = None

    # --- the connection -----------------------------------------------------------------------

    def session(self, client: redis.Redis) -> None:
        """Handle the entries that a lost connection left unacknowledged, then read new ones."""
        group = ConsumerGroup(client, self._settings)
        group.create()
        self.client_id = client.client_id()
        self._peeked_to = b""
        self.report_connected()
        if self._may_have_lost_hints:
            self._offer(HintsLost())
        self._may_have_lost_hints = True
        self._handle_all(group, group.read_unacknowledged())
        while not self.stopping.is_set():
            try:
                self._read(group)
            except redis.ResponseError as error:
                if not _group_is_gone(error):
                    raise
                group.create()
                self._offer(HintsLost())
        group.leave()

    def _read(self, group: ConsumerGroup) -> None:
        now = clock.monotonic()
        self._tidy(group, now)
        limit = min(self._handler.capacity(), MAX_BATCH)
        if limit <= 0 and not self._is_crowded:
            self._handle_stops(group)
            self.stopping.wait(BUSY_SECONDS)
            return
        limit = limit if limit > 0 else MAX_BATCH
        if now >= self._next_claim:
            self._next_claim = now + self._settings.abandoned_seconds / 2
            self._handle_all(group, group.claim_abandoned(limit))
        entries = group.read_new(limit)
        if entries:
            # Entries after these are peeked at again: a stop may have come before what it stops.
            self._peeked_to = entries[-1][0]
        self._handle_all(group, entries, are_new=True)

    def _tidy(self, group: ConsumerGroup, now: float) -> None:
        """Remove what nothing reads any more, from time to time."""
        if now >= self._next_trim:
            self._next_trim = now + TRIM_SECONDS
            group.trim_to_unread()
            self._is_crowded = group.is_crowded()
        if now >= self._next_cleaning:
            self._next_cleaning = now + self._settings.gone_seconds / 10
            group.remove_idle_consumers()
            group.remove_old_dead_triggers()

    def _handle_stops(self, group: ConsumerGroup) -> None:
        """Handle the stops among the entries that wait. The conversation that such an entry stops may
        be the one that keeps this worker busy. Other entries are left to other workers.

        The entry stays in the stream. A worker with capacity reads it again; a stop counts only once.
        """
        self._peeked_to = self._peeked_to or group.last_delivered_id()
        for entry_id, fields in group.peek(self._peeked_to):
            if fields.get(b"type") == STOP.encode() and b"trigger_id" not in fields:
                texts = _decode(fields)
                first_id = original_id((entry_id, fields))
                result = texts and self._handler.handle(first_id, texts)
                if result and result.status is EntryStatus.RETRY_LATER:
                    return
            self._peeked_to = entry_id

    # --- handling entries -----------------------------------------------------------------------

    def _handle_all(
        self, group: ConsumerGroup, entries: list[Entry], *, are_new: bool = False
    ) -> None:
        self._batch_ids = [entry_id for entry_id, _ in entries]
        for entry in entries:
            deliveries = 1 if are_new else group.delivery_count(entry[0])
            self._handle(group, entry, deliveries=deliveries)
            self._batch_ids.pop(0)
        if self._delivered_ids:
            self.stopping.wait(HANDOVER_SECONDS)
            self._acknowledge_delivered(group)

    def _acknowledge_delivered(self, group: ConsumerGroup) -> None:
        """Acknowledge the hints that are offered. One that is not, since Redis is lost, arrives twice."""
        delivered, self._delivered_ids = self._delivered_ids, []
        if delivered:
            group.acknowledge(*delivered)

    def _handle(self, group: ConsumerGroup, entry: Entry, *, deliveries: int) -> None:
        entry_id, fields = entry
        if not fields:
            group.acknowledge(entry_id)  # the stream was trimmed before the entry was read
        elif b"trigger_id" in fields:
            self._wake_worker(group, entry)
        elif self.stopping.is_set():
            group.requeue(entry)
        elif deliveries > MAX_DELIVERIES + 1:
            reason = f"It was delivered {deliveries} times, and each time the worker died."
            _refuse(group, entry, "internal", reason)
        else:
            self._acknowledge_delivered(group)  # this may take long
            self._handle_external(group, entry, deliveries)

    def _wake_worker(self, group: ConsumerGroup, entry: Entry) -> None:
        try:
            trigger_id = UUID(entry[1][b"trigger_id"].decode("ascii"))
        except ValueError:
            reason = "trigger_id is not a UUID; programs other than Paca leave it out."
            _refuse(group, entry, "trigger_refused", reason)
            return
        if self.stopping.is_set() or (self._handler.capacity() <= 0 and not self._is_crowded):
            group.requeue(entry)
            return
        self._offer(TriggerDue(trigger_id))
        self._delivered_ids.append(entry[0])

    def _handle_external(self, group: ConsumerGroup, entry: Entry, deliveries: int) -> None:
        texts = _decode(entry[1])
        if texts is None:
            _refuse(group, entry, "trigger_refused", "A field is not UTF-8 text.")
            return
        result = self._handle_until_database_answers(group, entry, texts)
        match result.status:
            case EntryStatus.ACCEPTED:
                group.accept(entry, _describe(entry, "accepted", result.facts))
            case EntryStatus.REJECTED:
                _refuse(group, entry, result.code, result.reason)
            case EntryStatus.FAILED if deliveries > MAX_DELIVERIES:
                reason = f"Given up after {deliveries} attempts: {result.reason}"
                _refuse(group, entry, result.code, reason)
            case EntryStatus.RETRY_LATER:
                group.requeue(entry)  # this worker stops; another may reach the database

    def _handle_until_database_answers(
        self, group: ConsumerGroup, entry: Entry, texts: dict[str, str]
    ) -> EntryResult:
        # A stop that was peeked at counts once, also if its entry was requeued since.
        # guard: bus-first-id-of-an-entry
        first_id = original_id(entry)
        result = self._handler.handle(first_id, texts)
        if result.status is EntryStatus.RETRY_LATER:
            # A stop behind this entry is not handled yet, even if it is in the same batch.
            self._peeked_to = entry[0]
        while result.status is EntryStatus.RETRY_LATER and not self.stopping.wait(RETRY_SECONDS):
            group.keep(self._batch_ids)
            if self._handler.capacity() <= 0:  # a disk may stay full for a long time
                self._handle_stops(group)
            result = self._handler.handle(first_id, texts)
        return result

    def _offer(self, hint: TriggerDue | HintsLost) -> None:
        if not self._listener.offer(hint):
            self.stopping.set()  # the worker's event loop is closed


def _refuse(group: ConsumerGroup, entry: Entry, code: str, reason: str) -> None:
    group.refuse(entry, _describe(entry, "refused", {"code": code, "reason": reason}))


def _describe(entry: Entry, status: str, facts: Mapping[str, str]) -> dict[str, str]:
    """The fields of the entry in the stream of results: which entry it was, and what became of it."""
    named = {
        name: entry[1].get(name.encode(), b"").decode(errors="replace")[:MAX_RESULT_CHARACTERS]
        for name in RESULT_NAMES
    }
    told = {"entry_id": original_id(entry), "status": status, **named, **facts}
    return {name: value[:MAX_RESULT_CHARACTERS] for name, value in told.items() if value}


def _decode(fields: Fields) -> dict[str, str] | None:
    """The fields of an entry as texts, or None if one is not UTF-8."""
    try:
        return {
            name.decode(): value.decode()
            for name, value in fields.items()
            if name != FIRST_ENTRY_ID
        }
    except UnicodeDecodeError:
        return None


def _group_is_gone(error: redis.ResponseError) -> bool:
    return str(error).startswith(("NOGROUP", "UNBLOCKED", "no such key"))
