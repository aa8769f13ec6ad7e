"""A Redis with little memory: entries that were taken in leave it, and Paca's copies leave room for others."""

from uuid import uuid4

import pytest
import redis

from paca.bus.base import (
    CommittedBatch,
    EntryResult,
    EntryStatus,
    EventsCommitted,
    HintsLost,
    TriggerDue,
)
from paca.bus.redis import consumer_group, names, stream_bounds, subscriber, trigger_stream
from tests.bus.helpers import RecordingHandler
from tests.bus.test_redis_messages import stored_events
from tests.support.valkey_server import lost_links
from tests.support.waiting import until

pytestmark = [pytest.mark.anyio, pytest.mark.service]

GROUP = names.GROUP
MIB = 1024 * 1024
LONG = {"type": "agent.chat_message", "message": "x" * 90_000}
REFUSED = EntryResult(EntryStatus.REJECTED, "There is no such agent.", "trigger_refused")


@pytest.fixture
def program(own_valkey):
    """Another program, in a Redis of this test."""
    with own_valkey.client() as client:
        yield client


def fill(program) -> None:
    """Use up the memory with data that is not Paca's."""
    program.set("filler", "x" * MIB)
    program.config_set("maxmemory", program.info("memory")["used_memory"] - MIB // 2)


def calls_of(program, command: str) -> int:
    """How many of these commands the server has carried out."""
    return program.info("commandstats").get(f"cmdstat_{command}", {"calls": 0})["calls"]


def pending(program) -> int:
    return program.xpending(names.TRIGGERS, GROUP)["pending"]


async def test_entries_that_were_taken_in_make_room_for_the_next(own_valkey, program, connect):
    """300 entries of 90 kB pass through a Redis of 20 MB, and no text of them stays in it."""
    program.config_set("maxmemory", 20 * MIB)
    handler = RecordingHandler()
    with lost_links() as lost:
        async with connect(own_valkey).consume_triggers(lambda _: None, handler):
            for sent in range(1, 301):
                program.xadd(names.TRIGGERS, LONG)
                if sent % 20 == 0:
                    await until(lambda sent=sent: len(handler.handled) >= sent, 30)
            await until(lambda: program.xlen(names.TRIGGERS) == 0)
    assert not lost
    assert program.memory_usage(names.TRIGGERS) < 100_000


async def test_full_redis_does_not_cut_the_reader_off(own_valkey, program, connect):
    """Accepted and refused entries leave a full Redis, and the reader keeps its connection."""
    handler = RecordingHandler(free_capacity=0, result=REFUSED)
    for _ in range(10):
        program.xadd(names.TRIGGERS, LONG)
    program.xgroup_create(names.TRIGGERS, GROUP, id="0")
    fill(program)
    with pytest.raises(redis.exceptions.OutOfMemoryError):
        program.xadd(names.TRIGGERS, LONG)
    with lost_links() as lost:
        async with connect(own_valkey).consume_triggers(lambda _: None, handler):
            handler.free_capacity = 10
            await until(lambda: len(handler.handled) >= 10)
            await until(lambda: pending(program) == program.xlen(names.TRIGGERS) == 0)
    assert not lost
    assert len(handler.handled) == 10


async def test_entries_that_fill_the_memory_become_rows_though_no_worker_has_capacity(
    own_valkey, program, connect, monkeypatch
):
    """Rows are kept on a disk: there they can wait, while other programs go on adding entries."""
    monkeypatch.setattr(trigger_stream, "TRIM_SECONDS", 0.1)
    monkeypatch.setattr(consumer_group, "BLOCK_SECONDS", 0.05)
    program.config_set("maxmemory", 20 * MIB)
    handler, due = RecordingHandler(free_capacity=0), []
    bus = connect(own_valkey)
    async with bus.consume_triggers(due.append, handler):
        few = [program.xadd(names.TRIGGERS, LONG) for _ in range(10)]
        peeked = calls_of(program, "memory|usage")
        await until(lambda: calls_of(program, "memory|usage") >= peeked + 3)
        assert program.xlen(names.TRIGGERS) == 10
        assert handler.handled == []
        many = [program.xadd(names.TRIGGERS, LONG) for _ in range(100)]
        await until(lambda: len(handler.handled) >= 80)
        assert [entry for entry, _ in handler.handled[:80]] == [*few, *many][:80]


async def test_entry_that_a_full_redis_does_not_requeue_is_taken_up_by_the_next_worker(
    own_valkey, program, connect
):
    entry = program.xadd(names.TRIGGERS, LONG)
    waiting = RecordingHandler(result=EntryResult(EntryStatus.RETRY_LATER))
    async with connect(own_valkey).consume_triggers(lambda _: None, waiting):
        await until(lambda: waiting.handled)
        fill(program)
    handler = RecordingHandler()
    next_worker = connect(own_valkey, consumer="another", abandoned_seconds=0.2)
    async with next_worker.consume_triggers(lambda _: None, handler):
        await until(lambda: handler.handled)
        await until(lambda: program.xlen(names.TRIGGERS) == 0)
    assert handler.handled == [(entry, LONG)]


async def test_refused_entries_are_bounded_by_bytes(own_valkey, program, connect):
    program.config_set("maxmemory", 20 * MIB)
    handler = RecordingHandler(result=REFUSED)
    async with connect(own_valkey).consume_triggers(lambda _: None, handler):
        for sent in range(1, 101):
            program.xadd(names.TRIGGERS, LONG)
            if sent % 20 == 0:
                await until(lambda sent=sent: len(handler.handled) >= sent, 30)
        newest = program.xadd(names.TRIGGERS, LONG)
        await until(
            lambda: (
                [each["entry_id"] for _, each in program.xrevrange(names.DEAD_TRIGGERS, count=1)]
                == [newest]
            )
        )
    assert program.memory_usage(names.DEAD_TRIGGERS, samples=0) < 2 * MIB


async def test_copies_of_events_are_bounded_by_bytes(own_valkey, program, connect):
    program.config_set("maxmemory", 20 * MIB)
    bus = connect(own_valkey)
    events = stored_events(*["agent.tool.returned"] * 1000)
    large = tuple(each._replace(payload='"' + "x" * 16_000 + '"') for each in events)
    bus.announce("conversation:c", 1000, CommittedBatch("p", "running", large))
    newest = lambda: program.xrevrange(names.EVENTS, count=1)  # noqa: E731
    await until(lambda: newest() and newest()[0][1]["event_index"] == "1000", 30)
    assert program.memory_usage(names.EVENTS, samples=0) < 7 * MIB


async def test_refused_entry_of_many_megabytes_keeps_the_start_of_its_fields(
    own_valkey, program, connect
):
    handler = RecordingHandler(result=REFUSED)
    program.xadd(names.TRIGGERS, {"type": "agent.chat_message", "message": "x" * 5 * MIB})
    async with connect(own_valkey).consume_triggers(lambda _: None, handler):
        await until(lambda: program.xlen(names.DEAD_TRIGGERS))
    ((_, kept),) = program.xrange(names.DEAD_TRIGGERS)
    assert (len(kept["message"]), kept["cut"]) == (4096, "message")


async def test_entries_that_every_group_has_read_are_trimmed(
    own_valkey, program, connect, monkeypatch
):
    """A program with a group of its own reads each entry too; only then is it removed."""
    monkeypatch.setattr(trigger_stream, "TRIM_SECONDS", 0.1)
    monkeypatch.setattr(consumer_group, "BLOCK_SECONDS", 0.05)
    program.xgroup_create(names.TRIGGERS, "audit", id="0", mkstream=True)
    handler, due = RecordingHandler(), []
    bus = connect(own_valkey)
    async with bus.consume_triggers(due.append, handler):
        for _ in range(3):
            program.xadd(names.TRIGGERS, LONG)
        await until(lambda: len(handler.handled) == 3)
        trigger = uuid4()
        bus.wake(trigger)
        await until(lambda: TriggerDue(trigger) in due)
        await until(lambda: pending(program) == 0)
        assert program.xlen(names.TRIGGERS) == 4
        ((_, read),) = program.xreadgroup("audit", "a", {names.TRIGGERS: ">"}, count=2)
        program.xack(names.TRIGGERS, "audit", read[0][0])
        await until(lambda: program.xlen(names.TRIGGERS) == 3)
        program.xack(names.TRIGGERS, "audit", read[1][0])
        program.xreadgroup("audit", "a", {names.TRIGGERS: ">"}, noack=True)
        await until(lambda: program.xlen(names.TRIGGERS) == 0)


async def test_group_that_reads_nothing_is_not_waited_for_without_end(
    own_valkey, program, connect, monkeypatch
):
    monkeypatch.setattr(trigger_stream, "TRIM_SECONDS", 0.1)
    monkeypatch.setattr(consumer_group, "BLOCK_SECONDS", 0.05)
    monkeypatch.setitem(stream_bounds.BOUNDS, names.TRIGGERS, stream_bounds.Bound(200_000, parts=4))
    program.xgroup_create(names.TRIGGERS, "asleep", id="0", mkstream=True)
    async with connect(own_valkey).consume_triggers(lambda _: None, RecordingHandler()):
        for _ in range(5):
            program.xadd(names.TRIGGERS, LONG)
        await until(lambda: program.xlen(names.TRIGGERS) == 0)


async def test_hint_drops_no_entry_of_another_program(own_valkey, program, connect, monkeypatch):
    monkeypatch.setattr("paca.bus.redis.bus.MAX_TRIGGERS", 2)
    first = program.xadd(names.TRIGGERS, LONG)
    bus = connect(own_valkey)
    for _ in range(500):
        bus.wake(uuid4())
    await until(lambda: calls_of(program, "eval") >= 500)
    assert program.xlen(names.TRIGGERS) == 2
    assert program.xrange(names.TRIGGERS, count=1)[0][0] == first


async def test_refused_entries_are_kept_for_a_month(own_valkey, program, connect):
    seconds, _ = program.time()
    kept = f"{(seconds - 29 * 86_400) * 1000}-0"
    for entry in (f"{(seconds - 31 * 86_400) * 1000}-0", kept):
        program.xadd(names.DEAD_TRIGGERS, LONG, id=entry)
    async with connect(own_valkey).consume_triggers(lambda _: None, RecordingHandler()):
        await until(lambda: program.xlen(names.DEAD_TRIGGERS) == 1)
    assert [entry for entry, _ in program.xrange(names.DEAD_TRIGGERS)] == [kept]


async def test_redis_that_cannot_save_to_its_disk_keeps_its_listeners(
    own_valkey, program, connect, monkeypatch
):
    """It refuses a PING, and still passes hints on."""
    monkeypatch.setattr(subscriber, "SILENCE_SECONDS", 0.05)
    program.config_set("save", "3600 1000")
    (own_valkey._folder / "dump.rdb").mkdir()
    program.bgsave()
    await until(lambda: program.info("persistence")["rdb_last_bgsave_status"] == "err")
    bus, heard = connect(own_valkey), []
    with lost_links() as lost:
        async with bus.listen((EventsCommitted, HintsLost), heard.append):
            refused = lambda: program.info("commandstats").get("cmdstat_ping", {})  # noqa: E731
            await until(lambda: refused().get("rejected_calls", 0) >= 3)
            bus.announce("conversation:c", 7)
            await until(lambda: EventsCommitted("conversation:c", 7) in heard)
    assert "paca-bus-subscriber" not in lost
    assert HintsLost() not in heard
