"""Redis goes away and comes back, in every way it can: what is published then is heard after."""

import asyncio
import time
from collections.abc import Callable
from uuid import uuid4

import pytest

from paca.bus.base import ConversationSignal, EventsCommitted, HintsLost, LiveFrame, TriggerDue
from paca.bus.redis.publisher import Outbox
from tests.bus.busy import RecordingHandler, until
from tests.support.valkey_server import ValkeyServer

pytestmark = [pytest.mark.anyio, pytest.mark.service]

ALL = (EventsCommitted, LiveFrame, ConversationSignal, HintsLost)
LATE_SECONDS = 2.0  # promised
TOPIC = "conversation:1"


def stopped(server: ValkeyServer) -> Callable[[], None]:
    server.stop()
    return server.start


def killed(server: ValkeyServer) -> Callable[[], None]:
    server.kill()
    return server.start


def frozen(server: ValkeyServer) -> Callable[[], None]:
    server.freeze()
    return server.thaw


@pytest.mark.parametrize("outage", [stopped, killed])
async def test_what_is_published_meanwhile_is_heard_within_two_seconds_of_its_return(
    own_valkey, connect, outage
):
    bus, heard = connect(own_valkey), []
    with bus.listen(ALL, heard.append):
        bus.announce(TOPIC, 1)
        await until(lambda: EventsCommitted(TOPIC, 1) in heard)
        come_back = outage(own_valkey)
        bus.announce(TOPIC, 2)
        bus.live(TOPIC, {"n": 1})
        await asyncio.sleep(0.3)
        come_back()
        await until(lambda: HintsLost() in heard, LATE_SECONDS)
        bus.announce(TOPIC, 3)
        await until(lambda: EventsCommitted(TOPIC, 3) in heard, LATE_SECONDS)


async def test_a_server_that_hangs_is_left_and_found_again(own_valkey, connect):
    bus, heard = connect(own_valkey), []
    with bus.listen(ALL, heard.append):
        come_back = frozen(own_valkey)
        bus.announce(TOPIC, 1)
        await asyncio.sleep(2.5)  # longer than anybody waits for its answer
        come_back()
        await until(
            lambda: EventsCommitted(TOPIC, 1) in heard or HintsLost() in heard, LATE_SECONDS
        )
        bus.announce(TOPIC, 2)
        await until(lambda: EventsCommitted(TOPIC, 2) in heard, LATE_SECONDS)


async def test_a_bus_that_begins_without_redis_says_that_something_was_missed(own_valkey, connect):
    own_valkey.kill()
    bus, heard, woken = connect(own_valkey), [], []
    trigger = uuid4()
    with bus.listen(ALL, heard.append):
        async with bus.consume_triggers(woken.append, RecordingHandler()):
            bus.wake(trigger)
            own_valkey.start()
            await until(lambda: HintsLost() in heard, LATE_SECONDS)
            await until(lambda: TriggerDue(trigger) in woken, LATE_SECONDS)


@pytest.mark.parametrize("durable", [True, False])
async def test_the_group_is_there_again_after_a_kill(tmp_path, connect, durable):
    with ValkeyServer(tmp_path, durable=durable) as server:
        bus, woken = connect(server), []
        async with bus.consume_triggers(woken.append, RecordingHandler()):
            bus.wake(uuid4())
            await until(lambda: woken)
            server.kill()
            server.start()
            await until(lambda: HintsLost() in woken, LATE_SECONDS)
            trigger = uuid4()
            bus.wake(trigger)
            await until(lambda: TriggerDue(trigger) in woken, LATE_SECONDS)


async def test_the_group_is_there_again_after_a_wipe(valkey, connect):
    bus, woken = connect(valkey), []
    async with bus.consume_triggers(woken.append, RecordingHandler()):
        bus.wake(uuid4())
        await until(lambda: woken)
        for _ in range(3):
            woken.clear()
            valkey.wipe()
            await until(lambda: HintsLost() in woken, LATE_SECONDS)
            trigger = uuid4()
            bus.wake(trigger)
            await until(lambda trigger=trigger: TriggerDue(trigger) in woken, LATE_SECONDS)


async def test_what_another_program_added_without_a_group_is_read_from_the_beginning(
    valkey, connect
):
    with valkey.client() as program:
        program.xadd("paca:agent:triggers", {"type": "agent.chat_message", "message": "Early"})
    handler = RecordingHandler()
    async with connect(valkey).consume_triggers(lambda _: None, handler):
        await until(lambda: handler.asked)
    assert [fields["message"] for _, fields in handler.asked] == ["Early"]


async def test_connections_that_the_server_has_closed_are_not_used_again(valkey, connect):
    bus, heard, woken = connect(valkey), [], []
    with bus.listen(ALL, heard.append):
        async with bus.consume_triggers(woken.append, RecordingHandler()):
            bus.announce(TOPIC, 1)
            await until(lambda: heard)
            for round_ in range(2, 6):
                with valkey.client() as program:
                    for kind in ("normal", "pubsub"):
                        program.execute_command("CLIENT", "KILL", "TYPE", kind, "SKIPME", "yes")
                trigger = uuid4()
                bus.wake(trigger)
                await until(lambda trigger=trigger: TriggerDue(trigger) in woken, LATE_SECONDS)
                await until(lambda: HintsLost() in heard, LATE_SECONDS)
                bus.announce(TOPIC, round_)
                await until(lambda n=round_: EventsCommitted(TOPIC, n) in heard, LATE_SECONDS)
                heard.clear()


async def test_publishing_costs_no_time_and_bounded_memory_while_redis_hangs(own_valkey, connect):
    bus, heard = connect(own_valkey), []
    bus.signal(uuid4())  # the connection is there, and then nothing answers
    await until(lambda: own_valkey.connections("paca-bus-publisher"))
    own_valkey.freeze()
    began = time.perf_counter()
    for n in range(30_000):
        bus.live(TOPIC, {"n": n})
    assert time.perf_counter() - began < 5
    assert len(bus._publisher.outbox) <= 10_000
    frame = {"text": "x" * 1_000_000}
    for _ in range(100):
        bus.live(TOPIC, frame)
    assert len(bus._publisher.outbox) <= 33
    own_valkey.thaw()
    with bus.listen(ALL, heard.append):
        bus.announce(TOPIC, 7)
        await until(lambda: EventsCommitted(TOPIC, 7) in heard, 10)  # what is newest is not dropped


async def test_a_burst_waits_as_one(own_valkey, connect):
    own_valkey.kill()
    bus = connect(own_valkey)
    for seq in range(10_000):
        bus.announce(TOPIC, seq)
    assert len(bus._publisher.outbox) == 1


def test_of_two_commits_that_tell_of_themselves_in_the_other_order_the_later_counts():
    outbox = Outbox()
    outbox.put_newest(TOPIC, "agent.message.received", 2, ("the second",))
    outbox.put_newest(TOPIC, "agent.message.received", 1, ("the first",))
    assert outbox.take(0) == [("the second",)]


async def test_the_number_of_connections_stays_the_same(own_valkey, connect):
    bus, heard, woken = connect(own_valkey), [], []
    with bus.listen(ALL, heard.append):
        async with bus.consume_triggers(woken.append, RecordingHandler()):
            bus.signal(uuid4())
            await until(lambda: heard)
            ours = ["paca-bus-publisher", "paca-bus-queue", "paca-bus-subscriber"]
            await until(lambda: own_valkey.connections() == ours)
            for n in range(10_000):
                bus.live(TOPIC, {"n": n})
            await until(lambda: heard[-1] == LiveFrame(TOPIC, {"n": 9_999}), 30)
            assert own_valkey.connections() == ours
            for _ in range(20):
                heard.clear()
                own_valkey.kill()
                own_valkey.start()
                await until(lambda: HintsLost() in heard, LATE_SECONDS)
            bus.signal(uuid4())
            await until(lambda: len(own_valkey.connections()) == 3, LATE_SECONDS)
            assert own_valkey.connections() == ours
    await until(lambda: own_valkey.connections("paca-bus-subscriber") == [])


async def test_waiting_for_work_is_no_loss(valkey, connect):
    bus, woken = connect(valkey), []
    async with bus.consume_triggers(woken.append, RecordingHandler()):
        bus.wake(uuid4())
        await until(lambda: woken)
        with valkey.client() as program:
            before = {each["id"] for each in program.client_list() if "queue" in each["name"]}
        await asyncio.sleep(2.5)  # more than twice as long as it waits at a time
        with valkey.client() as program:
            after = {each["id"] for each in program.client_list() if "queue" in each["name"]}
        assert before == after
    assert HintsLost() not in woken
