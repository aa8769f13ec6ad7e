"""The queue of the workers: one takes each entry, none is lost, and what nobody can take is set aside."""

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
from tests.bus.busy import RecordingHandler, until

pytestmark = [pytest.mark.anyio, pytest.mark.service]

STREAM, GROUP, DEAD = "paca:agent:triggers", "ai-agent-workers", "paca:agent:triggers:dead"
REQUEST = {"type": "agent.chat_message", "message": "Grüß dich"}


@pytest.fixture
def program(valkey):
    """Another program, with a client of its own."""
    with valkey.client() as client:
        yield client


@contextmanager
def consumer(valkey, end: str):
    command = [sys.executable, "-m", "tests.bus.consumer_process", valkey.url, end]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def pending(program) -> int:
    return program.xpending(STREAM, GROUP)["pending"]


def waits_for_entries(program) -> bool:
    clients = [each for each in program.client_list() if each["name"] == "paca-bus-queue"]
    return any("b" in each["flags"] for each in clients)


def consumers(program) -> list[str]:
    return [each["name"] for each in program.xinfo_consumers(STREAM, GROUP)]


async def test_a_wake_up_stands_in_the_stream_with_its_facts_and_is_acknowledged(
    valkey, program, connect
):
    bus, woken = connect(valkey), []
    trigger = uuid4()
    async with bus.consume_triggers(woken.append, RecordingHandler()):
        bus.wake(trigger, {"type": "agent.chat_message", "conversation_id": "c"})
        await until(lambda: woken)
        assert consumers(program) == [f"worker-{socket.gethostname()}-{os.getpid()}"]
        await until(lambda: pending(program) == 0)
    ((_, fields),) = program.xrange(STREAM)
    assert fields == {
        "trigger_id": str(trigger),
        "type": "agent.chat_message",
        "conversation_id": "c",
    }


async def test_a_worker_that_ends_leaves_no_name_and_lets_nobody_wait(
    valkey, program, connect, monkeypatch
):
    # One that is not woken to its end would wait for entries longer than this test does.
    monkeypatch.setattr(consumer_group, "BLOCK_SECONDS", 30.0)
    monkeypatch.setattr(connection, "ANSWER_SECONDS", 60.0)
    bus = connect(valkey)
    async with bus.consume_triggers(lambda _: None, RecordingHandler()):
        await until(lambda: waits_for_entries(program) and consumers(program))
    await until(lambda: consumers(program) == [])


async def test_each_wake_up_goes_to_one_of_two_workers(valkey, connect):
    one, other = [], []
    triggers = [uuid4() for _ in range(50)]
    first, second = connect(valkey), connect(valkey, consumer="another")
    async with (
        first.consume_triggers(one.append, RecordingHandler()),
        second.consume_triggers(other.append, RecordingHandler()),
    ):
        for trigger in triggers:
            first.wake(trigger)
        await until(lambda: len(one) + len(other) >= 50)
        await asyncio.sleep(0.1)
    assert sorted([*one, *other], key=str) == sorted(map(TriggerDue, triggers), key=str)


async def test_a_worker_without_room_leaves_the_work_to_others(valkey, program, connect):
    full, free = RecordingHandler(most=0), RecordingHandler()
    bus, to_full, to_free = connect(valkey), [], []
    async with bus.consume_triggers(to_full.append, full):
        bus.wake(uuid4())
        program.xadd(STREAM, REQUEST)
        await until(lambda: program.xlen(STREAM) == 2)
        async with connect(valkey).consume_triggers(to_free.append, free):
            await until(lambda: to_free and free.asked)
    assert to_full == []
    assert full.asked == []


async def test_a_worker_without_room_hears_a_stop_and_leaves_the_entry_where_it_is(
    valkey, program, connect
):
    """What is to be stopped may be all that the workers do."""
    full, stop = RecordingHandler(most=0), {"type": "agent.stop", "conversation_id": "c"}
    bus = connect(valkey)
    async with bus.consume_triggers(lambda _: None, full):
        bus.wake(uuid4(), {"type": "agent.stop"})  # ours: whom it is for has heard of it already
        program.xadd(STREAM, {b"type": b"agent.stop", b"by": b"\xff"})
        program.xadd(STREAM, REQUEST)
        entry = program.xadd(STREAM, stop)
        await until(lambda: full.asked)
        await asyncio.sleep(0.3)  # it looks several times meanwhile
        assert full.asked == [(entry, stop)]
        assert pending(program) == 0
        full.most = 10
        await until(lambda: program.xinfo_groups(STREAM)[0]["lag"] == 0)
        await until(lambda: pending(program) == 0)
    assert [asked for asked, _ in full.asked].count(entry) == 2


async def test_a_stop_that_no_database_could_hear_is_looked_at_again(valkey, program, connect):
    full = RecordingHandler(most=0, result=EntryResult(EntryStatus.RETRY_LATER))
    async with connect(valkey).consume_triggers(lambda _: None, full):
        program.xadd(STREAM, {"type": "agent.stop", "conversation_id": "c"})
        await until(lambda: len(full.asked) >= 2)


async def test_a_worker_without_room_survives_a_wipe(valkey, program, connect):
    full = RecordingHandler(most=0)
    async with connect(valkey).consume_triggers(lambda _: None, full):
        for _ in range(2):
            program.flushall()
            program.xadd(STREAM, {"type": "agent.stop", "conversation_id": "c"})
            await until(lambda: full.asked)
            full.asked.clear()


async def test_a_wake_up_that_comes_when_the_room_is_gone_is_passed_on(valkey, connect):
    """It is read by a worker that had room when it began to wait."""
    bus, to_full, to_free = connect(valkey), [], []
    full = RecordingHandler()
    async with bus.consume_triggers(to_full.append, full):
        bus.wake(uuid4())
        await until(lambda: to_full)  # it waits for the next now
        full.most = 0
        trigger = uuid4()
        async with connect(valkey).consume_triggers(to_free.append, RecordingHandler()):
            for _ in range(20):
                bus.wake(trigger)
            await until(lambda: to_free.count(TriggerDue(trigger)) == 20)
    assert len(to_full) == 1


async def test_what_another_program_asks_for_is_taken_in_once(valkey, program, connect):
    handler = RecordingHandler()
    entry = program.xadd(STREAM, REQUEST)
    async with connect(valkey).consume_triggers(lambda _: None, handler):
        await until(lambda: handler.asked)
        await until(lambda: pending(program) == 0)
    assert handler.asked == [(entry, REQUEST)]


async def test_what_is_refused_is_set_aside_whole_with_the_reason(valkey, program, connect):
    handler = RecordingHandler(result=EntryResult(EntryStatus.REJECTED, "Nobody of this name."))
    entry = program.xadd(STREAM, REQUEST)
    async with connect(valkey).consume_triggers(lambda _: None, handler):
        await until(lambda: program.xlen(DEAD))
        assert pending(program) == 0
    ((_, fields),) = program.xrange(DEAD)
    assert fields == {**REQUEST, "reason": "Nobody of this name.", "entry_id": entry}


@pytest.mark.parametrize(
    ("fields", "word"),
    [
        ({"trigger_id": "seven"}, "trigger_id is not a UUID"),
        ({"trigger_id": b"\xff"}, "trigger_id is not a UUID"),
        ({"type": "agent.chat_message", "message": b"\xff\xfe"}, "not UTF-8"),
        ({b"\xff": "x"}, "not UTF-8"),
    ],
)
async def test_bytes_that_are_no_text_are_set_aside_as_they_are(valkey, connect, fields, word):
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
    assert handler.asked == []


async def test_an_entry_waits_as_long_as_the_database_is_away(valkey, program, connect):
    handler = RecordingHandler(result=EntryResult(EntryStatus.RETRY_LATER))
    for _ in range(3):
        program.xadd(STREAM, REQUEST)
    async with connect(valkey, abandoned_seconds=0.2).consume_triggers(lambda _: None, handler):
        await until(lambda: len(handler.asked) >= 3)
        waiting = program.xpending_range(STREAM, GROUP, "-", "+", 10)
        assert [each["times_delivered"] for each in waiting] == [1, 1, 1]  # waiting is no attempt
        # And none looks abandoned, also of those whose turn it is not yet.
        assert len({each["time_since_delivered"] for each in waiting}) == 1
        handler.result = EntryResult(EntryStatus.ACCEPTED)
        await until(lambda: pending(program) == 0)
    assert program.xlen(DEAD) == 0


async def test_a_worker_that_ends_hands_what_waits_to_another(valkey, program, connect):
    entry = program.xadd(STREAM, REQUEST)
    without = RecordingHandler(result=EntryResult(EntryStatus.RETRY_LATER))
    async with connect(valkey).consume_triggers(lambda _: None, without):
        await until(lambda: without.asked)
    handler = RecordingHandler()
    async with connect(valkey).consume_triggers(lambda _: None, handler):
        await until(lambda: handler.asked)
    ((again, fields),) = handler.asked
    assert (again != entry, fields) == (True, REQUEST)


async def test_what_fails_is_tried_six_times_and_then_set_aside(valkey, program, connect):
    handler = RecordingHandler(result=EntryResult(EntryStatus.FAILED, "it broke"))
    program.xadd(STREAM, REQUEST)
    async with connect(valkey, abandoned_seconds=0.05).consume_triggers(lambda _: None, handler):
        await until(lambda: program.xlen(DEAD), 20)
    assert len(handler.asked) == 6
    ((_, fields),) = program.xrange(DEAD)
    assert fields["reason"] == "Given up after 6 attempts: it broke"


async def test_what_a_killed_worker_had_in_hand_is_taken_by_another(valkey, program, connect):
    entry = program.xadd(STREAM, REQUEST)
    with consumer(valkey, "waits") as process:
        assert await asyncio.to_thread(process.stdout.readline) == f"{entry}\n"
        process.kill()
        process.wait()
    handler = RecordingHandler()
    options = {"abandoned_seconds": 0.3, "gone_seconds": 0.5}
    async with connect(valkey, **options).consume_triggers(lambda _: None, handler):
        await until(lambda: handler.asked)
        assert handler.asked == [(entry, REQUEST)]
        await until(lambda: consumers(program) == [f"worker-{socket.gethostname()}-{os.getpid()}"])
    assert program.xlen(DEAD) == 0


async def test_an_entry_that_kills_its_workers_is_set_aside(valkey, program, connect):
    program.xadd(STREAM, REQUEST)
    for _ in range(6):
        with consumer(valkey, "dies") as process:
            assert await asyncio.to_thread(process.stdout.readline)
            assert await asyncio.to_thread(process.wait) == -9
    handler = RecordingHandler()
    async with connect(valkey, abandoned_seconds=0.1).consume_triggers(lambda _: None, handler):
        await until(lambda: program.xlen(DEAD))
    ((_, fields),) = program.xrange(DEAD)
    assert "each time the worker died" in fields["reason"]
    assert handler.asked == []


async def test_a_program_that_ends_at_once_has_said_what_it_did(valkey, program):
    trigger = str(uuid4())
    code = (
        "import sys, uuid; from paca.bus.redis.bus import RedisBus;"
        "RedisBus(sys.argv[1]).wake(uuid.UUID(sys.argv[2]))"
    )
    await asyncio.to_thread(
        subprocess.run, [sys.executable, "-c", code, valkey.url, trigger], check=True
    )
    assert [fields for _, fields in program.xrange(STREAM)] == [{"trigger_id": trigger}]
