"""R1: workers are killed at random, again and again, during calls that outlive their leases."""

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
from tests.chaos.conversation_group import ConversationGroup
from tests.chaos.fork_server import Process
from tests.chaos.oracle import Breach
from tests.chaos.report import Report
from tests.chaos.scripts import Script, random_script
from tests.chaos.testbed import SERVICES, SQLITE, Processes, Testbed
from tests.support.flow import ObservedConversation, wait_until
from tests.support.model_server import ModelServer

LEASE_SECONDS = 1.5
AT_ONCE = 8
REST_SECONDS = 600


@dataclass(frozen=True)
class Size:
    """The part goes on until there were this many kills and this many calls."""

    kills: int
    calls: int
    steps: int = 8
    long: float = 0.5
    in_its_start: float = 0.15  # this share of kills comes before a worker has begun to work
    lives: tuple[float, float] = (0.2, 3 * LEASE_SECONDS)  # the others, so long after it has


FULL = {SERVICES: Size(kills=200, calls=300), SQLITE: Size(kills=100, calls=300)}
SHORT = Size(kills=2, calls=10, steps=2)
# Each worker lives long enough to start again what the one before it had started.
CONTROL = Size(
    kills=4,
    calls=8,
    steps=2,
    long=1.0,
    in_its_start=0,
    lives=(2 * LEASE_SECONDS, 4 * LEASE_SECONDS),
)


def run(testbed: Testbed, report: Report, *, seed: int, short: bool) -> None:
    """Run the part, then a control without the call table, in which the oracle must find faults."""
    found = _chaos(testbed, report, f"k{seed}", size=SHORT if short else FULL[testbed.name])
    for observed, breaches in found:
        report.breaches(observed, breaches)
    control = {variants.VARIABLE: variants.NO_CALL_TABLE}
    found = _chaos(testbed, report, f"c{seed}", size=CONTROL, **control)
    doubled = [breach for _, breaches in found for breach in breaches if breach.promise == "D3"]
    report.figures["doubled without the call table"] = len(doubled)
    if not doubled:
        report.fault("the control without the call table doubled nothing: this rig is blind")


def _chaos(
    testbed: Testbed, report: Report, name: str, *, size: Size, **variables: str
) -> list[tuple[ObservedConversation, list[Breach]]]:
    with (
        ModelServer() as model,
        testbed.processes(report.traces, lease_seconds=LEASE_SECONDS) as processes,
    ):
        group = ConversationGroup(model, name)
        with _killers(testbed, processes, name, size, variables) as killing:
            found = list(_judged(testbed, report, group, killing, name, size))
            killing.check()
        if model.violations:
            report.fault(f"the model was asked what no provider accepts: {model.violations[:3]}")
        if not variables:
            report.figures |= {"kills": killing.done, "calls": group.calls, "parked": group.parked}
            report.figures["conversations"] = len(found)
    return found


def _judged(
    testbed: Testbed,
    report: Report,
    group: ConversationGroup,
    killing: Killing,
    name: str,
    size: Size,
) -> Iterator[tuple[ObservedConversation, list[Breach]]]:
    """Every conversation with its broken promises, each as soon as it has ended."""
    while True:
        if killing.goes_on or group.calls < size.calls:
            _begin_more(group, name, size)
        if not group.running:
            return
        for observed, script in wait_until(
            lambda: _take_ended(group, killing), REST_SECONDS, group.describe_running
        ):
            yield observed, _judge(testbed, observed, script)
        report.progress(
            f"{killing.done} of {size.kills} kills, {group.calls} of {size.calls} calls"
        )


def _begin_more(group: ConversationGroup, name: str, size: Size) -> None:
    while len(group.running) < AT_ONCE:
        mark = f"{name}-{group.begun}"
        chance = random.Random(mark)
        group.begin(
            random_script(mark, chance, steps=size.steps, long=size.long, lease=LEASE_SECONDS)
        )


def _take_ended(
    group: ConversationGroup, killing: Killing
) -> list[tuple[ObservedConversation, Script]]:
    killing.check()
    return group.take_idle()


def _judge(testbed: Testbed, observed: ObservedConversation, script: Script) -> list[Breach]:
    breaches = oracle.judge(observed, script, testbed.effects(observed))
    if observed.status != oracle.ANSWERED:
        breaches.append(Breach("end", f"it ended as {observed.status}"))
    if not breaches:
        testbed.delete_sandbox(observed)
    return breaches


# --- the killers --------------------------------------------------------------------------------------


@dataclass
class Killing:
    """State that the killer threads share."""

    size: Size
    done: int = 0
    killers: list[Future[None]] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def may_kill(self) -> bool:
        """Count one more kill, unless there were enough: then the workers live and end all conversations."""
        with self.lock:
            if self.over.is_set() or self.done >= self.size.kills:
                return False
            self.done += 1
            return True

    @property
    def goes_on(self) -> bool:
        return not self.over.is_set() and self.done < self.size.kills

    def check(self) -> None:
        """Raise the error that ended a killer thread."""
        for killer in self.killers:
            if killer.done():
                killer.result()


@contextmanager
def _killers(
    testbed: Testbed, processes: Processes, seed: str, size: Size, variables: dict[str, Any]
) -> Iterator[Killing]:
    killing = Killing(size)
    with ThreadPoolExecutor(testbed.workers) as pool:
        for number in range(testbed.workers):
            chance = random.Random(f"{seed}-{number}")
            killing.killers.append(pool.submit(_kill_on, processes, chance, killing, variables))
        try:
            yield killing
        finally:
            killing.over.set()


def _kill_on(
    processes: Processes, chance: random.Random, killing: Killing, variables: dict[str, Any]
) -> None:
    """A thread that starts a worker, kills it, and starts the next one."""
    try:
        while killing.goes_on:
            worker = processes.worker(**variables)
            if chance.random() < killing.size.in_its_start:
                killing.over.wait(chance.uniform(0, 1.5))
            else:
                worker.wait_until_ready()
                _wait_for_a_call(worker, killing)
                killing.over.wait(chance.uniform(*killing.size.lives))
            if not killing.may_kill():
                return
            worker.kill()
        processes.worker(**variables).wait_until_ready()
    finally:
        connection.close()


def _wait_for_a_call(worker: Process, killing: Killing) -> None:
    """Wait until the worker runs a conversation: the death of an idle worker proves little."""
    held = Conversation.objects.filter(lease_owner__contains=f"-{worker.pid}-")
    calling = held.filter(tool_calls__state="started")
    end = time.monotonic() + 5
    while time.monotonic() < end and killing.goes_on and not calling.exists():
        time.sleep(0.05)
