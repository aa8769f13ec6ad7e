"""The stream of triggers, read as one of a group: each entry goes to one worker, and none is lost."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import redis

from paca.bus.base import STOP, EntryResult, EntryStatus, HintsLost, TriggerDue, TriggerHandler
from paca.bus.listener import Listener
from paca.bus.redis.connection import Link
from paca.common import clock

Fields = dict[bytes, bytes]
Entry = tuple[bytes, Fields]

BLOCK_SECONDS = 1.0  # well below the time after which an answer counts as lost
MOST_AT_ONCE = 10
ROOM_SECONDS = 0.1
LOOK_AHEAD = 100
RETRY_SECONDS = 0.5
MOST_DELIVERIES = 5
MOST_DEAD = 10_000

# In one step, or an entry that is handed out in between would be forgotten with its consumer.
_REMOVE_CONSUMERS = """
for _, facts in ipairs(redis.call('XINFO', 'CONSUMERS', KEYS[1], ARGV[1])) do
    local consumer = {}
    for i = 1, #facts, 2 do consumer[facts[i]] = facts[i + 1] end
    local gone = consumer.name == ARGV[2] or consumer.idle > tonumber(ARGV[3])
    if gone and consumer.pending == 0 then
        redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], consumer.name)
    end
end
"""


@dataclass(frozen=True, slots=True)
class Queue:
    """The names in Redis, and how long an entry may lie with a worker that says nothing."""

    stream: str
    group: str
    dead: str
    consumer: str
    abandoned_seconds: float = 5.0
    gone_seconds: float = 600.0


class TriggerStreamReader(Link):
    """Reads while the worker has room, and hears stops also without. Acknowledges what was taken in."""

    def __init__(self, url: str, queue: Queue, listener: Listener, handler: TriggerHandler) -> None:
        super().__init__(url, name="queue")
        self._queue = queue
        self._listener = listener
        self._handler = handler
        self._missed = False
        self._in_hand: list[bytes] = []  # handed out to us, and still to be handled
        self._looked_at = b""  # up to here no stop waits that is unheard; empty: not known
        self._next_look = self._next_cleaning = 0.0
        self.client_id: int | None = None

    # --- the connection -----------------------------------------------------------------------

    def session(self, client: redis.Redis) -> None:
        """First what was handed to us on a connection that broke, then what comes."""
        reading = _Reading(client, self._queue)
        reading.make_group()
        self.client_id = client.client_id()
        self._looked_at = b""
        self.well()
        if self._missed:
            self._offer(HintsLost())
        self._missed = True
        self._handle_all(reading, reading.handed_out_already())
        while not self.over.is_set():
            try:
                self._read_on(reading)
            except redis.ResponseError as error:
                if not _group_is_gone(error):
                    raise
                reading.make_group()
                self._offer(HintsLost())
        reading.remove_consumers(self._queue.consumer)

    def _read_on(self, reading: "_Reading") -> None:
        room = min(self._handler.capacity(), MOST_AT_ONCE)
        if room <= 0:
            self._hear_stops(reading)
            self.over.wait(ROOM_SECONDS)
            return
        now = clock.monotonic()
        if now >= self._next_look:
            self._next_look = now + self._queue.abandoned_seconds / 2
            self._handle_all(reading, reading.abandoned(room))
        if now >= self._next_cleaning:
            self._next_cleaning = now + self._queue.gone_seconds / 10
            reading.remove_consumers()
        entries = reading.new(room)
        if entries:
            # What is behind them is looked at again: a stop may have come before what it stops.
            self._looked_at = entries[-1][0]
        self._handle_all(reading, entries, are_new=True)

    def _hear_stops(self, reading: "_Reading") -> None:
        """What waits is left to others, but what it is to be stopped may be all that runs here.

        The entry stays: it is read like any other once somebody has room, and counts once.
        """
        self._looked_at = self._looked_at or reading.last_handed_out()
        for entry_id, fields in reading.ahead(self._looked_at):
            if fields.get(b"type") == STOP.encode() and b"trigger_id" not in fields:
                texts = _texts(fields)
                result = texts and self._handler.handle(entry_id.decode(), texts)
                if result and result.status is EntryStatus.RETRY_LATER:
                    return
            self._looked_at = entry_id

    # --- what becomes of an entry ---------------------------------------------------------------

    def _handle_all(
        self, reading: "_Reading", entries: list[Entry], *, are_new: bool = False
    ) -> None:
        self._in_hand = [entry_id for entry_id, _ in entries]
        for entry in entries:
            deliveries = 1 if are_new else reading.deliveries(entry[0])
            self._handle(reading, entry, deliveries=deliveries)
            self._in_hand.pop(0)

    def _handle(self, reading: "_Reading", entry: Entry, *, deliveries: int) -> None:
        entry_id, fields = entry
        if not fields:
            reading.acknowledge(entry_id)  # it was cut off the stream's end before it was read
        elif b"trigger_id" in fields:
            self._wake(reading, entry)
        elif self.over.is_set():
            reading.pass_on(entry)
        elif deliveries > MOST_DELIVERIES + 1:
            reading.bury(
                entry, f"It was handed out {deliveries} times; whoever took it died of it."
            )
        else:
            self._take_in(reading, entry, deliveries)

    def _wake(self, reading: "_Reading", entry: Entry) -> None:
        try:
            trigger_id = UUID(entry[1][b"trigger_id"].decode("ascii"))
        except ValueError:
            reading.bury(entry, "trigger_id is not a UUID; programs other than Paca leave it out.")
            return
        if self.over.is_set() or self._handler.capacity() <= 0:
            reading.pass_on(entry)
            return
        self._offer(TriggerDue(trigger_id))
        reading.acknowledge(entry[0])

    def _take_in(self, reading: "_Reading", entry: Entry, deliveries: int) -> None:
        entry_id, fields = entry
        texts = _texts(fields)
        if texts is None:
            reading.bury(entry, "A field is not UTF-8 text.")
            return
        result = self._ask_until_it_can_answer(reading, entry_id, texts)
        match result.status:
            case EntryStatus.ACCEPTED:
                reading.acknowledge(entry_id)
            case EntryStatus.REJECTED:
                reading.bury(entry, result.reason)
            case EntryStatus.FAILED if deliveries > MOST_DELIVERIES:
                reading.bury(entry, f"Given up after {deliveries} attempts: {result.reason}")
            case EntryStatus.RETRY_LATER:
                reading.pass_on(entry)  # this worker ends; another may reach the database

    def _ask_until_it_can_answer(
        self, reading: "_Reading", entry_id: bytes, texts: dict[str, str]
    ) -> EntryResult:
        result = self._handler.handle(entry_id.decode(), texts)
        if result.status is EntryStatus.RETRY_LATER:
            self._looked_at = entry_id  # a stop that is behind it, and perhaps in hand, is unheard
        while result.status is EntryStatus.RETRY_LATER and not self.over.wait(RETRY_SECONDS):
            reading.keep(self._in_hand)
            if self._handler.capacity() <= 0:  # a disk may be full for long
                self._hear_stops(reading)
            result = self._handler.handle(entry_id.decode(), texts)
        return result

    def _offer(self, hint: TriggerDue | HintsLost) -> None:
        if not self._listener.offer(hint):
            self.over.set()  # the worker's loop is closed


class _Reading:
    """The commands that one consumer of the group gives."""

    def __init__(self, client: redis.Redis, queue: Queue) -> None:
        self._client = client
        self._queue = queue
        self._place = (queue.stream, queue.group)

    def make_group(self) -> None:
        """From the beginning of the stream: what waited for a group that is gone waits for this."""
        try:
            self._client.xgroup_create(*self._place, id="0", mkstream=True)
        except redis.ResponseError as error:
            if not str(error).startswith("BUSYGROUP"):
                raise

    def new(self, most: int) -> list[Entry]:
        """What nobody has read yet; waits a moment for it."""
        return self._read(">", most, block=int(BLOCK_SECONDS * 1000))

    def handed_out_already(self) -> list[Entry]:
        """What was sent to this consumer and not acknowledged."""
        return self._read("0", None)

    def _read(self, after: str, most: int | None, block: int | None = None) -> list[Entry]:
        found: Any = self._client.xreadgroup(
            self._queue.group,
            self._queue.consumer,
            {self._queue.stream: after},
            count=most,
            block=block,
        )
        return [entry for _stream, entries in found for entry in entries]

    def abandoned(self, most: int) -> list[Entry]:
        """What other consumers, or we, have left lying."""
        idle = int(self._queue.abandoned_seconds * 1000)
        found: Any = self._client.xautoclaim(
            *self._place, self._queue.consumer, min_idle_time=idle, count=most
        )
        return [entry for entry in found[1] if entry[0] is not None]

    def last_handed_out(self) -> bytes:
        """Up to where some consumer of the group has been given what there is."""
        groups: Any = self._client.xinfo_groups(self._queue.stream)
        ours = [each for each in groups if each["name"] == self._queue.group.encode()]
        return bytes(ours[0]["last-delivered-id"]) if ours else b"0"

    def ahead(self, entry_id: bytes) -> list[Entry]:
        """What comes after this entry, without taking it."""
        after = b"(" + entry_id
        found: Any = self._client.xrange(self._queue.stream, min=after, count=LOOK_AHEAD)
        return list(found)

    def deliveries(self, entry_id: bytes) -> int:
        """How often it has been handed out, now included."""
        found: Any = self._client.xpending_range(*self._place, entry_id, entry_id, 1)
        return int(found[0]["times_delivered"]) if found else 1

    def keep(self, entry_ids: list[Any]) -> None:
        """They are still in hand: nobody else may take them, and this is no new delivery."""
        consumer = self._queue.consumer
        self._client.xclaim(*self._place, consumer, 0, entry_ids, idle=0, justid=True)

    def acknowledge(self, entry_id: bytes) -> None:
        self._client.xack(*self._place, entry_id)

    def pass_on(self, entry: Entry) -> None:
        """Let another worker have it, now."""
        self._move(entry[0], lambda to: to.xadd(self._queue.stream, dict(entry[1])))

    def bury(self, entry: Entry, reason: str) -> None:
        """Set it aside for a person to look at."""
        fields = {**entry[1], b"reason": reason.encode(), b"entry_id": entry[0]}
        self._move(entry[0], lambda to: to.xadd(self._queue.dead, fields, maxlen=MOST_DEAD))

    def _move(self, entry_id: bytes, add: Callable[[Any], object]) -> None:
        moving = self._client.pipeline(transaction=True)
        add(moving)
        moving.xack(*self._place, entry_id)
        moving.execute()

    def remove_consumers(self, name: str = "") -> None:
        """Those of processes that are gone, and the one of this name."""
        idle = int(self._queue.gone_seconds * 1000)
        self._client.eval(_REMOVE_CONSUMERS, 1, *self._place, name, idle)


def _texts(fields: Fields) -> dict[str, str] | None:
    """The fields of an entry, or None if they are not all UTF-8."""
    try:
        return {name.decode(): value.decode() for name, value in fields.items()}
    except UnicodeDecodeError:
        return None


def _group_is_gone(error: redis.ResponseError) -> bool:
    return str(error).startswith(("NOGROUP", "UNBLOCKED", "no such key"))
