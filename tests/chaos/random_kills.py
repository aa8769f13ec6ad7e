"""R1: workers killed at random, again and again, in the midst of calls that outlive their leases."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from django.db import connection

from paca.conversations.models import Conversation
from tests.chaos import oracle, variants
from tests.chaos.cast import Cast
from tests.chaos.ground import SERVICES, SQLITE, Ground, Team
from tests.chaos.nursery import Process
from tests.chaos.oracle import Breach
from tests.chaos.report import Report
from tests.chaos.stories import Story, working
from tests.support.flow import ObservedConversation, wait_until
from tests.support.model_server import ModelServer

LEASE_SECONDS = 1.5
AT_ONCE = 8
REST_SECONDS = 600


@dataclass(frozen=True)
class Size:
    """How much is enough: it goes on until there were so many kills, and so many calls."""

    kills: int
    calls: int
    steps: int = 8
    long: float = 0.5
    in_its_start: float = 0.15  # this share of kills comes before a worker has begun to work
    lives: tuple[float, float] = (0.2, 3 * LEASE_SECONDS)  # the others, so long after it has


FULL = {SERVICES: Size(kills=200, calls=300), SQLITE: Size(kills=100, calls=300)}
SHORT = Size(kills=5, calls=10, steps=2)
# Each worker lives long enough to begin anew what the one before it had begun.
CONTROL = Size(
    kills=4,
    calls=8,
    steps=2,
    long=1.0,
    in_its_start=0,
    lives=(2 * LEASE_SECONDS, 4 * LEASE_SECONDS),
)


def run(ground: Ground, report: Report, *, seed: int, short: bool) -> None:
    """The run, then its control, which must fail: a rig that sees nothing would say the same."""
    found = _chaos(ground, report, f"k{seed}", size=SHORT if short else FULL[ground.name])
    for told, breaches in found:
        report.breaches(told, breaches)
    control = {variants.VARIABLE: variants.NO_CALL_TABLE}
    found = _chaos(ground, report, f"c{seed}", size=CONTROL, **control)
    doubled = [breach for _, breaches in found for breach in breaches if breach.promise == "D3"]
    report.figures["doubled without the call table"] = len(doubled)
    if not doubled:
        report.fault("the control without the call table doubled nothing: this rig is blind")


def _chaos(
    ground: Ground, report: Report, name: str, *, size: Size, **variables: str
) -> list[tuple[ObservedConversation, list[Breach]]]:
    with ModelServer() as model, ground.team(report.traces, lease_seconds=LEASE_SECONDS) as team:
        cast = Cast(model, name)
        with _killers(ground, team, name, size, variables) as killing:
            found = list(_told(ground, report, cast, killing, name, size))
            killing.check()
        if model.violations:
            report.fault(f"the model was asked what no provider accepts: {model.violations[:3]}")
        if not variables:
            report.figures |= {"kills": killing.done, "calls": cast.calls, "parked": cast.parked}
            report.figures["conversations"] = len(found)
    return found


def _told(
    ground: Ground, report: Report, cast: Cast, killing: Killing, name: str, size: Size
) -> Iterator[tuple[ObservedConversation, list[Breach]]]:
    """Every conversation with what is wrong with it, each as soon as it rests."""
    while True:
        if killing.goes_on or cast.calls < size.calls:
            _begin_more(cast, name, size)
        if not cast.running:
            return
        for told, story in wait_until(lambda: _rested(cast, killing), REST_SECONDS, cast.where):
            yield told, _judge(ground, told, story)
        report.progress(f"{killing.done} of {size.kills} kills, {cast.calls} of {size.calls} calls")


def _begin_more(cast: Cast, name: str, size: Size) -> None:
    while len(cast.running) < AT_ONCE:
        mark = f"{name}-{cast.begun}"
        chance = random.Random(mark)
        cast.begin(working(mark, chance, steps=size.steps, long=size.long, lease=LEASE_SECONDS))


def _rested(cast: Cast, killing: Killing) -> list[tuple[ObservedConversation, Story]]:
    killing.check()
    return cast.rested()


def _judge(ground: Ground, told: ObservedConversation, story: Story) -> list[Breach]:
    breaches = oracle.judge(told, story, ground.effects(told))
    if told.status != oracle.ANSWERED:
        breaches.append(Breach("end", f"it ended as {told.status}"))
    if not breaches:
        ground.forget(told)
    return breaches


# --- the killers --------------------------------------------------------------------------------------


@dataclass
class Killing:
    """What the killers of a team share."""

    size: Size
    done: int = 0
    killers: list[Future[None]] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def may_kill(self) -> bool:
        """Count one more, unless there were enough: then the workers live, to bring all to its end."""
        with self.lock:
            if self.over.is_set() or self.done >= self.size.kills:
                return False
            self.done += 1
            return True

    @property
    def goes_on(self) -> bool:
        return not self.over.is_set() and self.done < self.size.kills

    def check(self) -> None:
        """Raise what a killer came to its end by."""
        for killer in self.killers:
            if killer.done():
                killer.result()


@contextmanager
def _killers(
    ground: Ground, team: Team, seed: str, size: Size, variables: dict[str, Any]
) -> Iterator[Killing]:
    killing = Killing(size)
    with ThreadPoolExecutor(ground.workers) as pool:
        for number in range(ground.workers):
            chance = random.Random(f"{seed}-{number}")
            killing.killers.append(pool.submit(_kill_on, team, chance, killing, variables))
        try:
            yield killing
        finally:
            killing.over.set()


def _kill_on(
    team: Team, chance: random.Random, killing: Killing, variables: dict[str, Any]
) -> None:
    """One worker's place: a new one comes as soon as the last is dead."""
    try:
        while killing.goes_on:
            worker = team.worker(**variables)
            if chance.random() < killing.size.in_its_start:
                killing.over.wait(chance.uniform(0, 1.5))
            else:
                worker.wait_until_ready()
                _wait_for_a_call(worker, killing)
                killing.over.wait(chance.uniform(*killing.size.lives))
            if not killing.may_kill():
                return
            worker.kill()
        team.worker(**variables).wait_until_ready()
    finally:
        connection.close()


def _wait_for_a_call(worker: Process, killing: Killing) -> None:
    """Until it has something to lose: an idle worker's death proves little."""
    held = Conversation.objects.filter(lease_owner__contains=f"-{worker.pid}-")
    calling = held.filter(tool_calls__state="started")
    end = time.monotonic() + 5
    while time.monotonic() < end and killing.goes_on and not calling.exists():
        time.sleep(0.05)
