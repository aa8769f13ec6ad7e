"""BUDGET: a worker dies at each edge of a limit: one pause for each portion, and each call is booked."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace

from paca.agents.models import Agent
from paca.conversations import budgets, services
from paca.engine.budgets import SHARED, Budget, BudgetScope
from paca.projects.models import Project
from tests.chaos import oracle, points
from tests.chaos.conversation_group import ConversationGroup
from tests.chaos.fork_server import Process
from tests.chaos.oracle import Breach
from tests.chaos.report import Report
from tests.chaos.scripts import ACCOUNT, DONE, Script, marking_command
from tests.chaos.testbed import SERVICES, SQLITE, Processes, Testbed
from tests.support.flow import ObservedConversation
from tests.support.model_script import Scripted, calls, says
from tests.support.model_server import ModelServer
from tests.support.world import World

# A worker sees at once that another one on its host is dead; on a busy machine no other lease runs out.
LEASE_SECONDS = 30.0
REST_SECONDS = 120
# A call takes so many tokens, and a portion has room for one call and a short summary, not for a second call.
CALL, PORTION = 20_000, 46_000
UNLIMITED = {"limit_steps": 50, "limit_tokens": None, "limit_turn_tokens": None}
# After these the limit is in the log, so the summary that the dead worker asked for is not asked for again.
SUMMARY_LOST = ("limit-stored", "limit-told", "pause-half-stored")


def _limit_agent(**limits: int) -> Callable[[World], None]:
    return lambda world: _set_agent(world, **limits)


def _set_agent(world: World, **limits: int | None) -> None:
    Agent.objects.filter(pk=world.agent.pk).update(**limits)


def _used(world: World, scope: BudgetScope) -> int:
    owner = budgets.Owner(world.agent.pk, world.project.pk)
    [found] = budgets.with_used([Budget(scope, tokens=1)], owner)
    return found.used.tokens


def _limit_day(world: World) -> None:
    _set_agent(world, limit_day_tokens=_used(world, BudgetScope.AGENT_DAY) + PORTION)


def _limit_month(world: World) -> None:
    limit = _used(world, BudgetScope.PROJECT_MONTH) + PORTION
    Project.objects.filter(pk=world.project.pk).update(limit_month_tokens=limit)


# What gives a portion: Continue alone gives that of the first three again, the others are raised.
LIMITS: dict[str, Callable[[World], None]] = {
    "steps": _limit_agent(limit_steps=1),
    "turn": _limit_agent(limit_turn_tokens=PORTION),
    "conversation": _limit_agent(limit_tokens=PORTION),
    "agent_day": _limit_day,
    "project_month": _limit_month,
}


def _lift(world: World) -> None:
    _set_agent(world, **UNLIMITED, limit_day_tokens=None)
    Project.objects.filter(pk=world.project.pk).update(limit_month_tokens=None)


@dataclass(frozen=True)
class Case:
    """The point of death, and the limit."""

    point: str
    limit: str

    def __str__(self) -> str:
        return f"{self.point} {self.limit}"

    @property
    def in_second_portion(self) -> bool:
        return self.point in points.PORTION_POINTS


def cases(testbed: str, *, short: bool) -> list[Case]:
    """Each point with each limit. The short form takes some.

    A shared budget holds what a lost call may have taken, so after ``portion-asked`` it has no room for another.
    """
    if not short:
        every = itertools.product(points.LIMIT_POINTS | points.PORTION_POINTS, LIMITS)
        lost = {("portion-asked", str(scope)) for scope in SHARED}
        return [Case(*pair) for pair in every if pair not in lost]
    return {
        SQLITE: [Case("limit-half-stored", "conversation")],
        SERVICES: [Case("limit-stored", "agent_day"), Case("portion-asked", "turn")],
    }[testbed]


def run(testbed: Testbed, report: Report, *, seed: int, short: bool) -> None:
    with (
        ModelServer() as model,
        testbed.processes(report.traces, lease_seconds=LEASE_SECONDS) as processes,
    ):
        group = ConversationGroup(model, "limits")
        chosen = cases(testbed.name, short=short)
        for number, case in enumerate(chosen):
            _try(case, f"b{number}", testbed, processes, group, report)
            report.progress(f"{number + 1} of {len(chosen)} cases")
        report.figures["cases"] = len(chosen)
        if model.violations:
            report.fault(f"the model was asked what no provider accepts: {model.violations[:3]}")


def _try(
    case: Case,
    mark: str,
    testbed: Testbed,
    processes: Processes,
    group: ConversationGroup,
    report: Report,
) -> None:
    """Two portions end at the limit, then it is lifted. The worker dies in the first, or begins the second."""
    script = Script(mark, [_step(mark, 0), _step(mark, 1), says(DONE)])
    give, owner = LIMITS[case.limit], group.world.owner
    give(group.world)
    if case.in_second_portion:
        worker = processes.worker()
        observed = group.begin(script)
        group.wait_for_all(REST_SECONDS)
        worker.kill()
    doomed = processes.worker(**{points.VARIABLE: case.point})
    if case.in_second_portion:
        give(group.world)
        services.continue_(observed.row, by=owner)
        group.watch(observed, script)
    else:
        observed = group.begin(script)
    _wait_for_death(doomed, case, observed, report)
    sound = processes.worker()
    group.wait_for_all(REST_SECONDS)
    if not case.in_second_portion:
        give(group.world)
        _continue(observed, script, group)
    paused = observed.status
    _lift(group.world)
    _continue(observed, script, group)
    sound.kill()
    found = _judge(case, observed, script, testbed, group)
    if not paused.startswith("paused/"):
        found.append(Breach("budget", f"after the second portion it was {paused}"))
    report.breaches(observed, found, case=f"{case}:")
    testbed.delete_sandbox(observed)


def _step(mark: str, number: int) -> Scripted:
    reply = says(f"Step {number}.") + calls(bash=marking_command(f"{mark}.{number}"))
    return replace(reply, input_tokens=CALL)


def _wait_for_death(
    doomed: Process, case: Case, observed: ObservedConversation, report: Report
) -> None:
    if not doomed.wait_until_dead(REST_SECONDS):
        report.fault(f"{case}: the process never came to the point; {observed.status}")
        doomed.kill()


def _continue(observed: ObservedConversation, script: Script, group: ConversationGroup) -> None:
    services.continue_(observed.row, by=group.world.owner)
    group.watch(observed, script)
    group.wait_for_all(REST_SECONDS)


def _judge(
    case: Case,
    observed: ObservedConversation,
    script: Script,
    testbed: Testbed,
    group: ConversationGroup,
) -> list[Breach]:
    first, second, done = script.replies
    account = [says(ACCOUNT)]
    told = [] if case.point in SUMMARY_LOST else account
    said = Script(script.mark, [first, *told, second, *account, done])
    found = oracle.judge(observed, said, testbed.effects(observed))
    found += oracle.judge_calls(observed, group.requests_of(script))
    if observed.status != oracle.ANSWERED:
        found.append(Breach("end", f"it ended as {observed.status}"))
    if (pauses := len(observed.event_data("conversation.paused"))) != 2:
        found.append(Breach("budget", f"{pauses} pauses instead of 2"))
    return found
