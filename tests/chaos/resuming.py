"""R3: how soon the conversations of a killed worker go on, on the same host and on another."""

from __future__ import annotations

import random
import time

from paca.conversations.models import Conversation, Event
from tests.chaos import oracle, variants
from tests.chaos.conversation_group import ConversationGroup
from tests.chaos.fork_server import Process
from tests.chaos.report import Report, percentile
from tests.chaos.scripts import DONE, Script, marking_command
from tests.chaos.testbed import SQLITE, Testbed
from tests.support.flow import ObservedConversation, wait_until
from tests.support.model_script import calls, says
from tests.support.model_server import ModelServer

LEASE_SECONDS = 3.0
AT_ONCE = 5
P95_SECONDS = 5.0
SAME_HOST_SECONDS = 2.0
REST_SECONDS = 90


def run(testbed: Testbed, report: Report, *, seed: int, short: bool) -> None:
    kills = 1 if short else 10
    _measure(testbed, report, "same host", kills, seed)
    if testbed.name != SQLITE:
        _measure(
            testbed, report, "another host", kills, seed, **{variants.VARIABLE: variants.ELSEWHERE}
        )


def _measure(
    testbed: Testbed, report: Report, kind: str, kills: int, seed: int, **variables: str
) -> None:
    """On SQLite the process is started again, and its start is part of the time."""
    chance, waits = random.Random(seed), []
    with (
        ModelServer() as model,
        testbed.processes(report.traces, lease_seconds=LEASE_SECONDS) as processes,
    ):
        group = ConversationGroup(model, kind.replace(" ", "-"))
        workers = [processes.worker(**variables) for _ in range(testbed.workers)]
        for worker in workers:
            worker.wait_until_ready()
        for number in range(kills):
            report.progress(f"{kind}: {number} of {kills} kills")
            observed = [group.begin(_script_of(f"{kind[0]}{number}-{n}")) for n in range(AT_ONCE)]
            wait_until(
                lambda observed=observed: all(map(_calls, observed)),
                REST_SECONDS,
                group.describe_running,
            )
            time.sleep(chance.uniform(0, 1))
            victim, held = _most_loaded(workers, observed)
            before = {one: one.row.last_seq for one in held}
            victim.kill()
            killed_at = time.time()
            workers = [one for one in workers if one is not victim] + [
                processes.worker(**variables)
            ]
            waits += [_next_event(one, seq) - killed_at for one, seq in before.items()]
            _finish(testbed, group, report, workers[-1])
    _report_waits(testbed, report, kind, waits)


def _script_of(mark: str) -> Script:
    return Script(
        mark, [says("I begin.") + calls(bash=marking_command(mark, seconds=6)), says(DONE)]
    )


def _calls(observed: ObservedConversation) -> bool:
    return observed.has_event("tool.started")


def _most_loaded(
    workers: list[Process], observed: list[ObservedConversation]
) -> tuple[Process, list[ObservedConversation]]:
    """The worker that runs most of the conversations, and these conversations."""

    def held(worker: Process) -> list[ObservedConversation]:
        rows = Conversation.objects.filter(lease_owner__contains=f"-{worker.pid}-")
        ids = set(rows.values_list("pk", flat=True))
        return [one for one in observed if one.id in ids]

    victim = max(workers, key=lambda worker: len(held(worker)))
    return victim, held(victim)


def _next_event(observed: ObservedConversation, after: int) -> float:
    """Unix time of the first event with a higher ``seq``."""
    rows = Event.objects.filter(conversation=observed.id, seq__gt=after).order_by("seq")
    first: Event = wait_until(
        rows.first, REST_SECONDS, lambda: f"{observed.status} {observed.event_types[-3:]}"
    )
    return first.at.timestamp()


def _finish(testbed: Testbed, group: ConversationGroup, report: Report, fresh: Process) -> None:
    for one, script in group.wait_for_all(REST_SECONDS):
        report.breaches(one, oracle.judge(one, script, testbed.effects(one)))
        testbed.delete_sandbox(one)
    fresh.wait_until_ready()


def _report_waits(testbed: Testbed, report: Report, kind: str, waits: list[float]) -> None:
    p50, p95, most = percentile(waits, 0.5), percentile(waits, 0.95), max(waits)
    report.figures[kind] = f"p50 {p50:.1f} s p95 {p95:.1f} s max {most:.1f} s of {len(waits)}"
    bar = SAME_HOST_SECONDS if kind == "same host" and testbed.name != SQLITE else P95_SECONDS
    if p95 > bar:
        report.fault(f"{kind}: p95 is {p95:.1f} s, at most {bar:g} s are promised (D6)")
