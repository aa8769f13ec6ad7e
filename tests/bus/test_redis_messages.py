"""The messages of the Redis bus: for other programs, from other programs, and over TLS."""

import json
from datetime import UTC, datetime
from uuid import UUID, uuid4

import pytest

from paca.bus.base import (
    CommittedBatch,
    ConversationSignal,
    EventsCommitted,
    LiveFrame,
    Signal,
    TriggerDue,
)
from paca.bus.redis.bus import RedisBus
from paca.common.frames import StoredEvent
from tests.bus.helpers import RecordingHandler
from tests.support.tls_proxy import TlsProxy
from tests.support.waiting import until

pytestmark = [pytest.mark.anyio, pytest.mark.service]

ALL = (EventsCommitted, LiveFrame, ConversationSignal)
CONVERSATION = UUID("0b6e7f0a-0000-4000-8000-000000000000")


def stored(seq: int, type_: str, payload: str = '{"text":"x"}') -> StoredEvent:
    return StoredEvent(seq, type_, "agent", None, datetime.now(UTC), payload)


def stored_events(*types: str) -> tuple[StoredEvent, ...]:
    return tuple(stored(seq, type_) for seq, type_ in enumerate(types, 1))


async def test_committed_events_are_mirrored_and_each_type_is_announced_once(valkey, connect):
    batch = CommittedBatch(
        "p",
        "running",
        stored_events("agent.turn.started", "agent.tool.called", "agent.tool.called"),
    )
    with valkey.client() as program:
        channel = program.pubsub(ignore_subscribe_messages=True)
        channel.subscribe("paca.events")
        channel.get_message(timeout=60)
        connect(valkey).announce("conversation:c", 3, batch)
        await until(lambda: program.xlen("paca:agent:events") == 3)
        mirror = [fields for _, fields in program.xrange("paca:agent:events")]
        announced = []
        # Two announcements must come, however slow this machine is. A third must not.
        while message := channel.get_message(timeout=20 if len(announced) < 2 else 0.3):
            announced.append(json.loads(message["data"]))
        channel.close()
    assert mirror[1] == {
        "conversation_id": "c",
        "project_id": "p",
        "event_type": "agent.tool.called",
        "event_source": "agent",
        "event_index": "2",
        "payload": '{"text":"x"}',
        "status": "running",
    }
    newest = {each["type"]: each["payload"] for each in announced}
    assert newest == {
        "agent.turn.started": {"conversation_id": "c", "project_id": "p", "seq": 1},
        "agent.tool.called": {"conversation_id": "c", "project_id": "p", "seq": 3},
    }


async def test_event_with_a_lone_surrogate_does_not_stop_the_events_behind_it(valkey, connect):
    bus = connect(valkey)
    bus.announce(
        "conversation:c",
        1,
        CommittedBatch("p", "running", (stored(1, "t", "\ud800"),)),
    )
    bus.announce(
        "conversation:c",
        2,
        CommittedBatch("p", "running", (stored(2, "t", "sound"),)),
    )
    with valkey.client() as program:
        await until(lambda: program.xlen("paca:agent:events") == 2)
        assert [fields["payload"] for _, fields in program.xrange("paca:agent:events")] == [
            "?",
            "sound",
        ]


@pytest.mark.parametrize(
    ("channel", "message"),
    [
        ("paca.events", b"\xff"),
        ("paca.events", b"{"),
        ("paca.events", b"[" * 100_000),
        ("paca.events", b"[]"),
        ("paca.events", b"7"),
        ("paca.events", b'{"type": "agent.x"}'),
        ("paca.events", b'{"type": "agent.x", "payload": {"seq": 1}}'),
        ("paca.events", b'{"type": "agent.x", "payload": {"conversation_id": "1", "seq": "many"}}'),
        ("paca.events", b'{"type": "x", "payload": {"conversation_id": "1", "seq": Infinity}}'),
        ("paca.live", b'{"topic": 7, "frame": {}}'),
        ("paca.live", b'{"topic": "conversation:1", "frame": []}'),
        ("paca.control", b'{"type": "inbox", "payload": {"conversation_id": "1"}}'),
        ("paca.control", b'{"type": "explode", "payload": {"conversation_id": "%s"}}' % str(CONVERSATION).encode()),
        ("paca.control", b'{"type": "inbox", "payload": {"conversation_id": {"a": 1}}}'),
    ],
)  # fmt: skip
async def test_malformed_message_of_another_program_is_ignored(valkey, connect, channel, message):
    bus, heard = connect(valkey), []
    async with bus.listen(ALL, heard.append):
        with valkey.client() as program:
            assert program.publish(channel, message) >= 1
        bus.signal(CONVERSATION)
        await until(lambda: heard)
    assert heard == [ConversationSignal(CONVERSATION, Signal.INBOX)]


async def test_announcement_of_another_program_is_delivered(valkey, connect):
    bus, heard = connect(valkey), []
    payload = {"project_id": "p", "conversation_id": "c", "seq": 4}
    async with bus.listen(ALL, heard.append):
        with valkey.client() as program:
            program.publish("paca.events", json.dumps({"type": "agent.x", "payload": payload}))
        await until(lambda: heard)
    assert heard == [EventsCommitted("conversation:c", 4)]


async def test_listener_subscribes_only_to_the_channels_of_its_kinds(valkey, connect):
    async with connect(valkey).listen((ConversationSignal,), lambda _: None):
        with valkey.client() as program:
            await until(lambda: program.pubsub_channels() == ["paca.control"])


async def test_redis_bus_uses_tls_and_rejects_an_unknown_certificate(valkey, connect, tmp_path):
    trigger, heard, due = uuid4(), [], []
    with TlsProxy(tmp_path, valkey.port) as front:
        address = f"rediss://127.0.0.1:{front.port}/0"
        bus = RedisBus(f"{address}?ssl_ca_certs={front.certificate}")
        async with (
            bus.listen(ALL, heard.append),
            bus.consume_triggers(due.append, RecordingHandler()),
        ):
            for n in range(200):
                bus.live("conversation:1", {"n": n})
            bus.wake(trigger)
            await until(lambda: len(heard) == 200)
            await until(lambda: due == [TriggerDue(trigger)])
        bus.close()
        distrustful = RedisBus(address)
        distrustful.signal(CONVERSATION)
        distrustful.close()
    with valkey.client() as program:
        assert program.xlen("paca:agent:triggers") == 1
