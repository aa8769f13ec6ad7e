"""The relay that starts with the first socket, for servers that send no lifespan events."""

import asyncio
from typing import Any
from uuid import UUID

from paca.bus.base import EventsCommitted, Hint
from paca.bus.memory import MemoryBus
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
            send(await received.get())

    async def open_sockets(self, count: int) -> list[Hint]:
        """Open sockets at once; gives the hints that they receive."""
        hints: list[Hint] = []
        async with asyncio.timeout(10), asyncio.TaskGroup() as group:
            for _ in range(count):
                group.create_task(self.application({"type": "websocket"}, None, hints.append))
            await asyncio.sleep(0)
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
