"""A hub in each web process: it hears the bus once, reads each new row once, and serves all pages."""

import asyncio
import functools
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any
from uuid import UUID

from paca.bus.base import (
    Bus,
    EventsCommitted,
    Hint,
    HintsLost,
    LiveFrame,
    Signal,
    conversation_topic,
)
from paca.common.best_effort import tolerated
from paca.realtime.handshake import Scope
from paca.realtime.recent_events import RecentRows, Row

Hear = Callable[[EventsCommitted | LiveFrame | HintsLost], None]
NewestOf = Callable[[list[UUID]], Awaitable[dict[UUID, int]]]
RowsAfter = Callable[[UUID, int, int], Awaitable[list[Row]]]

# One query for all that is watched here. It is what viewers live on while Redis is away.
SWEEP_SECONDS = 1.0
SAY_AGAIN_SECONDS = 0.1
MOST_SOCKETS_OF_A_PERSON = 20


class TooManySockets(Exception):
    """This person has as many sockets open as one may have."""


class Relay:
    """Topic -> who listens. Lives in the loop of the web server and is started by its lifespan."""

    def __init__(
        self,
        bus: Bus,
        newest_of: NewestOf,
        rows_after: RowsAfter,
        *,
        sweep_seconds: float = SWEEP_SECONDS,
    ) -> None:
        """Both ask the database: ``newest_of`` for the last number of each conversation,
        ``rows_after`` for the rows of one above a number, so many at most.
        """
        self._bus = bus
        self._newest_of = newest_of
        self._rows_after = rows_after
        self._sweep_seconds = sweep_seconds
        self._audience: defaultdict[str, dict[int, Hear]] = defaultdict(dict)
        self._watched: Counter[UUID] = Counter()
        self._recent: dict[UUID, RecentRows] = {}
        self._seats: Counter[UUID] = Counter()
        self._just_asked: dict[UUID, bool] = {}
        self._next_key = 0
        self._sweep_now = asyncio.Event()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Hear the bus until the block ends."""
        with self._bus.listen((EventsCommitted, LiveFrame, HintsLost), self._hand_out):
            sweeper = asyncio.create_task(self._sweep(), name="relay sweeper")
            try:
                yield
            finally:
                sweeper.cancel()
                await asyncio.gather(sweeper, return_exceptions=True)

    @contextmanager
    def join(self, topic: str, hear: Hear) -> Iterator[None]:
        """Hand each hint of the topic to ``hear``, which must not block."""
        key = self._next_key = self._next_key + 1
        self._audience[topic][key] = hear
        try:
            yield
        finally:
            del self._audience[topic][key]
            if not self._audience[topic]:
                del self._audience[topic]

    @contextmanager
    def watch(self, conversation_id: UUID, hear: Hear) -> Iterator[None]:
        """Join a conversation's topic, with the sweep as a net under lost hints."""
        self._watched[conversation_id] += 1
        try:
            with self.join(conversation_topic(conversation_id), hear):
                yield
        finally:
            _leave(self._watched, conversation_id)
            if conversation_id not in self._watched:
                self._recent.pop(conversation_id, None)

    async def rows_after(self, conversation_id: UUID, after: int, most: int) -> list[Row]:
        """Rows above ``after``, in order, so many at most and none only at the end, for a watcher."""
        recent = self._recent.get(conversation_id)
        if recent is None:
            read = functools.partial(self._rows_after, conversation_id)
            recent = self._recent[conversation_id] = RecentRows(read)
        return await recent.after(after, most)

    @contextmanager
    def seat(self, user_id: UUID) -> Iterator[None]:
        """Count this socket as the person's. Raises ``TooManySockets``."""
        if self._seats[user_id] >= MOST_SOCKETS_OF_A_PERSON:
            raise TooManySockets
        self._seats[user_id] += 1
        try:
            yield
        finally:
            _leave(self._seats, user_id)

    def say_again(self, conversation_id: UUID) -> None:
        """Ask the worker for the text streamed so far; of many who ask at once, one is heard."""
        if conversation_id in self._just_asked:
            self._just_asked[conversation_id] = True
            return
        self._just_asked[conversation_id] = False
        self._bus.signal(conversation_id, Signal.ATTACH)
        loop = asyncio.get_running_loop()
        loop.call_later(SAY_AGAIN_SECONDS, self._may_ask_again, conversation_id)

    def _may_ask_again(self, conversation_id: UUID) -> None:
        # Whoever asked meanwhile may have come too late for the first answer.
        if self._just_asked.pop(conversation_id):
            self.say_again(conversation_id)

    def _hand_out(self, hint: Hint) -> None:
        if isinstance(hint, HintsLost):
            self._sweep_now.set()
            topics = list(self._audience)
        else:
            assert isinstance(
                hint, EventsCommitted | LiveFrame
            )  # the kinds asked for in ``running``
            topics = [hint.topic]
        for topic in topics:
            for hear in tuple(self._audience.get(topic, {}).values()):
                hear(hint)

    async def _sweep(self) -> None:
        """Announce what the database has: a hint that was lost costs seconds, not the event."""
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._sweep_seconds):
                    await self._sweep_now.wait()
            self._sweep_now.clear()
            if not self._watched:
                continue
            with tolerated("relay sweep"):
                newest = await self._newest_of(list(self._watched))
                for conversation_id, seq in newest.items():
                    self._check_recent(conversation_id, seq)
                    self._hand_out(EventsCommitted(conversation_topic(conversation_id), seq))

    def _check_recent(self, conversation_id: UUID, newest: int) -> None:
        """Forget rows that the database does not have: the log came back from a backup.

        Or they are newer than its answer. They are read once more then, and that is all.
        """
        recent = self._recent.get(conversation_id)
        if recent is not None and recent.end > newest:
            del self._recent[conversation_id]


def _leave(counter: Counter[UUID], key: UUID) -> None:
    counter[key] -= 1
    if not counter[key]:
        del counter[key]


class Lifespan:
    """The ASGI lifespan: sockets find the running relay in ``scope["state"]["relay"]``."""

    def __init__(self, make_relay: Callable[[], Relay]) -> None:
        self.make_relay = make_relay

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        await receive()
        relay = self.make_relay()
        async with relay.running():
            scope["state"]["relay"] = relay
            await send({"type": "lifespan.startup.complete"})
            await receive()
        await send({"type": "lifespan.shutdown.complete"})
