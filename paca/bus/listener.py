"""A listener of a bus: takes hints from any thread into its own event loop."""

import asyncio
import logging
import threading
from collections.abc import Callable

from paca.bus.base import EventsCommitted, Hint, LiveFrame

logger = logging.getLogger(__name__)

# An event loop that does not run must not cost the publishers memory without bound. Only hints are
# dropped: rows are found without them, and live text is replaced by its stored message.
MAX_PENDING = 10_000


class Listener:
    """Any thread may offer hints. They are delivered in the listener's loop, with bursts coalesced."""

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
        self._pending: list[Hint] = []
        # The index in `_pending` of a topic's latest announcement, unless a live frame followed it.
        self._announced_at: dict[str, int] = {}
        self._dropped = 0

    def offer(self, hint: Hint) -> bool:
        """Queue a hint for the loop. False if the loop is closed."""
        if not isinstance(hint, self.kinds):
            return True
        with self._lock:
            if self._coalesce(hint):
                return True
            if len(self._pending) >= MAX_PENDING:
                self._count_dropped()
                return True
            self._note_announcement(hint)
            self._pending.append(hint)
            if len(self._pending) > 1:
                return True  # the delivery is already scheduled, and it takes all pending hints
        return self._schedule_delivery()

    def _schedule_delivery(self) -> bool:
        try:
            self._loop.call_soon_threadsafe(self._deliver_all)
        except RuntimeError:  # the loop is closed
            return False
        return True

    def _coalesce(self, hint: Hint) -> bool:
        """Merge an announcement into a pending one of its topic: only the highest number matters."""
        if not isinstance(hint, EventsCommitted):
            return False
        index = self._announced_at.get(hint.topic)
        if index is None:
            return False
        pending = self._pending[index]
        if isinstance(pending, EventsCommitted) and pending.seq < hint.seq:
            self._pending[index] = hint
        return True

    def _note_announcement(self, hint: Hint) -> None:
        if isinstance(hint, EventsCommitted):
            self._announced_at[hint.topic] = len(self._pending)
        elif isinstance(hint, LiveFrame):
            self._announced_at.pop(hint.topic, None)

    def _count_dropped(self) -> None:
        self._dropped += 1
        if self._dropped == 1:
            logger.warning("a listener of the bus does not keep up; hints are dropped")

    def _deliver_all(self) -> None:
        with self._lock:
            hints, self._pending = self._pending, []
            self._announced_at.clear()
            self._dropped = 0
        for hint in hints:
            # Each hint has its own callback: the loop reports one that raises, and the others run.
            self._loop.call_soon(self._deliver_one, hint)

    def _deliver_one(self, hint: Hint) -> None:
        if not self.closed:
            self._deliver(hint)
