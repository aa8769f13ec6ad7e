"""Sends the hints of this process in order and in batches. Publishing code never waits for Redis."""

import logging
import threading
from collections import deque
from dataclasses import dataclass

import redis

from paca.bus.redis import names
from paca.bus.redis.connection import ConnectionThread
from paca.bus.redis.stream_bounds import StreamBounds

logger = logging.getLogger(__name__)

Command = tuple[str | bytes | int, ...]

MAX_PENDING = 10_000
MAX_PENDING_BYTES = 32 * 1024 * 1024
MAX_BATCH = 500
MAX_BATCH_BYTES = 1024 * 1024  # the mirror is trimmed after each batch
IDLE_SECONDS = 1.0
# What a commit announces waits so long for more. Sent at once, it would take the interpreter from the run
# that has just committed and now asks its model, and a commit of a run announces several things.
LINGER_SECONDS = 0.003
MIRRORED = ("XADD", names.EVENTS)  # the first parts of a command that adds to the mirror


@dataclass(slots=True)
class _PendingCommand:
    """A command that waits to be sent.

    ``key`` (topic, kind) is set if a newer command may replace this one.
    """

    command: Command
    size: int
    key: tuple[str, str] | None = None
    seq: int = 0


class Outbox:
    """The commands that wait to be sent. While Redis is away the newest ones are kept, up to a bound."""

    def __init__(self) -> None:
        self._pending: deque[_PendingCommand] = deque()
        self._newest: dict[str, dict[str, _PendingCommand]] = {}
        self._size = 0
        self._dropped = 0
        self._is_urgent = False
        self._changed = threading.Condition()

    def put(self, command: Command, *, topic: str = "", urgent: bool = False) -> None:
        """Send this after all that waits. Later announcements of ``topic`` do not overtake it.

        An urgent command waits for no others, and neither do those before it.
        """
        with self._changed:
            self._newest.pop(topic, None)
            self._append(_PendingCommand(command, _size(command)), urgent=urgent)

    def put_newest(self, topic: str, kind: str, seq: int, command: Command) -> None:
        """Send this, or replace a pending command of the same topic and kind with a lower ``seq``."""
        with self._changed:
            pending_of_topic = self._newest.setdefault(topic, {})
            if (pending := pending_of_topic.get(kind)) is not None:
                if pending.seq < seq:  # two commits may publish in the other order
                    pending.command, pending.seq = command, seq
                return
            pending_of_topic[kind] = _PendingCommand(command, _size(command), (topic, kind), seq)
            self._append(pending_of_topic[kind])

    def take(self, seconds: float) -> list[Command]:
        """Take the next batch; wait at most so long for its first command."""
        with self._changed:
            if not self._pending:
                self._changed.wait(seconds)
            if self._pending and not self._is_urgent:
                self._changed.wait(LINGER_SECONDS)
            self._is_urgent = False
            taken = self._take_batch()
            if taken and self._dropped:
                logger.warning("hints were dropped", extra={"count": self._dropped})
                self._dropped = 0
            return taken

    def _take_batch(self) -> list[Command]:
        taken: list[Command] = []
        size = 0
        while self._pending and len(taken) < MAX_BATCH and size < MAX_BATCH_BYTES:
            size += self._pending[0].size
            taken.append(self._pop().command)
        return taken

    def stop_waiting(self) -> None:
        """Let a ``take`` that waits return at once."""
        with self._changed:
            self._is_urgent = True
            self._changed.notify()

    def __len__(self) -> int:
        return len(self._pending)

    def _append(self, pending: _PendingCommand, *, urgent: bool = False) -> None:
        was_empty = not self._pending
        self._pending.append(pending)
        self._size += pending.size
        while len(self._pending) > MAX_PENDING or self._size > MAX_PENDING_BYTES:
            self._pop()
            self._dropped += 1
        self._is_urgent = self._is_urgent or urgent
        if was_empty or urgent:
            self._changed.notify()

    def _pop(self) -> _PendingCommand:
        oldest = self._pending.popleft()
        self._size -= oldest.size
        if oldest.key is not None:
            topic, kind = oldest.key
            pending_of_topic = self._newest.get(topic, {})
            if pending_of_topic.get(kind) is oldest:
                del pending_of_topic[kind]
                if not pending_of_topic:
                    del self._newest[topic]
        return oldest


class Publisher(ConnectionThread):
    """Sends the outbox. A batch that Redis may not have got is sent again: a hint may arrive twice."""

    def __init__(self, url: str) -> None:
        super().__init__(url, name="publisher")
        self.outbox = Outbox()
        self._unsent: list[Command] = []
        self._is_refused = False

    def session(self, client: redis.Redis) -> None:
        """Send what waits. After ``stop``, end as soon as the outbox is empty."""
        bounds = StreamBounds(client)
        while True:
            batch = self._unsent or self.outbox.take(IDLE_SECONDS)
            self._unsent = []
            if batch:
                self._send(client, batch)
                self.report_connected()
                if size := sum(_size(each) for each in batch if each[:2] == MIRRORED):
                    bounds.note_growth(names.EVENTS, size)
            elif self.stopping.is_set():
                return

    def stop(self) -> None:
        """End the thread as soon as the outbox is sent, or at once if Redis is away."""
        self.stopping.set()
        self.outbox.stop_waiting()

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
                raise answer  # Redis is loading its data, or another server has taken over
        for command, answer in zip(batch, answers, strict=True):
            self._report_refusal(command, answer)

    def _report_refusal(self, command: Command, answer: object) -> None:
        """Log the first refusal of a series: a Redis that is full refuses every entry for a while."""
        if isinstance(answer, redis.RedisError):
            if not self._is_refused:
                facts = {"command": command[0], "cause": str(answer)}
                logger.warning(
                    "Redis refuses hints; work goes on, up to two seconds late", extra=facts
                )
            self._is_refused = True
        elif command[0] != "PUBLISH":  # which a Redis that is full accepts
            self._is_refused = False


def _size(command: Command) -> int:
    """The size of a command's texts, in characters or bytes."""
    return sum(len(part) for part in command if isinstance(part, str | bytes))
