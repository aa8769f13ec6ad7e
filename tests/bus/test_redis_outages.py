"""Outages of Redis: hints that are published during one arrive after it."""

from collections.abc import Callable
from uuid import uuid4

import pytest

from paca.bus.base import ConversationSignal, EventsCommitted, HintsLost, LiveFrame, TriggerDue
from paca.bus.redis.publisher import Outbox
from tests.bus.helpers import RecordingHandler
from tests.support.promises import LATE_SECONDS, kept
from tests.support.valkey_server import ValkeyServer, lost_links
from tests.support.waiting import until

pytestmark = [pytest.mark.anyio, pytest.mark.service]

ALL = (EventsCommitted, LiveFrame, ConversationSignal, HintsLost)
TOPIC = "conversation:1"


async def until_promised(condition: Callable[[], object]) -> None:
    with kept(LATE_SECONDS):
        await until(condition)


def stop(server: ValkeyServer) -> Callable[[], None]:
    server.stop()
    return server.start


def kill(server: ValkeyServer) -> Callable[[], None]:
    server.kill()
    return server.start


def freeze(server: ValkeyServer) -> Callable[[], None]:
    server.freeze()
    return server.thaw


@pytest.mark.parametrize("outage", [stop, kill])
async def test_hints_published_during_an_outage_arrive_within_two_seconds_of_its_end(
    own_valkey, connect, outage
):
    bus, heard = connect(own_valkey), []
    with lost_links() as lost:
        async with bus.listen(ALL, heard.append):
            bus.announce(TOPIC, 1)
            await until(lambda: EventsCommitted(TOPIC, 1) in heard)
            end_outage = outage(own_valkey)
            bus.announce(TOPIC, 2)
            bus.live(TOPIC, {"n": 1})
            await until(lambda: {"paca-bus-publisher", "paca-bus-subscriber"} <= lost)
            end_outage()
            await until_promised(lambda: HintsLost() in heard)
            bus.announce(TOPIC, 3)
            await until_promised(lambda: EventsCommitted(TOPIC, 3) in heard)


async def test_subscriber_leaves_a_server_that_hangs_and_reconnects(own_valkey, connect):
    bus, heard = connect(own_valkey), []
    with lost_links() as lost:
        async with bus.listen(ALL, heard.append):
            end_outage = freeze(own_valkey)
            bus.announce(TOPIC, 1)
            await until(lambda: {"paca-bus-publisher", "paca-bus-subscriber"} <= lost)
            end_outage()
            await until_promised(lambda: EventsCommitted(TOPIC, 1) in heard or HintsLost() in heard)
            bus.announce(TOPIC, 2)
            await until_promised(lambda: EventsCommitted(TOPIC, 2) in heard)


async def test_listener_started_without_redis_gets_hints_lost(own_valkey, connect):
    own_valkey.kill()
    bus, heard, due = connect(own_valkey), [], []
    trigger = uuid4()
    async with (
        bus.listen(ALL, heard.append),
        bus.consume_triggers(due.append, RecordingHandler()),
    ):
        bus.wake(trigger)
        own_valkey.start()
        await until_promised(lambda: HintsLost() in heard)
        await until_promised(lambda: TriggerDue(trigger) in due)


@pytest.mark.parametrize("durable", [True, False])
async def test_consumer_group_is_created_again_after_a_kill(tmp_path, connect, durable):
    with ValkeyServer(tmp_path, durable=durable) as server:
        bus, due = connect(server), []
        async with bus.consume_triggers(due.append, RecordingHandler()):
            bus.wake(uuid4())
            await until(lambda: due)
            server.kill()
            server.start()
            await until_promised(lambda: HintsLost() in due)
            trigger = uuid4()
            bus.wake(trigger)
            await until_promised(lambda: TriggerDue(trigger) in due)


async def test_consumer_group_is_created_again_after_a_wipe(valkey, connect):
    bus, due = connect(valkey), []
    async with bus.consume_triggers(due.append, RecordingHandler()):
        bus.wake(uuid4())
        await until(lambda: due)
        for _ in range(3):
            due.clear()
            valkey.wipe()
            await until_promised(lambda: HintsLost() in due)
            trigger = uuid4()
            bus.wake(trigger)
            await until_promised(lambda trigger=trigger: TriggerDue(trigger) in due)


async def test_entries_added_before_the_consumer_group_existed_are_read(valkey, connect):
    with valkey.client() as program:
        program.xadd("paca:agent:triggers", {"type": "agent.chat_message", "message": "Early"})
    handler = RecordingHandler()
    async with connect(valkey).consume_triggers(lambda _: None, handler):
        await until(lambda: handler.handled)
    assert [fields["message"] for _, fields in handler.handled] == ["Early"]


async def test_connection_that_the_server_has_closed_is_not_used_again(valkey, connect):
    bus, heard, due = connect(valkey), [], []
    async with (
        bus.listen(ALL, heard.append),
        bus.consume_triggers(due.append, RecordingHandler()),
    ):
        bus.announce(TOPIC, 1)
        await until(lambda: heard)
        for number in range(2, 6):
            with valkey.client() as program:
                for kind in ("normal", "pubsub"):
                    program.execute_command("CLIENT", "KILL", "TYPE", kind, "SKIPME", "yes")
            trigger = uuid4()
            bus.wake(trigger)
            await until_promised(lambda trigger=trigger: TriggerDue(trigger) in due)
            await until_promised(lambda: HintsLost() in heard)
            bus.announce(TOPIC, number)
            await until_promised(lambda n=number: EventsCommitted(TOPIC, n) in heard)
            heard.clear()


async def test_publishing_does_not_wait_and_takes_bounded_memory_while_redis_hangs(
    own_valkey, connect
):
    bus, heard = connect(own_valkey), []
    bus.signal(uuid4())  # connects the publisher before Redis hangs
    await until(lambda: own_valkey.connections("paca-bus-publisher"))
    own_valkey.freeze()  # a publisher that waited for an answer would not come through this loop
    for n in range(30_000):
        bus.live(TOPIC, {"n": n})
    assert len(bus._publisher.outbox) <= 10_000
    frame = {"text": "x" * 1_000_000}
    for _ in range(100):
        bus.live(TOPIC, frame)
    assert len(bus._publisher.outbox) <= 33
    own_valkey.thaw()
    async with bus.listen(ALL, heard.append):
        bus.announce(TOPIC, 7)
        # The newest hints are not dropped.
        await until(lambda: EventsCommitted(TOPIC, 7) in heard, 10)


async def test_outbox_keeps_one_announcement_of_a_burst(own_valkey, connect):
    own_valkey.kill()
    bus = connect(own_valkey)
    for seq in range(10_000):
        bus.announce(TOPIC, seq)
    assert len(bus._publisher.outbox) == 1


def test_outbox_keeps_the_higher_number_of_two_announcements_in_the_wrong_order():
    outbox = Outbox()
    outbox.put_newest(TOPIC, "agent.message.received", 2, ("the second",))
    outbox.put_newest(TOPIC, "agent.message.received", 1, ("the first",))
    assert outbox.take(0) == [("the second",)]


async def test_number_of_redis_connections_stays_constant(own_valkey, connect):
    bus, heard, due = connect(own_valkey), [], []
    async with (
        bus.listen(ALL, heard.append),
        bus.consume_triggers(due.append, RecordingHandler()),
    ):
        bus.signal(uuid4())
        await until(lambda: heard)
        ours = ["paca-bus-publisher", "paca-bus-subscriber", "paca-bus-trigger-stream"]
        await until(lambda: own_valkey.connections() == ours)
        for n in range(10_000):
            bus.live(TOPIC, {"n": n})
        await until(lambda: heard[-1] == LiveFrame(TOPIC, {"n": 9_999}), 30)
        assert own_valkey.connections() == ours
        for _ in range(20):
            heard.clear()
            own_valkey.kill()
            own_valkey.start()
            await until_promised(lambda: HintsLost() in heard)
        bus.signal(uuid4())
        await until_promised(lambda: len(own_valkey.connections()) == 3)
        assert own_valkey.connections() == ours
    await until(lambda: own_valkey.connections("paca-bus-subscriber") == [])


def blocking_reads(server: ValkeyServer) -> int:
    """How many reads of streams the server has carried out."""
    with server.client() as program:
        return int(program.info("commandstats")["cmdstat_xreadgroup"]["calls"])


async def test_reader_that_waits_for_entries_keeps_its_connection(valkey, connect):
    bus, due = connect(valkey), []
    async with bus.consume_triggers(due.append, RecordingHandler()):
        bus.wake(uuid4())
        await until(lambda: due)
        with valkey.client() as program:
            before = {
                each["id"] for each in program.client_list() if "trigger-stream" in each["name"]
            }
        begun = blocking_reads(valkey)
        # One whole blocking read ends between the next two.
        await until(lambda: blocking_reads(valkey) >= begun + 2)
        with valkey.client() as program:
            after = {
                each["id"] for each in program.client_list() if "trigger-stream" in each["name"]
            }
        assert before == after
    assert HintsLost() not in due
