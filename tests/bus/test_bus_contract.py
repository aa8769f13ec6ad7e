"""The contract of the bus: the same tests run on the memory bus and on Redis."""

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from statistics import median
from uuid import uuid4

import pytest

import paca.bus
from paca.bus.base import (
    Bus,
    ConversationSignal,
    EventsCommitted,
    Hint,
    LiveFrame,
    Signal,
    TriggerDue,
)
from paca.bus.memory import MemoryBus
from tests.bus.helpers import RecordingHandler
from tests.support.waiting import until

pytestmark = [pytest.mark.anyio, pytest.mark.service]

ALL = (EventsCommitted, LiveFrame, ConversationSignal)


@pytest.fixture(params=["memory", "redis"])
def bus(request) -> Bus:
    if request.param == "memory":
        return MemoryBus()
    return request.getfixturevalue("connect")(request.getfixturevalue("valkey"))


async def test_bus_delivers_each_kind_of_hint_unchanged_and_in_order(bus: Bus):
    heard: list[Hint] = []
    conversation = uuid4()
    async with bus.listen(ALL, heard.append):
        bus.announce("conversation:1", 7)
        bus.live("conversation:1", {"type": "agent.text.streamed", "data": {"text": "é"}})
        bus.signal(conversation)
        bus.signal(conversation, Signal.ATTACH)
        await until(lambda: len(heard) == 4)
    assert heard == [
        EventsCommitted("conversation:1", 7),
        LiveFrame("conversation:1", {"type": "agent.text.streamed", "data": {"text": "é"}}),
        ConversationSignal(conversation, Signal.INBOX),
        ConversationSignal(conversation, Signal.ATTACH),
    ]


async def test_bus_wakes_a_worker_for_each_trigger(bus: Bus):
    heard: list[Hint] = []
    triggers = [uuid4() for _ in range(20)]
    async with bus.consume_triggers(heard.append, RecordingHandler()):
        for trigger in triggers:
            bus.wake(trigger, {"type": "agent.chat_message"})
        await until(lambda: len(heard) == 20)
    assert heard == [TriggerDue(trigger) for trigger in triggers]


async def test_listener_gets_only_the_kinds_that_it_asked_for(bus: Bus):
    signals: list[Hint] = []
    everything: list[Hint] = []
    async with (
        bus.listen((ConversationSignal,), signals.append),
        bus.listen(ALL, everything.append),
    ):
        bus.announce("conversation:1", 1)
        bus.signal(uuid4())
        await until(lambda: len(everything) == 2)
        await until(lambda: len(signals) == 1)
    assert [type(hint) for hint in signals] == [ConversationSignal]


async def test_listener_gets_nothing_after_its_block_has_ended(bus: Bus):
    heard: list[Hint] = []
    others: list[Hint] = []
    async with bus.listen(ALL, heard.append):
        bus.signal(uuid4())
    async with bus.consume_triggers(heard.append, RecordingHandler()):
        pass
    heard.clear()
    async with (
        bus.listen(ALL, others.append),
        bus.consume_triggers(others.append, RecordingHandler()),
    ):
        bus.signal(uuid4())
        bus.wake(uuid4())
        await until(lambda: {ConversationSignal, TriggerDue} <= {type(each) for each in others})
    assert heard == []


async def test_burst_of_announcements_is_coalesced_and_ends_with_the_highest_number(bus: Bus):
    heard: list[EventsCommitted] = []
    async with bus.listen((EventsCommitted,), heard.append):
        for seq in range(1, 1001):
            bus.announce("conversation:1", seq)
        bus.announce("conversation:2", 5)
        await until(lambda: any(hint.topic == "conversation:2" for hint in heard))
    assert [hint.seq for hint in heard if hint.topic == "conversation:1"][-1] == 1000
    assert len(heard) < 100


async def test_announcement_never_overtakes_a_live_frame_published_before_it(bus: Bus):
    heard: list[Hint] = []
    async with bus.listen(ALL, heard.append):
        bus.announce("conversation:1", 1)
        bus.live("conversation:1", {"n": 1})
        bus.announce("conversation:1", 2)
        await until(lambda: EventsCommitted("conversation:1", 2) in heard)
    assert heard.index(LiveFrame("conversation:1", {"n": 1})) < heard.index(
        EventsCommitted("conversation:1", 2)
    )


async def test_hints_of_any_thread_are_delivered_in_the_listeners_loop(bus: Bus):
    heard: list[int] = []
    threads: set[int] = set()

    def deliver(hint: Hint) -> None:
        threads.add(threading.get_ident())
        assert isinstance(hint, LiveFrame)
        heard.append(hint.frame["n"])

    def publish(start: int) -> None:
        for n in range(start, start + 200):
            bus.live("conversation:1", {"n": n})

    async with bus.listen((LiveFrame,), deliver):
        publishers = [threading.Thread(target=publish, args=(n * 200,)) for n in range(5)]
        for thread in publishers:
            thread.start()
        await until(lambda: len(heard) == 1000)
        for thread in publishers:
            thread.join()
    assert sorted(heard) == list(range(1000))
    for start in range(0, 1000, 200):  # the hints of one thread keep their order
        own = [n for n in heard if start <= n < start + 200]
        assert own == sorted(own)
    assert threads == {threading.get_ident()}


async def test_listener_that_raises_stops_neither_the_publisher_nor_the_next_hint(bus: Bus):
    reported: list[dict] = []
    asyncio.get_running_loop().set_exception_handler(
        lambda _loop, context: reported.append(context)
    )
    heard: list[Hint] = []
    first, second = uuid4(), uuid4()

    def deliver(hint: Hint) -> None:
        heard.append(hint)
        if hint == ConversationSignal(first, Signal.INBOX):
            raise ValueError("a bug of this listener")

    async with bus.listen((ConversationSignal,), deliver):
        bus.signal(first)
        bus.signal(second)
        await until(lambda: len(heard) == 2)
    assert isinstance(reported[0]["exception"], ValueError)


async def test_listener_of_a_closed_loop_is_dropped_and_the_others_still_get_hints(bus: Bus):
    listening = bus.listen(ALL, lambda hint: None)  # kept: it would end if it were collected

    def close_loop_while_listening() -> None:
        loop = asyncio.new_event_loop()

        async def enter() -> None:
            await listening.__aenter__()

        loop.run_until_complete(enter())
        loop.close()

    await asyncio.to_thread(close_loop_while_listening)
    heard: list[Hint] = []
    async with bus.listen(ALL, heard.append):
        bus.signal(uuid4())
        bus.signal(uuid4())
        await until(lambda: len(heard) == 2)


async def test_listener_of_a_blocked_loop_delays_no_publisher_and_takes_bounded_memory():
    bus = MemoryBus()
    release, ready = threading.Event(), threading.Event()
    last = LiveFrame("conversation:1", {"n": "last"})
    heard: list[Hint] = []

    def listen_and_block() -> None:
        async def main() -> None:
            async with bus.listen(ALL, heard.append):
                ready.set()
                release.wait(30)  # blocks the event loop
                await until(lambda: heard[-1:] == [last])

        asyncio.run(main())

    thread = threading.Thread(target=listen_and_block)
    thread.start()
    assert await asyncio.to_thread(ready.wait, 5)
    for n in range(30_000):
        bus.live("conversation:1", {"n": n})
    assert heard == [], "all are published before the listener takes the first"
    release.set()
    await until(lambda: heard)
    bus.live(last.topic, last.frame)
    await asyncio.to_thread(thread.join)
    assert 2 <= len(heard) <= 10_001


async def test_hint_between_two_threads_takes_about_a_millisecond(bus: Bus):
    loop = asyncio.get_running_loop()
    delays: list[float] = []
    bare: list[float] = []  # the same way without a bus: what a busy machine adds to each step

    def note(at: float) -> None:
        bare.append(time.perf_counter() - at)

    async with bus.listen(
        (LiveFrame,), lambda hint: delays.append(time.perf_counter() - hint.frame["at"])
    ):

        def publish() -> None:
            for _ in range(500):
                loop.call_soon_threadsafe(note, time.perf_counter())
                bus.live("conversation:1", {"at": time.perf_counter()})
                time.sleep(0.001)

        await asyncio.to_thread(publish)
        await until(lambda: len(delays) == 500)
    allowed = 0.010 + 20 * median(bare)
    assert median(delays) < allowed, f"p50 {median(delays) * 1000:.2f} ms"


def test_get_bus_gives_the_same_bus_to_every_thread(monkeypatch):
    all_started = threading.Barrier(8)

    def make_slowly() -> Bus:
        time.sleep(0.05)  # time for the other threads to find no bus
        return MemoryBus()

    def get_after_all_started(_: int) -> Bus:
        all_started.wait(10)
        return paca.bus.get_bus()

    monkeypatch.setattr(paca.bus, "_bus", None)
    monkeypatch.setattr(paca.bus, "_make_bus", make_slowly)
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(get_after_all_started, range(8)))
    assert all(bus is found[0] for bus in found)
