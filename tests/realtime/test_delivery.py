"""The delivery to one viewer sends live text at most every 50 ms."""

import asyncio
import json

from paca import events
from paca.bus.base import EventsCommitted, LiveFrame
from paca.realtime.delivery import LIVE_SECONDS, Delivery
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
    async with asyncio.timeout(10):
        await all_sent.wait()
    following.cancel()
    assert list(sent_at) == ["row", "0 1 ", "2 "]
    assert sent_at["2 "] - sent_at["0 1 "] >= LIVE_SECONDS * 0.99
