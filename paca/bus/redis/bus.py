"""The bus of many processes: Redis or Valkey, by the names that other programs know."""

import asyncio
import atexit
import json
import os
import socket
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any
from uuid import UUID

from paca.bus.base import (
    CommittedBatch,
    ConversationSignal,
    EventsCommitted,
    Hint,
    HintsLost,
    LiveFrame,
    Signal,
    TriggerDue,
    TriggerHandler,
)
from paca.bus.listener import Listener
from paca.bus.redis.publisher import Command, Publisher
from paca.bus.redis.subscriber import Decode, Subscriber
from paca.bus.redis.trigger_stream import Queue, TriggerStreamReader

TRIGGERS = "paca:agent:triggers"
DEAD_TRIGGERS = "paca:agent:triggers:dead"
GROUP = "ai-agent-workers"
EVENTS = "paca:agent:events"
# Channels. ``paca.live`` is our own: streamed text would drown those who want to know of events.
EVENTS_CHANNEL = "paca.events"
LIVE_CHANNEL = "paca.live"
CONTROL_CHANNEL = "paca.control"

# Bounds, not sizes: more than these means that nobody has read for a long time.
MOST_TRIGGERS = 100_000
MOST_EVENTS = 100_000
LARGEST_PAYLOAD = 16 * 1024  # in the mirror; the API has all of it

SUBSCRIBE_SECONDS = 1.0
END_SECONDS = 1.0


class RedisBus:
    """Satisfies ``bus.base.Bus``. A process has one connection to publish, one a listener, one a worker."""

    def __init__(
        self,
        url: str,
        *,
        consumer: str = "",
        abandoned_seconds: float = 5.0,
        gone_seconds: float = 600.0,
    ) -> None:
        """Entries that a worker left lying are taken after the one time, its name is after the other.

        ``consumer`` names a worker in the queue's group; it is one a process unless said otherwise.
        """
        self._url = url
        self._queue = Queue(
            TRIGGERS,
            GROUP,
            DEAD_TRIGGERS,
            consumer or f"worker-{socket.gethostname()}-{os.getpid()}",
            abandoned_seconds,
            gone_seconds,
        )
        self._publisher = Publisher(url)
        self._starting = threading.Lock()

    # --- publishing -----------------------------------------------------------------------------

    def wake(self, trigger_id: UUID, facts: Mapping[str, str] | None = None) -> None:
        """Put the trigger into the queue of the workers."""
        fields = {"trigger_id": str(trigger_id), **(facts or {})}
        self._send(_added(TRIGGERS, MOST_TRIGGERS, fields))

    def announce(self, topic: str, seq: int, batch: CommittedBatch | None = None) -> None:
        """Tell everybody of committed rows; of each type, the newest number is enough."""
        kind, _, name = topic.partition(":")
        about: dict[str, Any] = {f"{kind}_id": name}
        if batch is None:
            self._announce(topic, "conversation.changed", seq, about)
            return
        about["project_id"] = batch.project_id
        for row in batch.events:
            self._send(_mirrored(name, batch, row.seq, row.type, row.source, row.payload))
            self._announce(topic, row.type, row.seq, about)

    def live(self, topic: str, frame: dict[str, Any]) -> None:
        """Show a frame to the viewers of a topic, wherever they are."""
        message = json.dumps({"topic": topic, "frame": frame}, separators=(",", ":"))
        self._send(("PUBLISH", LIVE_CHANNEL, message), topic)

    def signal(self, conversation_id: UUID, signal: Signal = Signal.INBOX) -> None:
        """Tell all workers; the one that holds the conversation looks."""
        self._send(
            (
                "PUBLISH",
                CONTROL_CHANNEL,
                _message(signal, {"conversation_id": str(conversation_id)}),
            )
        )

    def _announce(self, topic: str, kind: str, seq: int, about: dict[str, Any]) -> None:
        command = ("PUBLISH", EVENTS_CHANNEL, _message(kind, about | {"seq": seq}))
        self._publisher.outbox.put_newest(topic, kind, seq, command)
        self._start_publisher()

    def _send(self, command: Command, topic: str = "") -> None:
        self._publisher.outbox.put(command, topic=topic)
        self._start_publisher()

    def _start_publisher(self) -> None:
        if self._publisher.ident is None:
            with self._starting:
                if self._publisher.ident is None:
                    self._publisher.start()
                    atexit.register(self.close)

    def close(self) -> None:
        """Send what waits, if Redis is there. A command that ends at once has said what it did."""
        atexit.unregister(self.close)
        self._publisher.end()
        if self._publisher.ident is not None:
            self._publisher.join(END_SECONDS)

    # --- hearing --------------------------------------------------------------------------------

    @contextmanager
    def listen(
        self, kinds: tuple[type[Hint], ...], deliver: Callable[[Hint], None]
    ) -> Iterator[None]:
        """Subscribe to what carries these kinds. Without Redis it begins as soon as there is one."""
        listener = Listener(kinds, deliver, asyncio.get_running_loop())
        channels = {name: decode for kind, (name, decode) in _CARRIED.items() if kind in kinds}
        subscriber = Subscriber(self._url, channels, listener)
        subscriber.begin(SUBSCRIBE_SECONDS)
        try:
            yield
        finally:
            subscriber.end()

    @asynccontextmanager
    async def consume_triggers(
        self, deliver: Callable[[Hint], None], handler: TriggerHandler
    ) -> AsyncIterator[None]:
        """Read the queue as one of its group while there is room."""
        listener = Listener((TriggerDue, HintsLost), deliver, asyncio.get_running_loop())
        reader = TriggerStreamReader(self._url, self._queue, listener, handler)
        reader.start()
        try:
            yield
        finally:
            listener.closed = True
            reader.over.set()
            if reader.client_id is not None:  # or it would sit out the time it waits for entries
                self._send(("CLIENT", "UNBLOCK", reader.client_id))
            await asyncio.to_thread(reader.join, 2 * END_SECONDS)


def _added(stream: str, most: int, fields: Mapping[str, str]) -> Command:
    # Half of a surrogate pair in a text must not stop all that waits behind it.
    flat = [part.encode("utf-8", "replace") for field in fields.items() for part in field]
    return ("XADD", stream, "MAXLEN", "~", most, "*", *flat)


def _mirrored(
    conversation_id: str, batch: CommittedBatch, seq: int, type_: str, source: str, payload: str
) -> Command:
    if len(payload) > LARGEST_PAYLOAD:
        payload = ""
    fields = {
        "conversation_id": conversation_id,
        "project_id": batch.project_id,
        "event_type": type_,
        "event_source": source,
        "event_index": str(seq),
        "payload": payload,
        "status": batch.status,
    }
    return _added(EVENTS, MOST_EVENTS, fields)


def _message(kind: str, payload: dict[str, Any]) -> str:
    return json.dumps({"type": kind, "payload": payload}, separators=(",", ":"))


# --- reading messages: anybody may publish, so what is malformed is no hint ----------------------


def _lenient(read: Callable[[Any], Hint]) -> Decode:
    def decode(message: bytes) -> Hint | None:
        try:
            return read(json.loads(message))
        except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
            return None

    return decode


@_lenient
def _announced(message: Any) -> Hint:
    payload = message["payload"]
    kind = "conversation" if "conversation_id" in payload else "project"
    return EventsCommitted(f"{kind}:{payload[f'{kind}_id']}", int(payload["seq"]))


@_lenient
def _shown(message: Any) -> Hint:
    topic, frame = message["topic"], message["frame"]
    if not isinstance(topic, str) or not isinstance(frame, dict):
        raise TypeError
    return LiveFrame(topic, frame)


@_lenient
def _signalled(message: Any) -> Hint:
    return ConversationSignal(
        UUID(str(message["payload"]["conversation_id"])), Signal(message["type"])
    )


_CARRIED: dict[type[Hint], tuple[str, Decode]] = {
    EventsCommitted: (EVENTS_CHANNEL, _announced),
    LiveFrame: (LIVE_CHANNEL, _shown),
    ConversationSignal: (CONTROL_CHANNEL, _signalled),
}
