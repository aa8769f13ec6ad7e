"""The bus of one process: hints cross threads and event loops, and nothing else."""

import asyncio
import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any
from uuid import UUID

from paca.bus.base import Announced, Hint, Shown, Signal, Signalled, Woken

logger = logging.getLogger(__name__)

# A loop that stands still must not make the others pay. What is dropped is a hint: rows are found
# without it, and live text is replaced by its stored message.
MOST_WAITING = 10_000


class _Listener:
    """One subscriber: what waits for its loop, and whether the loop has been told."""

    def __init__(
        self,
        kinds: tuple[type[Hint], ...],
        deliver: Callable[[Hint], None],
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self.kinds = kinds
        self.closed = False
        self._deliver = deliver
        self._loop = loop
        self._lock = threading.Lock()
        self._waiting: list[Hint] = []
        # Where the latest announcement of a topic waits, unless a live frame of it came after.
        self._announced_at: dict[str, int] = {}
        self._dropped = 0

    def offer(self, hint: Hint) -> bool:
        """Leave a hint for the loop; False when the loop is gone."""
        with self._lock:
            if self._coalesced(hint):
                return True
            if len(self._waiting) >= MOST_WAITING:
                self._drop()
                return True
            self._remember(hint)
            self._waiting.append(hint)
            if len(self._waiting) > 1:
                return True  # the loop has been told of the first and takes all at once
        return self._tell()

    def _tell(self) -> bool:
        try:
            self._loop.call_soon_threadsafe(self._take_all)
        except RuntimeError:  # the loop is closed
            return False
        return True

    def _coalesced(self, hint: Hint) -> bool:
        """Of a burst of announcements only the highest number matters."""
        if not isinstance(hint, Announced):
            return False
        place = self._announced_at.get(hint.topic)
        if place is None:
            return False
        waiting = self._waiting[place]
        if isinstance(waiting, Announced) and waiting.seq < hint.seq:
            self._waiting[place] = hint
        return True

    def _remember(self, hint: Hint) -> None:
        if isinstance(hint, Announced):
            self._announced_at[hint.topic] = len(self._waiting)
        elif isinstance(hint, Shown):
            self._announced_at.pop(hint.topic, None)

    def _drop(self) -> None:
        self._dropped += 1
        if self._dropped == 1:
            logger.warning("a listener of the bus does not keep up; hints are dropped")

    def _take_all(self) -> None:
        with self._lock:
            hints, self._waiting = self._waiting, []
            self._announced_at.clear()
            self._dropped = 0
        for hint in hints:
            # Each in a callback of its own: one that raises is reported by the loop and stops no other.
            self._loop.call_soon(self._hand_over, hint)

    def _hand_over(self, hint: Hint) -> None:
        if not self.closed:
            self._deliver(hint)


class MemoryBus:
    """Satisfies ``bus.base.Bus`` inside one process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._listeners: tuple[_Listener, ...] = ()

    def wake(self, trigger_id: UUID) -> None:
        """Tell the workers that a trigger is due."""
        self._publish(Woken(trigger_id))

    def announce(self, topic: str, seq: int) -> None:
        """Tell the viewers of a topic that rows up to ``seq`` are committed."""
        self._publish(Announced(topic, seq))

    def live(self, topic: str, frame: dict[str, Any]) -> None:
        """Show a frame that is never stored to the viewers of a topic."""
        self._publish(Shown(topic, frame))

    def signal(self, conversation_id: UUID, what: Signal = Signal.INBOX) -> None:
        """Tell whichever worker holds the conversation to look."""
        self._publish(Signalled(conversation_id, what))

    def listen(
        self, kinds: tuple[type[Hint], ...], deliver: Callable[[Hint], None]
    ) -> AbstractContextManager[None]:
        """Call ``deliver`` in the running loop with each hint of these kinds until the block ends."""
        return self._listening(_Listener(kinds, deliver, asyncio.get_running_loop()))

    @contextmanager
    def _listening(self, listener: _Listener) -> Iterator[None]:
        with self._lock:
            self._listeners = (*self._listeners, listener)
        try:
            yield
        finally:
            self._forget(listener)

    def _publish(self, hint: Hint) -> None:
        for listener in self._listeners:  # the tuple is replaced, never changed: no lock to read it
            if isinstance(hint, listener.kinds) and not listener.offer(hint):
                self._forget(listener)

    def _forget(self, listener: _Listener) -> None:
        listener.closed = True
        with self._lock:
            self._listeners = tuple(other for other in self._listeners if other is not listener)
