"""R4: outages of Redis and PostgreSQL, killed sandboxes, and answers of the model that break off."""

from __future__ import annotations

import random
import time
from collections.abc import Callable

from django.db import DatabaseError, connection

from paca.conversations.models import Conversation
from tests.chaos import oracle
from tests.chaos.conversation_group import ConversationGroup
from tests.chaos.oracle import Breach
from tests.chaos.report import Report
from tests.chaos.scripts import DONE, Script, marking_command
from tests.chaos.testbed import SERVICES, Processes, Testbed
from tests.support import anthropic_dialect
from tests.support.flow import ObservedConversation, wait_until
from tests.support.model_script import Raw, Scripted, calls, says
from tests.support.model_server import ModelServer

LEASE_SECONDS = 3.0
AT_ONCE = 4
REST_SECONDS = 120
Outage = Callable[[Testbed, random.Random], None]


def run(testbed: Testbed, report: Report, *, seed: int, short: bool) -> None:
    """Cause each outage several times while conversations run, and judge their logs."""
    chance, times = random.Random(seed), 1 if short else 10
    with (
        ModelServer() as model,
        testbed.processes(report.traces, lease_seconds=LEASE_SECONDS) as processes,
    ):
        group = ConversationGroup(model, "outages")
        for worker in [processes.worker() for _ in range(testbed.workers)]:
            worker.wait_until_ready()
        for name, outage in _outages(testbed, short=short).items():
            report.say(name)
            for number in range(times):
                _run_outage(outage, f"{name}-{number}", testbed, group, report, chance)
            report.figures[name] = times
        _cut_streams(testbed, processes, group, report, chance, count=10 if short else 200)
        if model.violations:
            report.fault(f"the model got requests that no provider accepts: {model.violations[:3]}")


def _outages(testbed: Testbed, *, short: bool) -> dict[str, Outage]:
    """The outages of a part by name. The short form leaves out those that are contained in another one."""
    found: dict[str, Outage] = {"sandbox-killed": _kill_sandboxes}
    if testbed.name == SERVICES:
        found |= {
            "redis-killed": _kill_redis,
            "postgresql-killed-in-recovery": _kill_postgres_twice,
        }
    if testbed.name == SERVICES and not short:
        found |= {
            "redis-wiped": _flush_redis,
            "durable-redis-killed": _kill_durable_redis,
            "postgresql-killed": _kill_postgres,
        }
    return found


def _run_outage(
    outage: Outage,
    mark: str,
    testbed: Testbed,
    group: ConversationGroup,
    report: Report,
    chance: random.Random,
) -> None:
    """Start conversations, cause the outage while they work, and wait for their end."""
    observed = [group.begin(_script_of(f"{mark}-{n}", chance)) for n in range(AT_ONCE)]
    wait_until(
        lambda: all(one.has_event("tool.started") for one in observed),
        REST_SECONDS,
        group.describe_running,
    )
    time.sleep(chance.uniform(0, 2))
    outage(testbed, chance)
    late = group.begin(
        _script_of(f"{mark}-late", chance)
    )  # the wake-up hint of this one may be lost
    _judge_conversations(
        testbed, group, report, mark, sandbox_lost=outage is _kill_sandboxes, late=late
    )


def _script_of(mark: str, chance: random.Random) -> Script:
    replies: list[Scripted] = [
        says(f"Step {n}.")
        + calls(bash=marking_command(f"{mark}.{n}", seconds=chance.uniform(0.5, 4)))
        for n in range(2)
    ]
    return Script(mark, [*replies, says(DONE)])


def _judge_conversations(
    testbed: Testbed,
    group: ConversationGroup,
    report: Report,
    case: str,
    *,
    sandbox_lost: bool,
    late: ObservedConversation,
) -> None:
    for observed, script in group.wait_for_all(REST_SECONDS):
        breaches = oracle.judge(observed, script, testbed.effects(observed))
        if observed.status != oracle.ANSWERED:
            breaches.append(Breach("end", f"it ended as {observed.status}"))
        unknown = observed.event_data("tool.outcome_unknown")
        if unknown and (not sandbox_lost or observed == late):
            breaches.append(Breach("D2", "an outcome is unknown, and its sandbox lived"))
        report.breaches(observed, breaches, case)
        if not breaches:
            testbed.delete_sandbox(observed)
    report.progress(case)


# --- outages --------------------------------------------------------------------------------------------


def _kill_sandboxes(testbed: Testbed, _: random.Random) -> None:
    testbed.end_sandboxes()


def _flush_redis(testbed: Testbed, _: random.Random) -> None:
    assert testbed.valkey is not None
    testbed.valkey.wipe()


def _kill_redis(testbed: Testbed, chance: random.Random) -> None:
    """Redis restarts empty: streams, groups and unacknowledged entries are gone."""
    assert testbed.valkey is not None
    testbed.valkey.kill()
    time.sleep(chance.uniform(0, 3))
    testbed.valkey.start()


def _kill_durable_redis(testbed: Testbed, chance: random.Random) -> None:
    """Redis restarts with all its data."""
    assert testbed.valkey is not None
    testbed.valkey.begin_to_keep()
    _kill_redis(testbed, chance)
    testbed.valkey.durable = False  # for the next outages


def _kill_postgres(testbed: Testbed, chance: random.Random) -> None:
    assert testbed.postgres is not None
    testbed.postgres.kill()
    time.sleep(chance.uniform(0, 3))
    testbed.postgres.start()
    _reconnect()


def _kill_postgres_twice(testbed: Testbed, chance: random.Random) -> None:
    """PostgreSQL is killed twice, the second time while every process recovers from the first."""
    assert testbed.postgres is not None
    _kill_postgres(testbed, chance)
    time.sleep(chance.uniform(0, 0.5))
    _kill_postgres(testbed, chance)


def _reconnect() -> None:
    """Close the dead connection of this test process, and wait until the database answers again."""
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
    testbed: Testbed,
    processes: Processes,
    group: ConversationGroup,
    report: Report,
    chance: random.Random,
    *,
    count: int,
) -> None:
    """Cut streams at a random byte, by an end, a close or a reset.

    The model is asked again, and the cut reply is not kept.
    """
    report.say(f"model cut, {count} times")
    for number in range(count):
        wait_until(
            lambda: len(group.running) < 8 or not _finish_some(testbed, group, report), REST_SECONDS
        )
        group.begin(_script_with_cuts(f"cut-{number}", chance))
    while group.running:
        wait_until(
            lambda: not _finish_some(testbed, group, report), REST_SECONDS, group.describe_running
        )
    report.figures["model-cut"] = count


def _script_with_cuts(mark: str, chance: random.Random) -> Script:
    step = says("Step 0.") + calls(bash=marking_command(f"{mark}.0"))
    script = [step, says(DONE)]
    position = chance.randrange(2)
    whole = anthropic_dialect.whole(script[position])
    cut = whole[: chance.randrange(len(whole))]
    return Script(mark, script, {position: Raw(cut, chance.choice(("clean", "close", "reset")))})


def _finish_some(testbed: Testbed, group: ConversationGroup, report: Report) -> bool:
    """Judge ended conversations; gives True if some still run and none has ended since."""
    idle = group.take_idle()
    for observed, script in idle:
        breaches = oracle.judge(observed, script, testbed.effects(observed))
        if observed.status != oracle.ANSWERED:
            breaches.append(Breach("end", f"it ended as {observed.status}"))
        report.breaches(observed, breaches, script.mark)
        if not breaches:
            testbed.delete_sandbox(observed)
    report.progress(f"{group.begun} conversations so far")
    return bool(group.running) and not idle
