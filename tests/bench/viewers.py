"""Time of one delivery through Redis when a hundred pages watch one conversation."""

from __future__ import annotations

import asyncio
import contextlib
import time
from pathlib import Path
from typing import Any
from uuid import uuid4

from channels_redis.core import RedisChannelLayer

from paca.bus.base import EventsCommitted, HintsLost, LiveFrame, conversation_topic
from paca.bus.redis.bus import RedisBus
from paca.realtime.relay import Relay
from tests.bench.figures import Figure
from tests.support.valkey_server import running

VIEWERS = 100
FRAMES = 2_000
GROUP_SENDS = 200
TEXT = "a piece of text as long as the model's words in a twentieth of a second are "


def one_stream(_folder: Path) -> Figure:
    """Our relay and channels_redis, each in one process. Every viewer gets every frame, in order."""
    with running() as valkey:
        ours = asyncio.run(through_the_relay(valkey.url))
        groups = asyncio.run(through_groups(valkey.url))
    return Figure(
        "viewers",
        ours / (FRAMES * VIEWERS) * 1_000_000,
        groups / (GROUP_SENDS * VIEWERS) * 1_000_000,
        "us",
        f"one delivery, {VIEWERS} viewers of one stream, nothing lost: bus and relay / "
        "group_send of channels_redis, the same Valkey",
        most_times=0.33,
    )


def frame(number: int) -> dict[str, Any]:
    return {"type": "agent.text.streamed", "data": {"offset": number, "text": TEXT}}


async def through_the_relay(url: str) -> float:
    """Seconds until every viewer has every frame, by our bus and relay."""
    bus = RedisBus(url)
    relay = Relay(bus, _nothing_newer, _no_rows)
    conversation = uuid4()
    seen: list[list[int]] = [[] for _ in range(VIEWERS)]
    done = asyncio.Event()

    def viewer(own: list[int]) -> Any:
        def hear(hint: EventsCommitted | LiveFrame | HintsLost) -> None:
            assert isinstance(hint, LiveFrame)
            own.append(hint.frame["data"]["offset"])
            if len(seen[-1]) == FRAMES:
                done.set()

        return hear

    async with relay.running():
        with _all_joined(relay, conversation_topic(conversation), map(viewer, seen)):
            began = time.perf_counter()
            for number in range(FRAMES):
                bus.live(conversation_topic(conversation), frame(number))
            await asyncio.wait_for(done.wait(), 60)
            took = time.perf_counter() - began
    bus.close()
    assert all(own == list(range(FRAMES)) for own in seen)
    return took


async def through_groups(url: str) -> float:
    """The same with groups of channels_redis. By default a channel drops messages beyond a hundred."""
    layer = RedisChannelLayer(hosts=[url], capacity=10 * GROUP_SENDS)
    channels = [await layer.new_channel() for _ in range(VIEWERS)]
    for channel in channels:
        await layer.group_add("stream", channel)

    async def viewer(channel: str) -> list[int]:
        return [(await layer.receive(channel))["data"]["offset"] for _ in range(GROUP_SENDS)]

    began = time.perf_counter()
    async with asyncio.TaskGroup() as group:
        viewers = [group.create_task(viewer(channel)) for channel in channels]
        for number in range(GROUP_SENDS):
            await layer.group_send("stream", frame(number))
    took = time.perf_counter() - began
    assert all(task.result() == list(range(GROUP_SENDS)) for task in viewers)
    await layer.close_pools()
    return took


def _all_joined(relay: Relay, topic: str, viewers: Any) -> contextlib.ExitStack:
    stack = contextlib.ExitStack()
    for hear in viewers:
        stack.enter_context(relay.subscribe(topic, hear))
    return stack


async def _nothing_newer(_conversations: object) -> dict[Any, int]:
    return {}


async def _no_rows(*_: object) -> list[Any]:
    return []
