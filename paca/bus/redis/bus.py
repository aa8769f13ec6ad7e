"""The bus of many processes, on Redis or Valkey. Other programs know the names used here."""

import asyncio
import atexit
import json
import os
import socket
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
    HintsLost,
    LiveFrame,
    Signal,
    TriggerDue,
    TriggerHandler,
)
from paca.bus.listener import Listener
from paca.bus.redis.consumer_group import ConsumerSettings
from paca.bus.redis.names import (
    CONTROL_CHANNEL,
    DEAD_TRIGGERS,
    EVENTS,
    EVENTS_CHANNEL,
    GROUP,
    LIVE_CHANNEL,
    TRIGGER_RESULTS,
    TRIGGERS,
)
from paca.bus.redis.publisher import Command, Publisher
from paca.bus.redis.subscriber import Decode, Subscriber
from paca.bus.redis.trigger_stream import TriggerStreamReader
from paca.common.frames import StoredEvent
from paca.common.text import to_utf8

# Bounds, not sizes: `stream_bounds` bounds the bytes.
MAX_TRIGGERS = 100_000
MAX_EVENTS = 100_000
MAX_PAYLOAD_CHARACTERS = 16 * 1024  # in the mirror; the API gives larger payloads too

# The stream holds entries of other programs too, which are never dropped to make room for a hint.
_ADD_UNLESS_LONG = """
if redis.call('XLEN', KEYS[1]) < tonumber(ARGV[1]) then
    redis.call('XADD', KEYS[1], '*', unpack(ARGV, 2))
end
"""

SUBSCRIBE_SECONDS = 1.0
STOP_SECONDS = 1.0


class RedisBus:
    """Implements ``bus.base.Bus``. There is one connection to publish, and one for each listener and
    each worker.
    """

    def __init__(
        self,
        url: str,
        *,
        consumer: str = "",
        abandoned_seconds: float = 5.0,
        gone_seconds: float = 600.0,
    ) -> None:
        """``consumer`` is the worker's name in the consumer group; empty: one name for each process.

        A worker that is idle for ``abandoned_seconds`` loses its unfinished entries to others. After
        ``gone_seconds`` its name is removed from the group.
        """
        self._url = url
        self._consumer_settings = ConsumerSettings(
            TRIGGERS,
            GROUP,
            DEAD_TRIGGERS,
            TRIGGER_RESULTS,
            consumer or f"worker-{socket.gethostname()}-{os.getpid()}",
            abandoned_seconds,
            gone_seconds,
        )
        self._publisher = Publisher(url)
        self._start_lock = threading.Lock()

    # --- publishing -----------------------------------------------------------------------------

    def wake(self, trigger_id: UUID, facts: Mapping[str, str] | None = None) -> None:
        """Add the trigger to the stream that the workers read."""
        fields = {"trigger_id": str(trigger_id), **(facts or {})}
        command: Command = ("EVAL", _ADD_UNLESS_LONG, 1, TRIGGERS, MAX_TRIGGERS, *_flatten(fields))
        self._send(command, urgent=True)

    def announce(self, topic: str, seq: int, batch: CommittedBatch | None = None) -> None:
        """Publish committed rows. A newer announcement of a type replaces one that still waits."""
        kind, _, name = topic.partition(":")
        facts: dict[str, Any] = {f"{kind}_id": name}
        if batch is None:
            self._announce(topic, "conversation.changed", seq, facts)
            return
        facts["project_id"] = batch.project_id
        for event in batch.events:
            self._send(_mirror_event(name, batch, event))
            self._announce(topic, event.type, event.seq, facts)

    def live(self, topic: str, frame: dict[str, Any]) -> None:
        """Send a frame that is never stored to the viewers of a topic in all processes."""
        message = json.dumps({"topic": topic, "frame": frame}, separators=(",", ":"))
        self._send(("PUBLISH", LIVE_CHANNEL, message), topic)

    def signal(self, conversation_id: UUID, signal: Signal = Signal.INBOX) -> None:
        """Send a signal to all workers; only the one that holds the conversation acts on it."""
        message = _encode_message(signal, {"conversation_id": str(conversation_id)})
        self._send(("PUBLISH", CONTROL_CHANNEL, message), urgent=True)

    def _announce(self, topic: str, kind: str, seq: int, facts: dict[str, Any]) -> None:
        command = ("PUBLISH", EVENTS_CHANNEL, _encode_message(kind, facts | {"seq": seq}))
        self._publisher.outbox.put_newest(topic, kind, seq, command)
        self._start_publisher()

    def _send(self, command: Command, topic: str = "", *, urgent: bool = False) -> None:
        self._publisher.outbox.put(command, topic=topic, urgent=urgent)
        self._start_publisher()

    def _start_publisher(self) -> None:
        if self._publisher.ident is None:
            with self._start_lock:
                if self._publisher.ident is None:
                    self._publisher.start()
                    atexit.register(self.close)

    def close(self) -> None:
        """Send what waits, if Redis answers within a second, and stop publishing.

        It also runs at exit, so that a short command does not end before its hints are sent.
        """
        atexit.unregister(self.close)
        self._publisher.stop()
        if self._publisher.ident is not None:
            self._publisher.join(STOP_SECONDS)

    # --- listening ------------------------------------------------------------------------------

    @asynccontextmanager
    async def listen(
        self, kinds: tuple[type[Hint], ...], deliver: Callable[[Hint], None]
    ) -> AsyncIterator[None]:
        """Subscribe to the channels of these kinds. If Redis is away, that happens when it is back."""
        listener = Listener(kinds, deliver, asyncio.get_running_loop())
        channels = {name: decode for kind, (name, decode) in _CHANNELS.items() if kind in kinds}
        subscriber = Subscriber(self._url, channels, listener)
        try:
            await asyncio.to_thread(subscriber.start_and_wait, SUBSCRIBE_SECONDS)
            yield
        finally:
            subscriber.stop()

    @asynccontextmanager
    async def consume_triggers(
        self, deliver: Callable[[Hint], None], handler: TriggerHandler
    ) -> AsyncIterator[None]:
        """Read the trigger stream as one consumer of the group while the handler has capacity."""
        listener = Listener((TriggerDue, HintsLost), deliver, asyncio.get_running_loop())
        reader = TriggerStreamReader(self._url, self._consumer_settings, listener, handler)
        reader.start()
        try:
            yield
        finally:
            listener.closed = True
            reader.stopping.set()
            if reader.client_id is not None:  # end a read that blocks
                self._send(("CLIENT", "UNBLOCK", reader.client_id))
            await asyncio.to_thread(reader.join, 2 * STOP_SECONDS)


def _flatten(fields: Mapping[str, str]) -> list[bytes]:
    # A lone surrogate in a text must not stop the commands that wait behind it.
    return [to_utf8(part) for field in fields.items() for part in field]


def _mirror_event(conversation_id: str, batch: CommittedBatch, event: StoredEvent) -> Command:
    is_large = len(event.payload) > MAX_PAYLOAD_CHARACTERS
    fields = {
        "conversation_id": conversation_id,
        "project_id": batch.project_id,
        "event_type": event.type,
        "event_source": event.source,
        "event_index": str(event.seq),
        "payload": "" if is_large else event.payload,
        "status": batch.status,
    }
    if is_large:
        fields["payload_bytes"] = str(len(to_utf8(event.payload)))
        fields["payload_path"] = _event_path(batch.project_id, conversation_id, event.seq)
    return ("XADD", EVENTS, "MAXLEN", "~", MAX_EVENTS, "*", *_flatten(fields))


def _event_path(project_id: str, conversation_id: str, seq: int) -> str:
    """The address of the API, without its host, that gives this event as its only result."""
    conversation = f"/api/v1/projects/{project_id}/conversations/{conversation_id}"
    return f"{conversation}/events/?after={seq - 1}&limit=1"


def _encode_message(kind: str, payload: dict[str, Any]) -> str:
    return json.dumps({"type": kind, "payload": payload}, separators=(",", ":"))


# --- decoding messages: other programs may publish too, so a malformed message is ignored ---------


def _none_if_malformed(decode: Callable[[Any], Hint]) -> Decode:
    def decode_message(message: bytes) -> Hint | None:
        try:
            return decode(json.loads(message))
        except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
            return None

    return decode_message


@_none_if_malformed
def _decode_events_committed(message: Any) -> Hint:
    payload = message["payload"]
    kind = "conversation" if "conversation_id" in payload else "project"
    return EventsCommitted(f"{kind}:{payload[f'{kind}_id']}", int(payload["seq"]))


@_none_if_malformed
def _decode_live_frame(message: Any) -> Hint:
    topic, frame = message["topic"], message["frame"]
    if not isinstance(topic, str) or not isinstance(frame, dict):
        raise TypeError
    return LiveFrame(topic, frame)


@_none_if_malformed
def _decode_signal(message: Any) -> Hint:
    conversation_id = UUID(str(message["payload"]["conversation_id"]))
    return ConversationSignal(conversation_id, Signal(message["type"]))


_CHANNELS: dict[type[Hint], tuple[str, Decode]] = {
    EventsCommitted: (EVENTS_CHANNEL, _decode_events_committed),
    LiveFrame: (LIVE_CHANNEL, _decode_live_frame),
    ConversationSignal: (CONTROL_CHANNEL, _decode_signal),
}
