"""APPROVE: a worker dies around a wait for a person: nothing is asked twice, and nothing runs unapproved."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from paca.agents.models import Agent
from paca.conversations.models import PersonRequest, RequestState
from paca.conversations.services import approvals, plans, questions
from paca.projects.models import Notification
from tests.chaos import oracle, points, variants
from tests.chaos.conversation_group import ConversationGroup
from tests.chaos.fork_server import Process
from tests.chaos.oracle import Breach
from tests.chaos.report import Report
from tests.chaos.scripts import DONE, Script, marking_command
from tests.chaos.testbed import SERVICES, SQLITE, Processes, Testbed
from tests.chaos.variants import NO_APPROVALS
from tests.support.flow import ObservedConversation, wait_until
from tests.support.model_script import Scripted, calls, says
from tests.support.model_server import ModelServer

# A worker sees at once that another one on its host is dead; on a busy machine no other lease runs out.
LEASE_SECONDS = 30.0
REST_SECONDS = 120
# The decision comes after the death, and before it.
WAITING = tuple(points.WAIT_POINTS)
DECIDED = (
    *("decision-untaken", "decision-half-taken", "outcome-unstored", "outcome-half-stored"),
    *("outcome-stored", "turn-half-ended", "turn-ended"),
)
RUNS = ("intent-unstored", "intent-half-stored", "intent-stored", "call-sent", "call-answered")
ANSWER = "8001"


@dataclass(frozen=True)
class Kind:
    """What a turn waits for: its call, if it is not the command itself, its events, and its decisions.

    Only an approval or an approved plan lets the command run.
    """

    before: Scripted | None
    asked: str
    decided: str
    decisions: tuple[str, ...]
    notification: str = "approval"

    def script(self, mark: str) -> Script:
        command = calls(bash=marking_command(mark))
        replies = [self.before, command] if self.before else [command]
        return Script(mark, [says("I begin.") + replies[0], *replies[1:], says(DONE)])


KINDS = {
    "approval": Kind(None, "approval.requested", "approval.given", ("approve", "deny")),
    "plan": Kind(
        calls(propose_plan={"title": "Build", "steps": ["Make it"]}),
        "plan.proposed",
        "plan.decided",
        ("approve", "reject"),
    ),
    "question": Kind(
        calls(ask_person={"question": "Which port?"}),
        "question.asked",
        "question.answered",
        ("answer",),
        notification="question",
    ),
}


@dataclass(frozen=True)
class Case:
    """The point of death, the decision, and the kind of what waits."""

    point: str
    decision: str
    kind: str = "approval"

    def __str__(self) -> str:
        return f"{self.point} {self.kind} {self.decision}"

    @property
    def runs(self) -> bool:
        """Whether the command may run."""
        return self.decision in ("approve", "answer")


def cases(testbed: str, *, short: bool) -> list[Case]:
    """Each point with each decision that comes there, of each kind. The short form takes some."""
    if not short:
        return list(_every_case())
    return {
        SQLITE: [
            Case("wait-half-stored", "approve"),
            Case("outcome-unstored", "answer", "question"),
            Case("outcome-unstored", "approve", "plan"),
        ],
        SERVICES: [
            Case("wait-stored", "answer", "question"),
            Case("wait-untold", "reject", "plan"),
            Case("decision-half-taken", "deny"),
            Case("intent-unstored", "approve"),
        ],
    }[testbed]


def _every_case() -> Iterator[Case]:
    for name, kind in KINDS.items():
        for point, decision in itertools.product((*WAITING, *DECIDED), kind.decisions):
            yield Case(point, decision, name)
        if "approve" in kind.decisions:
            yield from (Case(point, "approve", name) for point in RUNS)


def run(testbed: Testbed, report: Report, *, seed: int, short: bool) -> None:
    """Run the part, then a control that asks nobody, which must run a call without a decision."""
    with (
        ModelServer() as model,
        testbed.processes(report.traces, lease_seconds=LEASE_SECONDS) as processes,
    ):
        group = ConversationGroup(model, "approvals")
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
    script = KINDS[case.kind].script(mark)
    doomed = processes.worker(**{points.VARIABLE: case.point})
    observed = _begin(case, script, group)
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
    found = _judge(case, observed, script, testbed)
    found += oracle.judge_calls(observed, group.requests_of(script))
    report.breaches(observed, found, case=f"{case}:")
    testbed.delete_sandbox(observed)


def _control(
    testbed: Testbed, processes: Processes, group: ConversationGroup, report: Report
) -> None:
    case = Case("control", "deny")
    script = KINDS[case.kind].script("control")
    careless = processes.worker(**{variants.VARIABLE: NO_APPROVALS})
    observed = _begin(case, script, group)
    group.wait_for_all(REST_SECONDS)
    careless.kill()
    found = [breach.what for breach in _judge(case, observed, script, testbed)]
    if not any("without an approval" in what for what in found):
        report.fault(f"the control that asks nobody ran nothing: this rig is blind; {found}")
    testbed.delete_sandbox(observed)


def _begin(case: Case, script: Script, group: ConversationGroup) -> ObservedConversation:
    asks = Agent.Approval.UNSAFE if case.kind == "approval" else Agent.Approval.AUTO
    Agent.objects.filter(pk=group.world.agent.pk).update(approval=asks)
    return group.begin(script, plan=case.kind == "plan")


def _wait_for_death(
    doomed: Process, case: Case, observed: ObservedConversation, report: Report
) -> None:
    if not doomed.wait_until_dead(REST_SECONDS):
        report.fault(f"{case}: the process never came to the point; {observed.status}")


def _decide(case: Case, observed: ObservedConversation, group: ConversationGroup) -> None:
    waiting = PersonRequest.objects.filter(conversation=observed.id, state=RequestState.OPEN)
    wait_until(waiting.exists, REST_SECONDS, lambda: observed.status)
    call, by = waiting.get().call_id, group.world.owner
    match case.kind:
        case "approval":
            approvals.decide(observed.row, call_id=call, decision=case.decision, by=by)
        case "plan":
            plans.decide(observed.row, call_id=call, decision=case.decision, by=by)
        case "question":
            questions.answer(observed.row, question_id=call, text=ANSWER, by=by)


def _judge(
    case: Case, observed: ObservedConversation, script: Script, testbed: Testbed
) -> list[Breach]:
    effects = testbed.effects(observed)
    found = oracle.judge(observed, script, effects)
    if observed.status != oracle.ANSWERED:
        found.append(Breach("end", f"it ended as {observed.status}"))
    if effects and not case.runs:
        found.append(Breach("D3", f"{sorted(effects)} happened without an approval"))
    if not effects and case.runs:
        found.append(Breach("D2", "the call never ran"))
    kind = KINDS[case.kind]
    told = Notification.objects.filter(conversation_id=observed.id, kind=kind.notification)
    counts = {
        "request": len(observed.event_data(kind.asked)),
        "decision": len(observed.event_data(kind.decided)),
        "row": PersonRequest.objects.filter(conversation=observed.id).count(),
        "notification": told.count(),
    }
    if case.kind == "question" and ANSWER not in observed.outputs[0]:
        found.append(Breach("D2", f"the agent read {observed.outputs[0]!r} as the answer"))
    return found + [
        Breach("D3", f"{what}: {count} instead of 1")
        for what, count in counts.items()
        if count != 1
    ]
