"""R4: what Paca stands on goes away: Redis, PostgreSQL, the model in mid-sentence, the sandbox itself."""

from __future__ import annotations

import random
import time
from collections.abc import Callable

from django.db import DatabaseError, connection

from paca.conversations.models import Conversation
from tests.chaos import oracle
from tests.chaos.cast import Cast
from tests.chaos.ground import SERVICES, Ground, Team
from tests.chaos.oracle import Breach
from tests.chaos.report import Report
from tests.chaos.stories import DONE, Story, leaves
from tests.support import anthropic_dialect
from tests.support.flow import ObservedConversation, wait_until
from tests.support.model_script import Raw, Scripted, calls, says
from tests.support.model_server import ModelServer

LEASE_SECONDS = 3.0
AT_ONCE = 4
REST_SECONDS = 120
Outage = Callable[[Ground, random.Random], None]


def run(ground: Ground, report: Report, *, seed: int, short: bool) -> None:
    chance, times = random.Random(seed), 1 if short else 10
    with ModelServer() as model, ground.team(report.traces, lease_seconds=LEASE_SECONDS) as team:
        cast = Cast(model, "outages")
        for worker in [team.worker() for _ in range(ground.workers)]:
            worker.wait_until_ready()
        for name, outage in _outages(ground, short=short).items():
            report.say(name)
            for number in range(times):
                _through(outage, f"{name}-{number}", ground, cast, report, chance)
            report.figures[name] = times
        _cut_streams(ground, team, cast, report, chance, count=10 if short else 200)
        if model.violations:
            report.fault(f"the model was asked what no provider accepts: {model.violations[:3]}")


def _outages(ground: Ground, *, short: bool) -> dict[str, Outage]:
    """The short form takes those that the others are part of."""
    found: dict[str, Outage] = {"sandbox-killed": _kill_sandboxes}
    if ground.name == SERVICES:
        found |= {
            "redis-killed": _kill_redis,
            "postgresql-killed-in-recovery": _kill_postgres_twice,
        }
    if ground.name == SERVICES and not short:
        found |= {
            "redis-wiped": _wipe_redis,
            "durable-redis-killed": _kill_durable_redis,
            "postgresql-killed": _kill_postgres,
        }
    return found


def _through(
    outage: Outage, mark: str, ground: Ground, cast: Cast, report: Report, chance: random.Random
) -> None:
    """Some conversations in the midst of their work, the outage, and their end."""
    told = [cast.begin(_story(f"{mark}-{n}", chance)) for n in range(AT_ONCE)]
    wait_until(lambda: all(one.has_event("tool.started") for one in told), REST_SECONDS, cast.where)
    time.sleep(chance.uniform(0, 2))
    outage(ground, chance)
    late = cast.begin(_story(f"{mark}-late", chance))  # and one whose wake-up may be lost
    _judge_all(ground, cast, report, mark, sandbox_lost=outage is _kill_sandboxes, late=late)


def _story(mark: str, chance: random.Random) -> Story:
    replies: list[Scripted] = [
        says(f"Step {n}.") + calls(bash=leaves(f"{mark}.{n}", seconds=chance.uniform(0.5, 4)))
        for n in range(2)
    ]
    return Story(mark, [*replies, says(DONE)])


def _judge_all(
    ground: Ground,
    cast: Cast,
    report: Report,
    case: str,
    *,
    sandbox_lost: bool,
    late: ObservedConversation,
) -> None:
    for told, story in cast.wait_for_all(REST_SECONDS):
        breaches = oracle.judge(told, story, ground.effects(told))
        if told.status != oracle.ANSWERED:
            breaches.append(Breach("end", f"it ended as {told.status}"))
        unknown = told.event_data("tool.outcome_unknown")
        if unknown and (not sandbox_lost or told == late):
            breaches.append(Breach("D2", "an outcome is unknown, and its sandbox lived"))
        report.breaches(told, breaches, case)
        if not breaches:
            ground.forget(told)
    report.progress(case)


# --- what goes away -------------------------------------------------------------------------------------


def _kill_sandboxes(ground: Ground, _: random.Random) -> None:
    ground.end_sandboxes()


def _wipe_redis(ground: Ground, _: random.Random) -> None:
    assert ground.valkey is not None
    ground.valkey.wipe()


def _kill_redis(ground: Ground, chance: random.Random) -> None:
    """It keeps nothing: streams, groups and what was taken and not acknowledged are gone."""
    assert ground.valkey is not None
    ground.valkey.kill()
    time.sleep(chance.uniform(0, 3))
    ground.valkey.start()


def _kill_durable_redis(ground: Ground, chance: random.Random) -> None:
    """It comes back with all it had been told."""
    assert ground.valkey is not None
    ground.valkey.begin_to_keep()
    _kill_redis(ground, chance)
    ground.valkey.durable = False  # for the outages that follow


def _kill_postgres(ground: Ground, chance: random.Random) -> None:
    assert ground.postgres is not None
    ground.postgres.kill()
    time.sleep(chance.uniform(0, 3))
    ground.postgres.start()
    _connect_anew()


def _kill_postgres_twice(ground: Ground, chance: random.Random) -> None:
    """The second time as soon as it is back, when everybody has just begun to recover."""
    assert ground.postgres is not None
    _kill_postgres(ground, chance)
    time.sleep(chance.uniform(0, 0.5))
    _kill_postgres(ground, chance)


def _connect_anew() -> None:
    """This process's own connections do not live through it either."""
    while True:
        try:
            Conversation.objects.exists()
        except DatabaseError:
            connection.close()
            time.sleep(0.1)
        else:
            return


# --- the model ------------------------------------------------------------------------------------------


def _cut_streams(
    ground: Ground, team: Team, cast: Cast, report: Report, chance: random.Random, *, count: int
) -> None:
    """Cut at any byte, by an end, a close or a reset: asked again, and nothing of the half is kept."""
    report.say(f"model cut, {count} times")
    for number in range(count):
        wait_until(
            lambda: len(cast.running) < 8 or not _finish_some(ground, cast, report), REST_SECONDS
        )
        cast.begin(_cut_story(f"cut-{number}", chance))
    while cast.running:
        wait_until(lambda: not _finish_some(ground, cast, report), REST_SECONDS, cast.where)
    report.figures["model-cut"] = count


def _cut_story(mark: str, chance: random.Random) -> Story:
    step = says("Step 0.") + calls(bash=leaves(f"{mark}.0"))
    story = [step, says(DONE)]
    position = chance.randrange(2)
    whole = anthropic_dialect.whole(story[position])
    cut = whole[: chance.randrange(len(whole))]
    return Story(mark, story, {position: Raw(cut, chance.choice(("clean", "close", "reset")))})


def _finish_some(ground: Ground, cast: Cast, report: Report) -> bool:
    """Judge those that rest; True while none has come to rest."""
    rested = cast.rested()
    for told, story in rested:
        breaches = oracle.judge(told, story, ground.effects(told))
        if told.status != oracle.ANSWERED:
            breaches.append(Breach("end", f"it ended as {told.status}"))
        report.breaches(told, breaches, story.mark)
        if not breaches:
            ground.forget(told)
    report.progress(f"{cast.begun} conversations so far")
    return bool(cast.running) and not rested
