"""TEAM: a worker dies around the start, the claims and the reports of a teammate: each is there once, and the lead goes on."""

from __future__ import annotations

from collections.abc import Sequence

from paca.agents.models import Agent
from paca.conversations.models import Teammate, TeamTask
from paca.projects.services import tasks
from tests.chaos import oracle, points
from tests.chaos.conversation_group import ConversationGroup
from tests.chaos.oracle import Breach
from tests.chaos.report import Report
from tests.chaos.scripts import DONE, Script, marking_command
from tests.chaos.testbed import Processes, Testbed
from tests.support.flow import ObservedConversation, wait_until
from tests.support.model_script import calls, says
from tests.support.model_server import ModelServer

# A worker sees at once that another one on its host is dead; on a busy machine no other lease runs out.
LEASE_SECONDS = 30.0
REST_SECONDS = 120
CASES = tuple(points.TEAM_POINTS)


def cases(testbed: str, *, short: bool) -> Sequence[str]:
    """All points; the short form leaves the part out."""
    return CASES


def run(testbed: Testbed, report: Report, *, seed: int, short: bool) -> None:
    """Run the part."""
    with (
        ModelServer() as model,
        testbed.processes(report.traces, lease_seconds=LEASE_SECONDS) as processes,
    ):
        group = ConversationGroup(model, "team")
        Agent.objects.filter(pk=group.world.agent.pk).update(teams=True)
        for number, point in enumerate(CASES):
            _try(point, f"t{number}", testbed, processes, group, report)
            report.progress(f"{number + 1} of {len(CASES)} cases")
        report.figures["cases"] = len(CASES)
        if model.violations:
            report.fault(f"the model was asked what no provider accepts: {model.violations[:3]}")


def _try(
    point: str,
    mark: str,
    testbed: Testbed,
    processes: Processes,
    group: ConversationGroup,
    report: Report,
) -> None:
    mate = _teammate(f"{mark}-ann")
    group.add_script(mate)
    made = group.world
    task = tasks.create(made.project, title=f"Login {mark}", by=made.owner)
    spawn = {"name": "ann", "role": "tester", "work": mate.first_message}
    leads = [calls(spawn_teammate=spawn), calls(add_team_tasks={"tasks": [task.key]}), says(DONE)]
    doomed = processes.worker(**{points.VARIABLE: point})
    lead = group.begin(Script(mark, leads))
    if not doomed.wait_until_dead(REST_SECONDS):
        report.fault(f"{point}: the process never came to the point; {lead.status}")
        doomed.kill()
    sound = processes.worker()
    wait_until(lambda: _rests(lead), REST_SECONDS, lambda: f"{point}: {lead.event_types[-6:]}")
    sound.kill()
    group.take_idle()
    report.breaches(lead, _judge(lead, leads, mate, testbed), case=f"{point}:")
    testbed.delete_sandbox(lead)


def _teammate(mark: str) -> Script:
    """Does the work that it is spawned for, then the task that it claims."""
    return Script(
        mark,
        [
            calls(bash=marking_command(f"{mark}.work")),
            calls(bash=marking_command(f"{mark}.task")),
            says("The task is done."),
        ],
        first={1: says("The work is done.")},
    )


def _rests(lead: ObservedConversation) -> bool:
    """Whether the task is closed, and the lead has read the last report."""
    done = TeamTask.objects.filter(lead=lead.id, closed_at__isnull=False).exists()
    return done and lead.status == oracle.ANSWERED and len(lead.answers) > 1


def _judge(
    lead: ObservedConversation, leads: Sequence[object], mate: Script, testbed: Testbed
) -> list[Breach]:
    """The promises of both logs, and that teammate, task, commands and reports are there once each."""
    rows = Teammate.objects.filter(lead=lead.id)
    ann = ObservedConversation(rows.get().conversation_id) if rows.count() == 1 else None
    if ann is None:
        return [Breach("D3", f"{rows.count()} teammates instead of one")]
    effects = testbed.effects(lead)
    reports = [each for each in lead.event_data("message.received") if each["teammate"]]
    turns = ann.row.turns.count()
    found = [
        *oracle.judge_log(lead, Script("", [*leads[:2], *([says(DONE)] * len(lead.answers))])),
        *oracle.judge_log(ann, Script("", [says(text) for text in ann.answers])),
    ]
    if any(times != 1 for times in effects.values()) or len(effects) != 4:
        found.append(Breach("D2", f"commands of the teammate ran as {dict(effects)}"))
    claims = TeamTask.objects.filter(lead=lead.id, claimed_at__isnull=False).count()
    if claims != 1:
        found.append(Breach("D3", f"the task was claimed {claims} times"))
    if len(reports) != turns:
        found.append(Breach("D3", f"{len(reports)} reports of {turns} turns"))
    return found
