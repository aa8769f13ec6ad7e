"""One who listens to a bus: hints cross from any thread into its event loop."""

import asyncio
import logging
import threading
from collections.abc import Callable

from paca.bus.base import EventsCommitted, Hint, LiveFrame

logger = logging.getLogger(__name__)

# A loop that stands still must not make the others pay. What is dropped is a hint: rows are found
# without it, and live text is replaced by its stored message.
MOST_WAITING = 10_000


class Listener:
    """Any thread may offer it hints; they are delivered in its own loop, bursts coalesced."""

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
        if not isinstance(hint, self.kinds):
            return True
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
        if not isinstance(hint, EventsCommitted):
            return False
        place = self._announced_at.get(hint.topic)
        if place is None:
            return False
        waiting = self._waiting[place]
        if isinstance(waiting, EventsCommitted) and waiting.seq < hint.seq:
            self._waiting[place] = hint
        return True

    def _remember(self, hint: Hint) -> None:
        if isinstance(hint, EventsCommitted):
            self._announced_at[hint.topic] = len(self._waiting)
        elif isinstance(hint, LiveFrame):
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
