"""A hub in each web process: it hears the bus once and hands each hint to those whose topic it is."""

import asyncio
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any
from uuid import UUID

from paca.bus.base import Announced, Bus, Hint, Shown, Signal, conversation_topic
from paca.common.optional import tolerated
from paca.realtime.scope import Scope

Hear = Callable[[Announced | Shown], None]
NewestOf = Callable[[list[UUID]], Awaitable[dict[UUID, int]]]

SWEEP_SECONDS = 5.0
SAY_AGAIN_SECONDS = 0.1
MOST_SOCKETS_OF_A_PERSON = 20


class TooManySockets(Exception):
    """This person has as many sockets open as one may have."""


class Relay:
    """Topic -> who listens. Lives in the loop of the web server and is started by its lifespan."""

    def __init__(
        self, bus: Bus, newest_of: NewestOf, *, sweep_seconds: float = SWEEP_SECONDS
    ) -> None:
        """``newest_of`` reads the last number of each conversation from the database."""
        self._bus = bus
        self._newest_of = newest_of
        self._sweep_seconds = sweep_seconds
        self._audience: defaultdict[str, dict[int, Hear]] = defaultdict(dict)
        self._watched: Counter[UUID] = Counter()
        self._seats: Counter[UUID] = Counter()
        self._just_asked: dict[UUID, bool] = {}
        self._next_key = 0

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Hear the bus until the block ends."""
        with self._bus.listen((Announced, Shown), self._hand_out):
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
        assert isinstance(hint, Announced | Shown)  # the kinds asked for in ``running``
        for hear in tuple(self._audience.get(hint.topic, {}).values()):
            hear(hint)

    async def _sweep(self) -> None:
        """Announce what the database has: a hint that was lost costs seconds, not the event."""
        while True:
            await asyncio.sleep(self._sweep_seconds)
            if not self._watched:
                continue
            with tolerated("relay sweep"):
                newest = await self._newest_of(list(self._watched))
                for conversation_id, seq in newest.items():
                    self._hand_out(Announced(conversation_topic(conversation_id), seq))


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
