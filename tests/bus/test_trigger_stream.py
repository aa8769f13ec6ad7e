"""The trigger stream: each entry goes to one worker, none is lost, and bad ones go to the dead stream."""

import asyncio
import os
import socket
import subprocess
import sys
from contextlib import contextmanager
from uuid import uuid4

import pytest

from paca.bus.base import EntryResult, EntryStatus, TriggerDue
from paca.bus.redis import connection, consumer_group
from tests.bus.helpers import RecordingHandler
from tests.support.waiting import until

pytestmark = [pytest.mark.anyio, pytest.mark.service]

STREAM, GROUP, DEAD = "paca:agent:triggers", "ai-agent-workers", "paca:agent:triggers:dead"
REQUEST = {"type": "agent.chat_message", "message": "Grüß dich"}


@pytest.fixture
def program(valkey):
    """Another program: a client of its own."""
    with valkey.client() as client:
        yield client


@contextmanager
def worker_process(valkey, behaviour: str):
    command = [sys.executable, "-m", "tests.bus.worker_process", valkey.url, behaviour]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def pending(program) -> int:
    return program.xpending(STREAM, GROUP)["pending"]


def unread(program) -> int:
    return program.xinfo_groups(STREAM)[0]["lag"]


def calls_of(program, command: str) -> int:
    """How many of these commands the server has carried out."""
    return program.info("commandstats").get(f"cmdstat_{command}", {"calls": 0})["calls"]


def waits_for_entries(program) -> bool:
    clients = [each for each in program.client_list() if each["name"] == "paca-bus-trigger-stream"]
    return any("b" in each["flags"] for each in clients)


def consumers(program) -> list[str]:
    return [each["name"] for each in program.xinfo_consumers(STREAM, GROUP)]


async def test_trigger_is_added_to_the_stream_with_its_facts_and_acknowledged(
    valkey, program, connect
):
    bus, due = connect(valkey), []
    trigger = uuid4()
    bus.wake(trigger, {"type": "agent.chat_message", "conversation_id": "c"})
    await until(lambda: program.xlen(STREAM))
    ((_, fields),) = program.xrange(STREAM)
    assert fields == {
        "trigger_id": str(trigger),
        "type": "agent.chat_message",
        "conversation_id": "c",
    }
    async with bus.consume_triggers(due.append, RecordingHandler()):
        await until(lambda: due)
        assert consumers(program) == [f"worker-{socket.gethostname()}-{os.getpid()}"]
        await until(lambda: pending(program) == unread(program) == 0)


async def test_worker_that_stops_leaves_the_consumer_group_at_once(
    valkey, program, connect, monkeypatch
):
    # Without being unblocked the reader would wait for entries longer than this test takes.
    monkeypatch.setattr(consumer_group, "BLOCK_SECONDS", 30.0)
    monkeypatch.setattr(connection, "ANSWER_SECONDS", 60.0)
    bus = connect(valkey)
    async with bus.consume_triggers(lambda _: None, RecordingHandler()):
        await until(lambda: waits_for_entries(program) and consumers(program))
    await until(lambda: consumers(program) == [])


async def test_each_trigger_goes_to_one_of_two_workers(valkey, program, connect):
    first_due, second_due = [], []
    triggers = [uuid4() for _ in range(50)]
    first, second = connect(valkey), connect(valkey, consumer="another")
    async with (
        first.consume_triggers(first_due.append, RecordingHandler()),
        second.consume_triggers(second_due.append, RecordingHandler()),
    ):
        for trigger in triggers:
            first.wake(trigger)
        await until(lambda: len(first_due) + len(second_due) >= 50)
        await until(lambda: unread(program) == pending(program) == 0)
    assert sorted([*first_due, *second_due], key=str) == sorted(map(TriggerDue, triggers), key=str)


async def test_worker_without_capacity_leaves_triggers_to_others(valkey, program, connect):
    full, free = RecordingHandler(free_capacity=0), RecordingHandler()
    bus, to_full, to_free = connect(valkey), [], []
    async with bus.consume_triggers(to_full.append, full):
        bus.wake(uuid4())
        program.xadd(STREAM, REQUEST)
        await until(lambda: program.xlen(STREAM) == 2)
        async with connect(valkey, consumer="another").consume_triggers(to_free.append, free):
            await until(lambda: to_free and free.handled)
    assert to_full == []
    assert full.handled == []


async def test_worker_without_capacity_handles_a_stop_and_leaves_its_entry_in_the_stream(
    valkey, program, connect
):
    """The stop may be for the work that takes all the capacity."""
    full, stop = RecordingHandler(free_capacity=0), {"type": "agent.stop", "conversation_id": "c"}
    bus = connect(valkey)
    async with bus.consume_triggers(lambda _: None, full):
        # A stop of Paca itself: a signal has reached its worker.
        bus.wake(uuid4(), {"type": "agent.stop"})
        program.xadd(STREAM, {b"type": b"agent.stop", b"by": b"\xff"})
        program.xadd(STREAM, REQUEST)
        entry = program.xadd(STREAM, stop)
        await until(lambda: full.handled)
        peeked = calls_of(program, "xrange")
        await until(lambda: calls_of(program, "xrange") > peeked + 2)
        assert full.handled == [(entry, stop)]
        assert pending(program) == 0
        full.free_capacity = 10
        await until(lambda: unread(program) == 0)
        await until(lambda: pending(program) == 0)
    assert [handled for handled, _ in full.handled].count(entry) == 2


async def test_stop_is_handled_again_after_the_database_was_unavailable(valkey, program, connect):
    full = RecordingHandler(free_capacity=0, result=EntryResult(EntryStatus.RETRY_LATER))
    async with connect(valkey).consume_triggers(lambda _: None, full):
        program.xadd(STREAM, {"type": "agent.stop", "conversation_id": "c"})
        await until(lambda: len(full.handled) >= 2)


async def test_worker_without_capacity_survives_a_wipe(valkey, program, connect):
    full = RecordingHandler(free_capacity=0)
    async with connect(valkey).consume_triggers(lambda _: None, full):
        for _ in range(2):
            program.flushall()
            program.xadd(STREAM, {"type": "agent.stop", "conversation_id": "c"})
            await until(lambda: full.handled)
            full.handled.clear()


async def test_trigger_read_by_a_worker_that_lost_its_capacity_is_requeued(valkey, connect):
    """The worker had capacity when its blocking read began."""
    bus, to_full, to_free = connect(valkey), [], []
    full = RecordingHandler()
    async with bus.consume_triggers(to_full.append, full):
        bus.wake(uuid4())
        await until(lambda: to_full)  # now it blocks in the next read
        full.free_capacity = 0
        trigger = uuid4()
        async with connect(valkey, consumer="another").consume_triggers(
            to_free.append, RecordingHandler()
        ):
            for _ in range(20):
                bus.wake(trigger)
            await until(lambda: to_free.count(TriggerDue(trigger)) == 20)
    assert len(to_full) == 1


async def test_external_trigger_is_handled_once(valkey, program, connect):
    handler = RecordingHandler()
    entry = program.xadd(STREAM, REQUEST)
    async with connect(valkey).consume_triggers(lambda _: None, handler):
        await until(lambda: handler.handled)
        await until(lambda: pending(program) == 0)
    assert handler.handled == [(entry, REQUEST)]


async def test_rejected_trigger_moves_to_the_dead_stream_with_the_reason(valkey, program, connect):
    handler = RecordingHandler(result=EntryResult(EntryStatus.REJECTED, "There is no such agent."))
    entry = program.xadd(STREAM, REQUEST)
    async with connect(valkey).consume_triggers(lambda _: None, handler):
        await until(lambda: program.xlen(DEAD))
        assert pending(program) == 0
    ((_, fields),) = program.xrange(DEAD)
    assert fields == {**REQUEST, "reason": "There is no such agent.", "entry_id": entry}


@pytest.mark.parametrize(
    ("fields", "word"),
    [
        ({"trigger_id": "seven"}, "trigger_id is not a UUID"),
        ({"trigger_id": b"\xff"}, "trigger_id is not a UUID"),
        ({"type": "agent.chat_message", "message": b"\xff\xfe"}, "not UTF-8"),
        ({b"\xff": "x"}, "not UTF-8"),
    ],
)
async def test_entry_with_undecodable_bytes_moves_unchanged_to_the_dead_stream(
    valkey, connect, fields, word
):
    handler = RecordingHandler()
    with valkey.client(texts=False) as program:
        program.xadd(STREAM, fields)
        async with connect(valkey).consume_triggers(lambda _: None, handler):
            await until(lambda: program.xlen(DEAD))
        ((_, dead),) = program.xrange(DEAD)
    for name, value in fields.items():
        name, value = (x if isinstance(x, bytes) else x.encode() for x in (name, value))
        assert dead[name] == value
    assert word in dead[b"reason"].decode()
    assert handler.handled == []


async def test_entry_waits_while_the_database_is_unavailable(valkey, program, connect):
    handler = RecordingHandler(result=EntryResult(EntryStatus.RETRY_LATER))
    for _ in range(3):
        program.xadd(STREAM, REQUEST)
    async with connect(valkey, abandoned_seconds=0.2).consume_triggers(lambda _: None, handler):
        await until(lambda: len(handler.handled) >= 3)
        waiting = program.xpending_range(STREAM, GROUP, "-", "+", 10)
        assert [each["times_delivered"] for each in waiting] == [
            1,
            1,
            1,
        ]  # waiting does not count as an attempt
        # No entry of the batch looks abandoned, also not those that are handled later.
        assert len({each["time_since_delivered"] for each in waiting}) == 1
        handler.result = EntryResult(EntryStatus.ACCEPTED)
        await until(lambda: pending(program) == 0)
    assert program.xlen(DEAD) == 0


async def test_entry_that_a_stopping_worker_requeues_is_handled_under_its_first_id(
    valkey, program, connect
):
    """A stop counts once for each id: under a new one it would also end what was said after it."""
    entry = program.xadd(STREAM, REQUEST)
    waiting = RecordingHandler(result=EntryResult(EntryStatus.RETRY_LATER))
    async with connect(valkey).consume_triggers(lambda _: None, waiting):
        await until(lambda: waiting.handled)
    handler = RecordingHandler()
    async with connect(valkey).consume_triggers(lambda _: None, handler):
        await until(lambda: handler.handled)
    ((again, fields),) = handler.handled
    assert (again, fields) == (entry, REQUEST)


async def test_failing_entry_is_tried_six_times_and_then_moves_to_the_dead_stream(
    valkey, program, connect
):
    handler = RecordingHandler(result=EntryResult(EntryStatus.FAILED, "it broke"))
    program.xadd(STREAM, REQUEST)
    async with connect(valkey, abandoned_seconds=0.05).consume_triggers(lambda _: None, handler):
        await until(lambda: program.xlen(DEAD), 20)
    assert len(handler.handled) == 6
    ((_, fields),) = program.xrange(DEAD)
    assert fields["reason"] == "Given up after 6 attempts: it broke"


async def test_entries_of_a_killed_worker_are_claimed_by_another(valkey, program, connect):
    entry = program.xadd(STREAM, REQUEST)
    with worker_process(valkey, "waits") as process:
        assert await asyncio.to_thread(process.stdout.readline) == f"{entry}\n"
        process.kill()
        process.wait()
    handler = RecordingHandler()
    options = {"abandoned_seconds": 0.3, "gone_seconds": 0.5}
    async with connect(valkey, **options).consume_triggers(lambda _: None, handler):
        await until(lambda: handler.handled)
        assert handler.handled == [(entry, REQUEST)]
        await until(lambda: consumers(program) == [f"worker-{socket.gethostname()}-{os.getpid()}"])
    assert program.xlen(DEAD) == 0


async def test_entry_that_kills_its_workers_moves_to_the_dead_stream(valkey, program, connect):
    program.xadd(STREAM, REQUEST)
    for _ in range(6):
        with worker_process(valkey, "dies") as process:
            assert await asyncio.to_thread(process.stdout.readline)
            assert await asyncio.to_thread(process.wait) == -9
    handler = RecordingHandler()
    async with connect(valkey, abandoned_seconds=0.1).consume_triggers(lambda _: None, handler):
        await until(lambda: program.xlen(DEAD))
    ((_, fields),) = program.xrange(DEAD)
    assert "each time the worker died" in fields["reason"]
    assert handler.handled == []


async def test_hint_of_a_program_that_exits_at_once_is_sent(valkey, program):
    trigger = str(uuid4())
    code = (
        "import sys, uuid; from paca.bus.redis.bus import RedisBus;"
        "RedisBus(sys.argv[1]).wake(uuid.UUID(sys.argv[2]))"
    )
    await asyncio.to_thread(
        subprocess.run, [sys.executable, "-c", code, valkey.url, trigger], check=True
    )
    assert [fields for _, fields in program.xrange(STREAM)] == [{"trigger_id": trigger}]
