"""R3: how long after a worker's death its conversations go on, seen to be dead and known by time alone."""

from __future__ import annotations

import random
import time

from paca.conversations.models import Conversation, Event
from tests.chaos import oracle, variants
from tests.chaos.cast import Cast
from tests.chaos.ground import SQLITE, Ground
from tests.chaos.nursery import Process
from tests.chaos.report import Report, percentile
from tests.chaos.stories import DONE, Story, leaves
from tests.support.flow import ObservedConversation, wait_until
from tests.support.model_script import calls, says
from tests.support.model_server import ModelServer

LEASE_SECONDS = 3.0
AT_ONCE = 5
P95_SECONDS = 5.0
SAME_HOST_SECONDS = 2.0
REST_SECONDS = 90


def run(ground: Ground, report: Report, *, seed: int, short: bool) -> None:
    kills = 1 if short else 10
    _measure(ground, report, "same host", kills, seed)
    if ground.name != SQLITE:
        _measure(
            ground, report, "another host", kills, seed, **{variants.VARIABLE: variants.ELSEWHERE}
        )


def _measure(
    ground: Ground, report: Report, kind: str, kills: int, seed: int, **variables: str
) -> None:
    """On a file the one process is begun again, and its start is part of the time."""
    chance, waits = random.Random(seed), []
    with (
        ModelServer() as model,
        ground.team(report.traces, lease_seconds=LEASE_SECONDS) as team,
    ):
        cast = Cast(model, kind.replace(" ", "-"))
        workers = [team.worker(**variables) for _ in range(ground.workers)]
        for worker in workers:
            worker.wait_until_ready()
        for number in range(kills):
            report.progress(f"{kind}: {number} of {kills} kills")
            told = [cast.begin(_story(f"{kind[0]}{number}-{n}")) for n in range(AT_ONCE)]
            wait_until(lambda told=told: all(map(_calls, told)), REST_SECONDS, cast.where)
            time.sleep(chance.uniform(0, 1))
            victim, held = _most_loaded(workers, told)
            before = {one: one.row.last_seq for one in held}
            victim.kill()
            killed_at = time.time()
            workers = [one for one in workers if one is not victim] + [team.worker(**variables)]
            waits += [_next_event(one, seq) - killed_at for one, seq in before.items()]
            _finish(ground, cast, report, workers[-1])
    _tell(ground, report, kind, waits)


def _story(mark: str) -> Story:
    return Story(mark, [says("I begin.") + calls(bash=leaves(mark, seconds=6)), says(DONE)])


def _calls(told: ObservedConversation) -> bool:
    return told.has_event("tool.started")


def _most_loaded(
    workers: list[Process], told: list[ObservedConversation]
) -> tuple[Process, list[ObservedConversation]]:
    """Whoever holds most of them, and which those are."""

    def held(worker: Process) -> list[ObservedConversation]:
        rows = Conversation.objects.filter(lease_owner__contains=f"-{worker.pid}-")
        ids = set(rows.values_list("pk", flat=True))
        return [one for one in told if one.id in ids]

    victim = max(workers, key=lambda worker: len(held(worker)))
    return victim, held(victim)


def _next_event(told: ObservedConversation, after: int) -> float:
    """When the first event above this number was written."""
    rows = Event.objects.filter(conversation=told.id, seq__gt=after).order_by("seq")
    first: Event = wait_until(
        rows.first, REST_SECONDS, lambda: f"{told.status} {told.event_types[-3:]}"
    )
    return first.at.timestamp()


def _finish(ground: Ground, cast: Cast, report: Report, fresh: Process) -> None:
    for one, story in cast.wait_for_all(REST_SECONDS):
        report.breaches(one, oracle.judge(one, story, ground.effects(one)))
        ground.forget(one)
    fresh.wait_until_ready()


def _tell(ground: Ground, report: Report, kind: str, waits: list[float]) -> None:
    p50, p95, most = percentile(waits, 0.5), percentile(waits, 0.95), max(waits)
    report.figures[kind] = f"p50 {p50:.1f} s p95 {p95:.1f} s max {most:.1f} s of {len(waits)}"
    bar = SAME_HOST_SECONDS if kind == "same host" and ground.name != SQLITE else P95_SECONDS
    if p95 > bar:
        report.fault(f"{kind}: p95 is {p95:.1f} s, at most {bar:g} s are promised (D6)")
