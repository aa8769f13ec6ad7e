"""Sends what this process publishes: in order, in batches, without the publisher ever waiting."""

import logging
import threading
from collections import deque
from dataclasses import dataclass

import redis

from paca.bus.redis.connection import Link

logger = logging.getLogger(__name__)

Command = tuple[str | bytes | int, ...]

MOST_WAITING = 10_000
MOST_WAITING_BYTES = 32 * 1024 * 1024
BATCH = 500
IDLE_SECONDS = 1.0


@dataclass(slots=True)
class _Waiting:
    """A command that waits to be sent; ``place`` is where a newer one like it would look for it."""

    command: Command
    size: int
    place: tuple[str, str] | None = None
    seq: int = 0


class Outbox:
    """What waits to be sent. While Redis is away the newest is kept, and the memory bounded."""

    def __init__(self) -> None:
        self._waiting: deque[_Waiting] = deque()
        self._newest: dict[str, dict[str, _Waiting]] = {}
        self._size = 0
        self._dropped = 0
        self._changed = threading.Condition()

    def put(self, command: Command, *, topic: str = "") -> None:
        """Send this after all that waits; announcements of ``topic`` may not cross it."""
        with self._changed:
            self._newest.pop(topic, None)
            self._append(_Waiting(command, _size(command)))

    def put_newest(self, topic: str, kind: str, seq: int, command: Command) -> None:
        """Send this, or instead of one of the same kind that waits still, if that is no newer."""
        with self._changed:
            same = self._newest.setdefault(topic, {})
            if (waiting := same.get(kind)) is not None:
                if waiting.seq < seq:  # two commits may tell of themselves in the other order
                    waiting.command, waiting.seq = command, seq
                return
            same[kind] = _Waiting(command, _size(command), (topic, kind), seq)
            self._append(same[kind])

    def take(self, seconds: float) -> list[Command]:
        """What is to be sent next; waits so long for something."""
        with self._changed:
            if not self._waiting:
                self._changed.wait(seconds)
            taken = [self._pop().command for _ in range(min(BATCH, len(self._waiting)))]
            if taken and self._dropped:
                logger.warning("hints were dropped", extra={"count": self._dropped})
                self._dropped = 0
            return taken

    def stir(self) -> None:
        """End the waiting of whoever takes."""
        with self._changed:
            self._changed.notify()

    def __len__(self) -> int:
        return len(self._waiting)

    def _append(self, waiting: _Waiting) -> None:
        self._waiting.append(waiting)
        self._size += waiting.size
        while len(self._waiting) > MOST_WAITING or self._size > MOST_WAITING_BYTES:
            self._pop()
            self._dropped += 1
        self._changed.notify()

    def _pop(self) -> _Waiting:
        oldest = self._waiting.popleft()
        self._size -= oldest.size
        if oldest.place is not None:
            topic, kind = oldest.place
            same = self._newest.get(topic, {})
            if same.get(kind) is oldest:
                del same[kind]
                if not same:
                    del self._newest[topic]
        return oldest


class Publisher(Link):
    """Empties the outbox. What Redis may not have got is sent again: every hint can be heard twice."""

    def __init__(self, url: str) -> None:
        super().__init__(url, name="publisher")
        self.outbox = Outbox()
        self._unsent: list[Command] = []

    def session(self, client: redis.Redis) -> None:
        """Send what waits; once it is over, what waits still."""
        while True:
            batch = self._unsent or self.outbox.take(IDLE_SECONDS)
            self._unsent = []
            if batch:
                self._send(client, batch)
                self.well()
            elif self.over.is_set():
                return

    def end(self) -> None:
        """Send what waits, if Redis is there, and be done."""
        self.over.set()
        self.outbox.stir()

    def _send(self, client: redis.Redis, batch: list[Command]) -> None:
        pipeline = client.pipeline(transaction=False)
        for command in batch:
            pipeline.execute_command(*command)  # type: ignore[no-untyped-call]
        try:
            answers = pipeline.execute(raise_on_error=False)
        except (redis.RedisError, OSError):
            self._unsent = batch
            raise
        for answer in answers:
            if isinstance(answer, redis.ConnectionError | redis.exceptions.ReadOnlyError):
                self._unsent = batch
                raise answer  # it loads its data, or another server has taken over
            if isinstance(answer, redis.RedisError):
                logger.warning("Redis refused a hint", extra={"cause": str(answer)})


def _size(command: Command) -> int:
    return sum(len(part) for part in command if isinstance(part, str | bytes))
