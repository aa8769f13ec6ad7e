"""The commands with which one consumer of a group reads a Redis stream."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import redis

Fields = dict[bytes, bytes]
Entry = tuple[bytes, Fields]

BLOCK_SECONDS = 1.0  # well below the time after which an answer counts as lost
MAX_PEEKED = 100
MAX_DEAD = 10_000

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
    consumer: str
    abandoned_seconds: float = 5.0
    gone_seconds: float = 600.0


class ConsumerGroup:
    """Reads the stream as its consumer. Each method raises ``redis.RedisError`` if Redis fails."""

    def __init__(self, client: redis.Redis, settings: ConsumerSettings) -> None:
        self._client = client
        self._settings = settings
        self._stream_and_group = (settings.stream, settings.group)

    def create(self) -> None:
        """Create the group if it is missing. It starts at the beginning of the stream, so that entries
        which waited for a lost group are read.
        """
        try:
            self._client.xgroup_create(*self._stream_and_group, id="0", mkstream=True)
        except redis.ResponseError as error:
            if not str(error).startswith("BUSYGROUP"):
                raise

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

    def acknowledge(self, entry_id: bytes) -> None:
        """Mark the entry as done."""
        self._client.xack(*self._stream_and_group, entry_id)

    def requeue(self, entry: Entry) -> None:
        """Add the entry to the end of the stream, so that another worker reads it now."""
        self._move(entry[0], lambda to: to.xadd(self._settings.stream, dict(entry[1])))

    def move_to_dead(self, entry: Entry, reason: str) -> None:
        """Move the entry, with the reason, to the stream of dead triggers for a person to look at."""
        fields = {**entry[1], b"reason": reason.encode(), b"entry_id": entry[0]}
        self._move(entry[0], lambda to: to.xadd(self._settings.dead, fields, maxlen=MAX_DEAD))

    def _move(self, entry_id: bytes, add: Callable[[Any], object]) -> None:
        move = self._client.pipeline(transaction=True)
        add(move)
        move.xack(*self._stream_and_group, entry_id)
        move.execute()

    def remove_idle_consumers(self) -> None:
        """Remove the consumers of processes that are gone."""
        self._remove_consumers(name="")

    def leave(self) -> None:
        """Remove this consumer, if it has no entries, and those of processes that are gone."""
        self._remove_consumers(name=self._settings.consumer)

    def _remove_consumers(self, *, name: str) -> None:
        idle = int(self._settings.gone_seconds * 1000)
        self._client.eval(_REMOVE_CONSUMERS, 1, *self._stream_and_group, name, idle)
