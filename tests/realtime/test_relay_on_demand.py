"""The relay that starts with the first socket, for servers that send no lifespan events."""

import asyncio
import threading
from typing import Any
from uuid import UUID

from paca.bus.base import EventsCommitted, Hint
from paca.bus.memory import MemoryBus
from paca.bus.redis.bus import RedisBus
from paca.bus.redis.subscriber import Subscriber
from paca.realtime.recent_events import EventFrame
from paca.realtime.relay import Relay, RelayOnDemand

TOPIC = "project:1"


async def no_latest_seqs(_conversation_ids: list[UUID]) -> dict[UUID, int]:
    return {}


async def no_events(_conversation_id: UUID, _after: int, _limit: int) -> list[EventFrame]:
    return []


class Server:
    """A server that sends no lifespan events. Its sockets wait for one hint each."""

    def __init__(self) -> None:
        self.bus = MemoryBus()
        self.started: list[Relay] = []
        self.application = RelayOnDemand(self.wait_for_a_hint, self.make_relay)

    def make_relay(self) -> Relay:
        self.started.append(Relay(self.bus, no_latest_seqs, no_events))
        return self.started[-1]

    async def wait_for_a_hint(self, scope: dict[str, Any], _receive: Any, send: Any) -> None:
        received: asyncio.Queue[Hint] = asyncio.Queue()
        with scope["state"]["relay"].subscribe(TOPIC, received.put_nowait):
            self.subscribed.put_nowait(None)
            send(await received.get())

    async def open_sockets(self, count: int) -> list[Hint]:
        """Open sockets at once; gives the hints that they receive."""
        hints: list[Hint] = []
        self.subscribed: asyncio.Queue[None] = asyncio.Queue()
        async with asyncio.timeout(60), asyncio.TaskGroup() as group:
            for _ in range(count):
                group.create_task(self.application({"type": "websocket"}, None, hints.append))
            for _ in range(count):
                await self.subscribed.get()
            self.bus.announce(TOPIC, 7)
        return hints


def test_first_sockets_that_open_at_once_share_one_relay():
    server = Server()
    assert asyncio.run(server.open_sockets(2)) == [EventsCommitted(TOPIC, 7)] * 2
    assert len(server.started) == 1


def test_relay_is_started_once_for_each_event_loop():
    server = Server()
    for _ in range(2):
        assert asyncio.run(server.open_sockets(1)) == [EventsCommitted(TOPIC, 7)]
    assert len(server.started) == 2


def test_relay_of_the_lifespan_is_used_if_there_is_one():
    server = Server()
    relay = Relay(server.bus, no_latest_seqs, no_events)

    async def socket() -> Relay:
        used: list[Relay] = []

        async def application(scope: dict[str, Any], _receive: Any, _send: Any) -> None:
            used.append(scope["state"]["relay"])

        await RelayOnDemand(application, server.make_relay)({"state": {"relay": relay}}, None, None)
        return used[0]

    assert asyncio.run(socket()) is relay
    assert server.started == []


def test_event_loop_goes_on_while_the_relay_waits_for_redis(monkeypatch):
    redis_answers = threading.Event()
    answered: list[bool] = []

    def wait_for_redis(_subscriber: Subscriber, _seconds: float) -> None:
        answered.append(redis_answers.wait(60))

    monkeypatch.setattr(Subscriber, "start_and_wait", wait_for_redis)
    used: list[Relay] = []

    async def application(scope: dict[str, Any], _receive: Any, _send: Any) -> None:
        used.append(scope["state"]["relay"])

    async def open_sockets() -> None:
        bus = RedisBus("redis://127.0.0.1:9/0")
        on_demand = RelayOnDemand(application, lambda: Relay(bus, no_latest_seqs, no_events))
        async with asyncio.TaskGroup() as group:
            leaving = group.create_task(on_demand({}, None, None))
            for _ in range(2):
                group.create_task(on_demand({}, None, None))
            await asyncio.sleep(0)
            leaving.cancel()
            await asyncio.sleep(0)
            redis_answers.set()  # a blocked event loop would not come here

    asyncio.run(open_sockets())
    assert answered == [True]
    assert len(used) == 2
    assert used[0] is used[1]
