"""The bus of an installation with one process: hints cross threads and event loops only."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

from paca.bus.base import (
    CommittedBatch,
    ConversationSignal,
    EventsCommitted,
    Hint,
    LiveFrame,
    Signal,
    TriggerDue,
    TriggerHandler,
)
from paca.bus.listener import Listener


class MemoryBus:
    """Implements ``bus.base.Bus`` inside one process. There are no external triggers and no event mirror."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._listeners: tuple[Listener, ...] = ()

    def wake(self, trigger_id: UUID, facts: Mapping[str, str] | None = None) -> None:
        """Tell every worker that a trigger is due."""
        self._publish(TriggerDue(trigger_id))

    def announce(self, topic: str, seq: int, batch: CommittedBatch | None = None) -> None:
        """Tell all listeners that rows up to ``seq`` are committed."""
        self._publish(EventsCommitted(topic, seq))

    def live(self, topic: str, frame: dict[str, Any]) -> None:
        """Send a frame that is never stored to the viewers of a topic."""
        self._publish(LiveFrame(topic, frame))

    def signal(self, conversation_id: UUID, signal: Signal = Signal.INBOX) -> None:
        """Send a signal to the worker that holds the conversation."""
        self._publish(ConversationSignal(conversation_id, signal))

    @asynccontextmanager
    async def listen(
        self, kinds: tuple[type[Hint], ...], deliver: Callable[[Hint], None]
    ) -> AsyncIterator[None]:
        """Call ``deliver`` in the running loop with each hint of these kinds until the block ends."""
        listener = Listener(kinds, deliver, asyncio.get_running_loop())
        with self._lock:
            self._listeners = (*self._listeners, listener)
        try:
            yield
        finally:
            self._forget(listener)

    @asynccontextmanager
    async def consume_triggers(
        self, deliver: Callable[[Hint], None], handler: TriggerHandler
    ) -> AsyncIterator[None]:
        """Deliver every trigger to every worker. The handler is never called: nothing comes from outside."""
        async with self.listen((TriggerDue,), deliver):
            yield

    def _publish(self, hint: Hint) -> None:
        for listener in self._listeners:  # no lock: the tuple is replaced and never changed
            if not listener.offer(hint):
                self._forget(listener)

    def _forget(self, listener: Listener) -> None:
        listener.closed = True
        with self._lock:
            self._listeners = tuple(other for other in self._listeners if other is not listener)
