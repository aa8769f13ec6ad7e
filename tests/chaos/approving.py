"""APPROVE: a worker dies around a wait for an approval: nothing is asked twice, and nothing runs unapproved."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from paca.agents.models import Agent
from paca.conversations.models import PersonRequest, RequestState
from paca.conversations.services import approvals
from paca.projects.models import Notification
from tests.chaos import oracle, points, variants
from tests.chaos.conversation_group import ConversationGroup
from tests.chaos.fork_server import Process
from tests.chaos.oracle import Breach
from tests.chaos.report import Report
from tests.chaos.scripts import DONE, Script, marking_command
from tests.chaos.testbed import TESTBEDS, Processes, Testbed
from tests.chaos.variants import NO_APPROVALS
from tests.support.flow import ObservedConversation, wait_until
from tests.support.model_script import calls, says
from tests.support.model_server import ModelServer

LEASE_SECONDS = 3.0
REST_SECONDS = 60
DECISIONS = ("approve", "deny")
# The decision comes after the death, and before it.
WAITING = tuple(points.APPROVAL_POINTS)
DECIDED = (
    *("decision-untaken", "decision-half-taken", "outcome-unstored", "outcome-stored"),
    *("turn-half-ended", "turn-ended"),
)
RUNS = ("intent-unstored", "intent-half-stored", "intent-stored", "call-sent", "call-answered")


@dataclass(frozen=True)
class Case:
    """The point of death, and the decision."""

    point: str
    decision: str

    def __str__(self) -> str:
        return f"{self.point} {self.decision}"


def cases(testbed: str, *, short: bool) -> list[Case]:
    """Each point with each decision that comes there. The short form takes four, two on each set-up."""
    found = [Case(*pair) for pair in itertools.product((*WAITING, *DECIDED), DECISIONS)]
    found += [Case(point, "approve") for point in RUNS]
    if not short:
        return found
    chosen = [
        Case("wait-half-stored", "approve"),
        Case("wait-stored", "deny"),
        Case("decision-half-taken", "deny"),
        Case("intent-unstored", "approve"),
    ]
    return chosen[TESTBEDS.index(testbed) :: len(TESTBEDS)]


def run(testbed: Testbed, report: Report, *, seed: int, short: bool) -> None:
    """Run the part, then a control that asks nobody, which must run a call without a decision."""
    with (
        ModelServer() as model,
        testbed.processes(report.traces, lease_seconds=LEASE_SECONDS) as processes,
    ):
        group = ConversationGroup(model, "approvals")
        Agent.objects.filter(pk=group.world.agent.pk).update(approval=Agent.Approval.UNSAFE)
        chosen = cases(testbed.name, short=short)
        for number, case in enumerate(chosen):
            _try(case, f"w{number}", testbed, processes, group, report)
            report.progress(f"{number + 1} of {len(chosen)} cases")
        _control(testbed, processes, group, report)
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
    script = _script_of(mark)
    doomed = processes.worker(**{points.VARIABLE: case.point})
    observed = group.begin(script)
    if case.point in WAITING:
        _wait_for_death(doomed, case, observed, report)
        sound = processes.worker()
        _decide(case, observed, group)
    else:
        _decide(case, observed, group)
        _wait_for_death(doomed, case, observed, report)
        sound = processes.worker()
    group.wait_for_all(REST_SECONDS)
    sound.kill()
    report.breaches(observed, _judge(case, observed, script, testbed), case=f"{case}:")
    testbed.delete_sandbox(observed)


def _control(
    testbed: Testbed, processes: Processes, group: ConversationGroup, report: Report
) -> None:
    script = _script_of("control")
    careless = processes.worker(**{variants.VARIABLE: NO_APPROVALS})
    observed = group.begin(script)
    group.wait_for_all(REST_SECONDS)
    careless.kill()
    case = Case("control", "deny")
    found = [breach.what for breach in _judge(case, observed, script, testbed)]
    if not any("without an approval" in what for what in found):
        report.fault(f"the control that asks nobody ran nothing: this rig is blind; {found}")
    testbed.delete_sandbox(observed)


def _script_of(mark: str) -> Script:
    return Script(mark, [says("I begin.") + calls(bash=marking_command(mark)), says(DONE)])


def _wait_for_death(
    doomed: Process, case: Case, observed: ObservedConversation, report: Report
) -> None:
    if not doomed.wait_until_dead(REST_SECONDS):
        report.fault(f"{case}: the process never came to the point; {observed.status}")


def _decide(case: Case, observed: ObservedConversation, group: ConversationGroup) -> None:
    waiting = PersonRequest.objects.filter(conversation=observed.id, state=RequestState.OPEN)
    wait_until(waiting.exists, REST_SECONDS, lambda: observed.status)
    approvals.decide(
        observed.row,
        call_id=waiting.get().call_id,
        decision=case.decision,
        by=group.world.owner,
    )


def _judge(
    case: Case, observed: ObservedConversation, script: Script, testbed: Testbed
) -> list[Breach]:
    effects = testbed.effects(observed)
    found = oracle.judge(observed, script, effects)
    if observed.status != oracle.ANSWERED:
        found.append(Breach("end", f"it ended as {observed.status}"))
    if effects and case.decision != "approve":
        found.append(Breach("D3", f"{sorted(effects)} happened without an approval"))
    if not effects and case.decision == "approve":
        found.append(Breach("D2", "the approved call never ran"))
    told = Notification.objects.filter(conversation_id=observed.id, kind="approval")
    counts = {
        "request": len(observed.event_data("approval.requested")),
        "decision": len(observed.event_data("approval.given")),
        "row": PersonRequest.objects.filter(conversation=observed.id).count(),
        "notification": told.count(),
    }
    return found + [
        Breach("D3", f"{what}: {count} instead of 1")
        for what, count in counts.items()
        if count != 1
    ]
