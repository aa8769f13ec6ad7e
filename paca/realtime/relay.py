"""A hub in each web process: it hears the bus once, reads each new event once and serves all sockets."""

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
from paca.realtime.recent_events import EventFrame, RecentEvents

HintHandler = Callable[[EventsCommitted | LiveFrame | HintsLost], None]
LatestSeqs = Callable[[list[UUID]], Awaitable[dict[UUID, int]]]
EventsAfter = Callable[[UUID, int, int], Awaitable[list[EventFrame]]]

# One query for all conversations watched here. While Redis is away, viewers get events only by it.
SWEEP_SECONDS = 1.0
LIVE_TEXT_REQUEST_SECONDS = 0.1
MAX_SOCKETS_PER_PERSON = 20


class TooManySockets(Exception):
    """The person has as many open sockets as one person may have."""


class Relay:
    """The handlers of each topic. It lives in the event loop of the web server; ``Lifespan`` starts it."""

    def __init__(
        self,
        bus: Bus,
        latest_seqs: LatestSeqs,
        events_after: EventsAfter,
        *,
        sweep_seconds: float = SWEEP_SECONDS,
    ) -> None:
        """Both functions ask the database: ``latest_seqs`` for the last ``seq`` of each conversation,
        ``events_after(conversation, seq, limit)`` for at most ``limit`` events above ``seq``.
        """
        self._bus = bus
        self._latest_seqs = latest_seqs
        self._events_after = events_after
        self._sweep_seconds = sweep_seconds
        self._handlers: defaultdict[str, dict[int, HintHandler]] = defaultdict(dict)
        self._watchers: Counter[UUID] = Counter()
        self._recent: dict[UUID, RecentEvents] = {}
        self._sockets: Counter[UUID] = Counter()
        # Conversations whose live text was just requested, and whether it was requested once more.
        self._live_text_requests: dict[UUID, bool] = {}
        self._next_key = 0
        self._sweep_now = asyncio.Event()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Listen to the bus until the block ends."""
        async with self._bus.listen((EventsCommitted, LiveFrame, HintsLost), self._dispatch):
            sweeper = asyncio.create_task(self._sweep(), name="relay sweeper")
            try:
                yield
            finally:
                sweeper.cancel()
                await asyncio.gather(sweeper, return_exceptions=True)

    @contextmanager
    def subscribe(self, topic: str, handler: HintHandler) -> Iterator[None]:
        """Call ``handler``, which must not block, with each hint of the topic until the block ends."""
        key = self._next_key = self._next_key + 1
        self._handlers[topic][key] = handler
        try:
            yield
        finally:
            del self._handlers[topic][key]
            if not self._handlers[topic]:
                del self._handlers[topic]

    @contextmanager
    def watch(self, conversation_id: UUID, handler: HintHandler) -> Iterator[None]:
        """Subscribe to a conversation's topic. The sweep makes up for lost hints."""
        self._watchers[conversation_id] += 1
        try:
            with self.subscribe(conversation_topic(conversation_id), handler):
                yield
        finally:
            _decrement(self._watchers, conversation_id)
            if conversation_id not in self._watchers:
                self._recent.pop(conversation_id, None)

    async def events_after(self, conversation_id: UUID, after: int, limit: int) -> list[EventFrame]:
        """At most ``limit`` events above ``after``, in order; none only at the end of the log.

        Call it only while the conversation is watched: the events are kept until the last watcher
        leaves.
        """
        recent = self._recent.get(conversation_id)
        if recent is None:
            read = functools.partial(self._events_after, conversation_id)
            recent = self._recent[conversation_id] = RecentEvents(read)
        return await recent.after(after, limit)

    @contextmanager
    def count_socket(self, user_id: UUID) -> Iterator[None]:
        """Count one socket of a person until the block ends. Raises ``TooManySockets``."""
        if self._sockets[user_id] >= MAX_SOCKETS_PER_PERSON:
            raise TooManySockets
        self._sockets[user_id] += 1
        try:
            yield
        finally:
            _decrement(self._sockets, user_id)

    def request_live_text(self, conversation_id: UUID) -> None:
        """Ask the worker for the text streamed so far. Requests within 0.1 s are merged into one."""
        if conversation_id in self._live_text_requests:
            self._live_text_requests[conversation_id] = True
            return
        self._live_text_requests[conversation_id] = False
        self._bus.signal(conversation_id, Signal.ATTACH)
        loop = asyncio.get_running_loop()
        loop.call_later(LIVE_TEXT_REQUEST_SECONDS, self._repeat_request, conversation_id)

    def _repeat_request(self, conversation_id: UUID) -> None:
        # A viewer that asked meanwhile may have come too late for the first answer.
        if self._live_text_requests.pop(conversation_id):
            self.request_live_text(conversation_id)

    def _dispatch(self, hint: Hint) -> None:
        if isinstance(hint, HintsLost):
            self._sweep_now.set()
            topics = list(self._handlers)
        else:
            assert isinstance(hint, EventsCommitted | LiveFrame)  # the kinds that ``running`` names
            topics = [hint.topic]
        for topic in topics:
            for handler in tuple(self._handlers.get(topic, {}).values()):
                handler(hint)

    async def _sweep(self) -> None:
        """Announce what the database has, so that a lost hint delays an event and does not lose it."""
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._sweep_seconds):
                    await self._sweep_now.wait()
            self._sweep_now.clear()
            if not self._watchers:
                continue
            with tolerated("relay sweep"):
                latest = await self._latest_seqs(list(self._watchers))
                for conversation_id, seq in latest.items():
                    self._drop_events_above(conversation_id, seq)
                    self._dispatch(EventsCommitted(conversation_topic(conversation_id), seq))

    def _drop_events_above(self, conversation_id: UUID, seq: int) -> None:
        """Drop kept events that the database does not have: the log was restored from a backup.

        Or they are newer than the database's answer; then they are only read once more.
        """
        recent = self._recent.get(conversation_id)
        if recent is not None and recent.end > seq:
            del self._recent[conversation_id]


def _decrement(counter: Counter[UUID], key: UUID) -> None:
    counter[key] -= 1
    if not counter[key]:
        del counter[key]


class Lifespan:
    """The ASGI lifespan. Sockets find the running relay in ``scope["state"]["relay"]``."""

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


class RelayOnDemand:
    """ASGI middleware for sockets: starts a relay with the first socket if ``Lifespan`` has started none.

    Some servers, such as daphne, send no lifespan events. The relay then runs as long as the event loop.
    """

    def __init__(
        self, application: Callable[[Scope, Any, Any], Any], make_relay: Callable[[], Relay]
    ) -> None:
        self._application = application
        self._make_relay = make_relay
        self._started: asyncio.Future[Relay] | None = None
        # Kept, because a task that nothing refers to may be collected as garbage.
        self._lifetime: asyncio.Task[None] | None = None

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        state = scope.get("state", {})
        if "relay" not in state:
            scope = {**scope, "state": {**state, "relay": await self._running_relay()}}
        await self._application(scope, receive, send)

    async def _running_relay(self) -> Relay:
        loop = asyncio.get_running_loop()
        if self._started is None or self._started.get_loop() is not loop:
            self._started = loop.create_future()
            self._lifetime = asyncio.create_task(self._run_relay(self._started))
            self._lifetime.add_done_callback(functools.partial(self._on_ended, self._started))
        # Shared by the first sockets, any of which may leave before the relay has started.
        return await asyncio.shield(self._started)

    async def _run_relay(self, started: asyncio.Future[Relay]) -> None:
        relay = self._make_relay()
        async with relay.running():
            started.set_result(relay)
            await asyncio.get_running_loop().create_future()  # until the event loop ends

    def _on_ended(self, started: asyncio.Future[Relay], _task: asyncio.Task[None]) -> None:
        started.cancel()
        if self._started is started:
            self._started = None  # the next socket tries again
