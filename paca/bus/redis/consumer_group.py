"""The commands with which one consumer of a group reads a Redis stream."""

import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import redis

from paca.bus.redis.stream_bounds import StreamBounds
from paca.common.text import to_utf8

logger = logging.getLogger(__name__)

Fields = dict[bytes, bytes]
Entry = tuple[bytes, Fields]

BLOCK_SECONDS = 1.0  # well below the time after which an answer counts as lost
MAX_PEEKED = 100
MAX_DEAD = 10_000
MAX_RESULTS = 10_000
# A refused entry that is larger than this keeps only the start of its long fields.
MAX_DEAD_ENTRY_BYTES = 1024 * 1024
CUT_FIELD_BYTES = 4096
# Set on an entry that was added to the stream again: the id under which its program knows it.
FIRST_ENTRY_ID = b"first_entry_id"
ENTRY_ID = re.compile(rb"\d{1,20}-\d{1,20}")
CROWDED_PART = 0.5  # of the bound of the stream

# One script, so that an entry is either unacknowledged or gone. Another consumer group, of another
# program, may still have to read it; then it is trimmed when that group has.
_REMOVE = """
redis.call('XACK', KEYS[1], ARGV[1], ARGV[2])
local groups = redis.pcall('XINFO', 'GROUPS', KEYS[1])
if not groups.err and #groups == 1 then redis.call('XDEL', KEYS[1], ARGV[2]) end
"""

# One script, so that no entry can be delivered to a consumer between the check and its removal:
# Redis would forget that entry together with the consumer.
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
class ConsumerSettings:
    """The names in Redis that one consumer uses, and two idle times of consumers.

    After ``abandoned_seconds`` another consumer may claim an idle consumer's entries. After
    ``gone_seconds`` an idle consumer without entries is removed.
    """

    stream: str
    group: str
    dead: str
    results: str
    consumer: str
    abandoned_seconds: float = 5.0
    gone_seconds: float = 600.0


class ConsumerGroup:
    """Reads the stream as its consumer. Each method raises ``redis.RedisError`` if Redis fails."""

    def __init__(self, client: redis.Redis, settings: ConsumerSettings) -> None:
        self._client = client
        self._settings = settings
        self._stream_and_group = (settings.stream, settings.group)
        self._bounds = StreamBounds(client)

    def create(self) -> None:
        """Create the group if it is missing. It starts at the beginning of the stream, so that entries
        which waited for a lost group are read.
        """
        try:
            self._client.xgroup_create(*self._stream_and_group, id="0", mkstream=True)
        except redis.exceptions.OutOfMemoryError:
            # A Redis that is full refuses this even if there is nothing to create.
            if not self._exists():
                raise
        except redis.ResponseError as error:
            if not str(error).startswith("BUSYGROUP"):
                raise

    def _exists(self) -> bool:
        try:
            groups: Any = self._client.xinfo_groups(self._settings.stream)
        except redis.ResponseError:  # there is no stream
            return False
        return any(each["name"] == self._settings.group.encode() for each in groups)

    def read_new(self, limit: int) -> list[Entry]:
        """At most ``limit`` entries that no consumer has read. Waits up to a second for one."""
        return self._read(">", limit, block=int(BLOCK_SECONDS * 1000))

    def read_unacknowledged(self) -> list[Entry]:
        """The entries that this consumer has read and not acknowledged."""
        return self._read("0", None)

    def _read(self, after: str, limit: int | None, block: int | None = None) -> list[Entry]:
        found: Any = self._client.xreadgroup(
            self._settings.group,
            self._settings.consumer,
            {self._settings.stream: after},
            count=limit,
            block=block,
        )
        return [entry for _stream, entries in found for entry in entries]

    def claim_abandoned(self, limit: int) -> list[Entry]:
        """Take over at most ``limit`` entries that any consumer, this one included, has left unacknowledged
        for too long.
        """
        idle = int(self._settings.abandoned_seconds * 1000)
        found: Any = self._client.xautoclaim(
            *self._stream_and_group, self._settings.consumer, min_idle_time=idle, count=limit
        )
        return [entry for entry in found[1] if entry[0] is not None]

    def last_delivered_id(self) -> bytes:
        """The id of the newest entry that a consumer of the group has read."""
        groups: Any = self._client.xinfo_groups(self._settings.stream)
        ours = [each for each in groups if each["name"] == self._settings.group.encode()]
        return bytes(ours[0]["last-delivered-id"]) if ours else b"0"

    def peek(self, entry_id: bytes) -> list[Entry]:
        """The entries after this one, without taking them."""
        after = b"(" + entry_id
        found: Any = self._client.xrange(self._settings.stream, min=after, count=MAX_PEEKED)
        return list(found)

    def delivery_count(self, entry_id: bytes) -> int:
        """How often the entry has been delivered, this time included."""
        found: Any = self._client.xpending_range(*self._stream_and_group, entry_id, entry_id, 1)
        return int(found[0]["times_delivered"]) if found else 1

    def keep(self, entry_ids: list[Any]) -> None:
        """Restart the idle time of these entries, so that no other consumer claims them.

        It does not count as a delivery.
        """
        consumer = self._settings.consumer
        self._client.xclaim(*self._stream_and_group, consumer, 0, entry_ids, idle=0, justid=True)

    def acknowledge(self, *entry_ids: bytes) -> None:
        """Mark the entries as done. They are removed by the next ``trim_to_unread``."""
        self._client.xack(*self._stream_and_group, *entry_ids)

    def accept(self, entry: Entry, result: Mapping[str, str]) -> None:
        """Remove the entry, whose rows are committed, and tell its program the result."""
        self._finish(entry, {self._settings.results: _encode(result)})

    def refuse(self, entry: Entry, result: Mapping[str, str]) -> None:
        """Move the entry with the reason to the dead stream, and tell its program the result."""
        reason = {b"reason": result["reason"].encode(), b"entry_id": original_id(entry).encode()}
        fields = {**_shorten(entry[1]), **reason}
        fields.pop(FIRST_ENTRY_ID, None)
        self._finish(entry, {self._settings.dead: fields, self._settings.results: _encode(result)})

    def _finish(self, entry: Entry, copies: Mapping[str, Fields]) -> None:
        """Write the copies and remove the entry.

        If Redis or the process ends in between, the entry is delivered again, and copies are written
        twice. A Redis that is full refuses the copies; then the removal makes room for them.
        """
        batch = self._client.pipeline(transaction=False)
        for stream, fields in copies.items():
            self._add_copy(batch, stream, fields)
        batch.eval(_REMOVE, 1, *self._stream_and_group, entry[0])
        *added, removed = batch.execute(raise_on_error=False)
        if isinstance(removed, redis.RedisError):
            raise removed
        for (stream, fields), answer in zip(copies.items(), added, strict=True):
            if isinstance(answer, redis.RedisError):
                self._add_copy_again(stream, fields, original_id(entry))
            self._bounds.note_growth(stream, sum(map(len, (*fields, *fields.values()))))

    def _add_copy(self, to: Any, stream: str, fields: Fields) -> None:
        to.xadd(stream, fields, maxlen=MAX_DEAD if stream == self._settings.dead else MAX_RESULTS)

    def _add_copy_again(self, stream: str, fields: Fields, entry_id: str) -> None:
        try:
            self._add_copy(self._client, stream, fields)
        except redis.ResponseError as error:
            reason = fields.get(b"reason", b"").decode()
            facts = {"key": stream, "entry": entry_id, "reason": reason, "cause": str(error)}
            logger.warning("Redis refused the outcome of an entry", extra=facts)

    def requeue(self, entry: Entry) -> None:
        """Add the entry to the end of the stream, so that another worker reads it now.

        A Redis that is full refuses that; then another worker claims the entry a little later.
        """
        fields = entry[1]
        if b"trigger_id" not in fields:  # an entry of another program
            fields = {**fields, FIRST_ENTRY_ID: original_id(entry).encode()}
        move: Any = self._client.pipeline(transaction=True)
        move.xadd(self._settings.stream, fields)
        move.eval(_REMOVE, 1, *self._stream_and_group, entry[0])
        try:
            move.execute()
        except (redis.exceptions.OutOfMemoryError, redis.exceptions.ExecAbortError) as error:
            facts = {"entry": original_id(entry), "cause": str(error)}
            logger.warning("Redis refused to requeue an entry", extra=facts)

    def trim_to_unread(self) -> None:
        """Remove the entries that no consumer group has to read any more.

        Groups of other programs are waited for until the stream is larger than its bound.
        """
        stream = self._settings.stream
        groups: Any = self._client.xinfo_groups(stream)
        if len(groups) > 1 and self._bounds.exceeds(stream):
            groups = [each for each in groups if each["name"] == self._settings.group.encode()]
        if groups:
            first = min(self._first_unread(each) for each in groups)
            self._client.xtrim(stream, minid=f"{first[0]}-{first[1]}", approximate=False)

    def is_crowded(self) -> bool:
        """Whether so many bytes wait in the stream that Redis may run out of memory."""
        return self._bounds.exceeds(self._settings.stream, part=CROWDED_PART)

    def _first_unread(self, group: Mapping[str, Any]) -> tuple[int, int]:
        """The first id that a consumer of the group may still read or acknowledge."""
        if group["pending"]:
            pending: Any = self._client.xpending(self._settings.stream, group["name"])
            if pending["min"] is not None:
                return _parse_id(pending["min"])
        last = _parse_id(group["last-delivered-id"])
        return (last[0], last[1] + 1)

    def remove_old_dead_triggers(self) -> None:
        """Remove the refused entries that are older than a month."""
        self._bounds.remove_old_dead_triggers()

    def remove_idle_consumers(self) -> None:
        """Remove the consumers of processes that are gone."""
        self._remove_consumers(name="")

    def leave(self) -> None:
        """Remove this consumer, if it has no entries, and those of processes that are gone."""
        self._remove_consumers(name=self._settings.consumer)

    def _remove_consumers(self, *, name: str) -> None:
        idle = int(self._settings.gone_seconds * 1000)
        self._client.eval(_REMOVE_CONSUMERS, 1, *self._stream_and_group, name, idle)


def original_id(entry: Entry) -> str:
    """The id that the entry had when its program added it."""
    first = entry[1].get(FIRST_ENTRY_ID, b"")
    return (first if ENTRY_ID.fullmatch(first) else entry[0]).decode()


def _shorten(fields: Fields) -> Fields:
    """The fields. Of a huge entry the long ones are cut, and ``cut`` names them."""
    if sum(map(len, fields.values())) <= MAX_DEAD_ENTRY_BYTES:
        return fields
    cut = [name for name, value in fields.items() if len(value) > CUT_FIELD_BYTES]
    shortened = {name: value[:CUT_FIELD_BYTES] for name, value in fields.items()}
    return {**shortened, b"cut": b",".join(cut)[:CUT_FIELD_BYTES]}


def _encode(fields: Mapping[str, str]) -> Fields:
    return {name.encode(): to_utf8(value) for name, value in fields.items()}


def _parse_id(entry_id: bytes) -> tuple[int, int]:
    milliseconds, _, number = entry_id.partition(b"-")
    return int(milliseconds), int(number)
