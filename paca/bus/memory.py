"""The bus of one process: hints cross threads and event loops, and nothing else."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
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
    """Satisfies ``bus.base.Bus`` inside one process: nobody else asks for work, nobody reads along."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._listeners: tuple[Listener, ...] = ()

    def wake(self, trigger_id: UUID, facts: Mapping[str, str] | None = None) -> None:
        """Tell the workers that a trigger is due."""
        self._publish(TriggerDue(trigger_id))

    def announce(self, topic: str, seq: int, batch: CommittedBatch | None = None) -> None:
        """Tell the viewers of a topic that rows up to ``seq`` are committed."""
        self._publish(EventsCommitted(topic, seq))

    def live(self, topic: str, frame: dict[str, Any]) -> None:
        """Show a frame that is never stored to the viewers of a topic."""
        self._publish(LiveFrame(topic, frame))

    def signal(self, conversation_id: UUID, signal: Signal = Signal.INBOX) -> None:
        """Tell whichever worker holds the conversation to look."""
        self._publish(ConversationSignal(conversation_id, signal))

    def listen(
        self, kinds: tuple[type[Hint], ...], deliver: Callable[[Hint], None]
    ) -> AbstractContextManager[None]:
        """Call ``deliver`` in the running loop with each hint of these kinds until the block ends."""
        return self._listening(Listener(kinds, deliver, asyncio.get_running_loop()))

    @asynccontextmanager
    async def consume_triggers(
        self, deliver: Callable[[Hint], None], handler: TriggerHandler
    ) -> AsyncIterator[None]:
        """Hear of every trigger: the workers of one process look into one database."""
        with self.listen((TriggerDue,), deliver):
            yield

    @contextmanager
    def _listening(self, listener: Listener) -> Iterator[None]:
        with self._lock:
            self._listeners = (*self._listeners, listener)
        try:
            yield
        finally:
            self._forget(listener)

    def _publish(self, hint: Hint) -> None:
        for listener in self._listeners:  # the tuple is replaced, never changed: no lock to read it
            if not listener.offer(hint):
                self._forget(listener)

    def _forget(self, listener: Listener) -> None:
        listener.closed = True
        with self._lock:
            self._listeners = tuple(other for other in self._listeners if other is not listener)
