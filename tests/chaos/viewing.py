"""R5: many viewers of one log, some cut off and one that never reads: each gets exactly events 1 to n."""

from __future__ import annotations

import asyncio
import json
import random
import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from paca import events
from paca.conversations import store
from tests.chaos.conversation_group import ConversationGroup
from tests.chaos.fork_server import resident_mib
from tests.chaos.report import Report, percentile
from tests.chaos.scripts import DONE, Script
from tests.chaos.testbed import SQLITE, Testbed
from tests.support.flow import ObservedConversation
from tests.support.model_script import says
from tests.support.model_server import ModelServer

LEASE_SECONDS = 15.0
VIEWERS, PEOPLE = 50, 4  # a person may have at most twenty sockets
EVENTS, A_SECOND = 20_000, 100
CUT_EVERY_SECONDS = 10.0
LATE_SECONDS = 0.3
GROWTH_MIB = 100
WAIT_SECONDS = 60


def run(testbed: Testbed, report: Report, *, seed: int, short: bool) -> None:
    if testbed.name == SQLITE:
        report.say("one process writes a file: what it shows is looked at on the services")
        return
    count = 1_000 if short else EVENTS
    with (
        ModelServer() as model,
        testbed.processes(report.traces, lease_seconds=LEASE_SECONDS) as processes,
    ):
        group = ConversationGroup(model, "viewing")
        with group.agent_paused():
            observed = group.begin(Script("watched", [says(DONE)]))
            people = [group.member_token(f"viewer-{n}") for n in range(PEOPLE)]
            show = WatchedLog(observed, processes.port, people, random.Random(seed))
            before = resident_mib(processes.web_pid)
            asyncio.run(show.run(count, report))
            grown = resident_mib(processes.web_pid) - before
        _judge(show, report, grown)


class WatchedLog:
    """A growing log and its viewers. Each viewer keeps the ``seq`` numbers it received, in order."""

    def __init__(
        self,
        observed: ObservedConversation,
        port: int,
        tokens: Sequence[str],
        chance: random.Random,
    ) -> None:
        self.observed = observed
        self.port = port
        self.path = f"/ws/conversations/{observed.id}/"
        self.chance = chance
        self.written: dict[int, float] = {}
        self.viewers = [Viewer(f"Bearer {tokens[n % len(tokens)]}") for n in range(VIEWERS)]
        self.last = observed.row.last_seq

    async def run(self, count: int, report: Report) -> None:
        async with asyncio.TaskGroup() as group:
            watching = [group.create_task(self._watch(viewer)) for viewer in self.viewers]
            deaf = group.create_task(self._never_read())
            # The start of fifty viewers at once is not part of the measured delay.
            if not await self._all(lambda viewer: viewer.was_ready):
                report.fault(f"after {WAIT_SECONDS} s not every viewer is ready")
            await self._write(count, report)
            if not await self._all(lambda viewer: viewer.last == self.last):
                report.fault(f"after {WAIT_SECONDS} s not every viewer has come to {self.last}")
            for task in (*watching, deaf):
                task.cancel()

    async def _all(self, condition: Callable[[Viewer], bool]) -> bool:
        """Whether the condition becomes true for every viewer within a minute."""
        end = time.monotonic() + WAIT_SECONDS
        while time.monotonic() < end:
            if all(map(condition, self.viewers)):
                return True
            await asyncio.sleep(0.05)
        return False

    async def _write(self, count: int, report: Report) -> None:
        began = time.monotonic()
        for number in range(count):
            due = began + number / A_SECOND
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            said = events.MessageSpoken(text=f"Word {number}.")
            stored = await asyncio.to_thread(store.append, self.observed.id, said)
            self.last = stored.last_seq
            self.written[self.last] = time.monotonic()
            report.progress(f"{number} of {count} events")
        seconds = time.monotonic() - began
        report.figures["events"] = f"{count} at {count / seconds:.0f} a second"

    async def _watch(self, viewer: Viewer) -> None:
        """A viewer that disconnects now and then, half the times without closing, and reconnects."""
        while True:
            stays = self.chance.expovariate(1 / CUT_EVERY_SECONDS)
            viewer.lines += 1
            line = await connect(
                f"ws://127.0.0.1:{self.port}{self.path}?after={viewer.last}",
                additional_headers={"Authorization": viewer.authorization},
                compression=None,
            )
            try:
                async with asyncio.timeout(stays):
                    async for text in line:
                        self._seen(viewer, json.loads(text))
                viewer.sent_away += 1
            except TimeoutError:
                pass
            except ConnectionClosed:
                viewer.sent_away += 1
            finally:
                if self.chance.random() < 0.5:
                    line.transport.abort()
                await line.close()

    def _seen(self, viewer: Viewer, frame: dict[str, object]) -> None:
        seq = frame.get("seq")
        if frame["type"] == "ready":
            viewer.was_ready = True
            return
        if not isinstance(seq, int):
            return
        viewer.seen.append(seq)
        if (written := self.written.get(seq)) is not None:
            viewer.delays.append(time.monotonic() - written)

    async def _never_read(self) -> None:
        """A viewer that never reads: the server disconnects it and it connects again."""
        request = (
            f"GET {self.path}?after=0 HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\n"
            "Connection: Upgrade\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
            f"Sec-WebSocket-Version: 13\r\nAuthorization: {self.viewers[0].authorization}\r\n\r\n"
        )
        while True:
            line = socket.create_connection(("127.0.0.1", self.port))
            with line:
                line.sendall(request.encode())
                await asyncio.sleep(CUT_EVERY_SECONDS)


@dataclass
class Viewer:
    """The ``seq`` numbers a viewer received over all its connections, and the delay of each."""

    authorization: str
    seen: list[int] = field(default_factory=list)
    delays: list[float] = field(default_factory=list)
    lines: int = 0
    sent_away: int = 0
    was_ready: bool = False

    @property
    def last(self) -> int:
        return self.seen[-1] if self.seen else 0


def _judge(show: WatchedLog, report: Report, grown_mib: float) -> None:
    whole = list(range(1, show.last + 1))
    for number, viewer in enumerate(show.viewers):
        if viewer.seen != whole:
            missing = len(set(whole) - set(viewer.seen))
            twice = len(viewer.seen) - len(set(viewer.seen))
            report.fault(f"viewer {number}: {missing} events missing, {twice} twice")
    delays = [each for viewer in show.viewers for each in viewer.delays]
    p95 = percentile(delays, 0.95)
    report.figures["lines"] = sum(viewer.lines for viewer in show.viewers)
    if away := sum(viewer.sent_away for viewer in show.viewers):
        report.fault(f"the server hung up on viewers who read, {away} times")
    report.figures["delivery"] = f"p95 {1000 * p95:.0f} ms"
    report.figures["web server grew by"] = f"{grown_mib:.0f} MiB"
    if p95 > LATE_SECONDS:
        report.fault(f"delivery took {p95:.2f} s at p95, {LATE_SECONDS} s are promised")
    if grown_mib > GROWTH_MIB:
        report.fault(
            f"the web server grew by {grown_mib:.0f} MiB, at most {GROWTH_MIB} are promised"
        )
