"""Bounds the memory of Paca's streams in Redis, so that they leave room for entries of other programs."""

import logging
from collections import Counter
from dataclasses import dataclass

import redis

from paca.bus.redis import names

logger = logging.getLogger(__name__)

MIB = 1024 * 1024
SAMPLES = 100  # parts of a stream that Redis measures to estimate its size
# A stream is measured when it has grown by this part of its bound since it was measured last.
CHECKED_PART = 16
# Each attempt is an estimate: entries differ in size.
ATTEMPTS = 5
DEAD_KEPT_SECONDS = 30 * 24 * 3600


@dataclass(frozen=True, slots=True)
class Bound:
    """At most this many bytes, and at most one of ``parts`` of Redis's maxmemory, if it has one."""

    max_bytes: int
    parts: int

    def within(self, maxmemory: int) -> int:
        """The bound in bytes in a Redis with this maxmemory; 0: it has none."""
        return min(self.max_bytes, maxmemory // self.parts) if maxmemory else self.max_bytes


BOUNDS = {
    names.EVENTS: Bound(64 * MIB, 4),
    names.TRIGGERS: Bound(64 * MIB, 4),
    names.DEAD_TRIGGERS: Bound(16 * MIB, 16),
    names.TRIGGER_RESULTS: Bound(8 * MIB, 16),
}


class StreamBounds:
    """Keeps the streams of one connection within their bounds. Each method raises
    ``redis.ConnectionError`` or ``redis.TimeoutError`` if Redis is away.
    """

    def __init__(self, client: redis.Redis) -> None:
        self._client = client
        self._maxmemory: int | None = None
        self._grown: Counter[str] = Counter()

    def note_growth(self, stream: str, size: int) -> None:
        """The stream has grown by ``size`` bytes. Trim it if it may have passed its bound."""
        if self._maxmemory is None:
            self._read_maxmemory()
            self.trim(stream)
        self._grown[stream] += size
        if self._grown[stream] * CHECKED_PART >= self._limit(stream):
            self._read_maxmemory()
            self.trim(stream)

    def trim(self, stream: str) -> None:
        """Remove the oldest entries of the stream until it is within its bound."""
        self._grown[stream] = 0
        try:
            for _ in range(ATTEMPTS):
                used = self._client.memory_usage(stream, samples=SAMPLES) or 0
                if used <= self._limit(stream):
                    return
                kept = int(self._client.xlen(stream) * self._limit(stream) / used * 0.9)
                self._client.xtrim(stream, maxlen=kept, approximate=False)
        except redis.ResponseError as error:  # this user of Redis may not measure or trim
            logger.warning("a stream is not bounded", extra={"key": stream, "cause": str(error)})

    def exceeds(self, stream: str, *, part: float = 1.0) -> bool:
        """Whether the stream is larger than this part of its bound; False if Redis does not tell."""
        self._read_maxmemory()
        try:
            used = self._client.memory_usage(stream, samples=SAMPLES) or 0
        except redis.ResponseError:
            return False
        return bool(used > part * self._limit(stream))

    def remove_old_dead_triggers(self) -> None:
        """Remove refused entries that nobody has looked at for a month: they hold texts of people."""
        try:
            seconds, _ = self._client.time()
            oldest = f"{(int(seconds) - DEAD_KEPT_SECONDS) * 1000}-0"
            self._client.xtrim(names.DEAD_TRIGGERS, minid=oldest, approximate=False)
        except redis.ResponseError as error:
            logger.warning("refused entries are not trimmed", extra={"cause": str(error)})

    def _limit(self, stream: str) -> int:
        return BOUNDS[stream].within(self._maxmemory or 0)

    def _read_maxmemory(self) -> None:
        try:
            self._maxmemory = int(self._client.info("memory").get("maxmemory", 0))
        except redis.ResponseError:  # a hosted Redis may not tell
            self._maxmemory = 0
