"""The delivery to one viewer sends live text at most every 50 ms, and the newest state of what runs."""

import asyncio
import json

from paca import events
from paca.bus.base import EventsCommitted, LiveFrame
from paca.realtime.delivery import LIVE_SECONDS, Delivery
from paca.realtime.live_states import MAX_STATES, LiveStates
from paca.realtime.recent_events import EventFrame

TOPIC = "conversation:1"


def word(n: int) -> LiveFrame:
    event = events.TextStreamed(call_id="c1", offset=2 * n, text=f"{n} ")
    return LiveFrame(TOPIC, {"type": event.type, "seq": None, "data": event.payload()})


def test_live_text_that_arrives_during_a_slow_read_is_sent_at_most_every_fifty_milliseconds():
    asyncio.run(_deliver_text_during_a_slow_read())


async def _deliver_text_during_a_slow_read() -> None:
    loop = asyncio.get_running_loop()
    sent_at: dict[str, float] = {}
    all_sent = asyncio.Event()

    async def read(after: int, _limit: int) -> list[EventFrame]:
        """A slow query: live text becomes due during it, and more text arrives."""
        if after:
            return []
        delivery.on_hint(word(0))
        await asyncio.sleep(LIVE_SECONDS)
        delivery.on_hint(word(1))
        return [
            EventFrame(
                seq=1, type="agent.turn.started", call_id="", text='{"data": {"text": "row"}}'
            )
        ]

    async def send(text: str) -> None:
        sent_at[json.loads(text)["data"]["text"]] = loop.time()
        if "0 " in text:
            delivery.on_hint(word(2))
        if "2 " in text:
            all_sent.set()

    delivery = Delivery(read=read, send=send, request_live_text=lambda: None)
    following = asyncio.create_task(delivery.follow())
    await asyncio.sleep(0)
    delivery.on_hint(EventsCommitted(TOPIC, 1))
    async with asyncio.timeout(60):
        await all_sent.wait()
    following.cancel()
    assert list(sent_at) == ["row", "0 1 ", "2 "]
    assert sent_at["2 "] - sent_at["0 1 "] >= LIVE_SECONDS * 0.99


def helper(helper_id: str, **fields: str) -> LiveFrame:
    event = events.SubagentProgressed(subagent_id=helper_id, status="running", **fields)
    return LiveFrame(TOPIC, {"type": event.type, "seq": None, "data": event.payload()})


def test_states_of_helpers_that_wait_become_one_frame_each_with_all_that_was_told():
    asyncio.run(_deliver_states())


async def _deliver_states() -> None:
    sent: list[tuple[str, str, str]] = []
    both_sent = asyncio.Event()

    async def read(after: int, limit: int) -> list[EventFrame]:
        return []

    async def send(text: str) -> None:
        data = json.loads(text)["data"]
        sent.append((data["subagent_id"], data["tool"], data["activity"]))
        if len(sent) == 2:
            both_sent.set()

    delivery = Delivery(read=read, send=send, request_live_text=lambda: None)
    following = asyncio.create_task(delivery.follow())
    await asyncio.sleep(0)
    delivery.on_hint(helper("a", tool="bash", activity="running_tool"))
    delivery.on_hint(helper("b", activity="thinking"))
    delivery.on_hint(helper("a", activity="thinking"))
    async with asyncio.timeout(60):
        await both_sent.wait()
    following.cancel()
    assert sent == [("b", "", "thinking"), ("a", "bash", "thinking")]


def test_states_that_wait_are_bounded_in_number():
    states = LiveStates()
    for number in range(MAX_STATES + 2):
        states.add(helper(str(number)).frame)
    taken = [frame["data"]["subagent_id"] for frame in states.take()]
    assert taken == [str(number) for number in range(2, MAX_STATES + 2)]
    assert not states
