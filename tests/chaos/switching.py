"""FALLBACK: a worker dies between the failure of the own model and the fallback's answer: the switch comes once."""

from __future__ import annotations

from paca.agents.services import agents
from tests.chaos import oracle, points
from tests.chaos.conversation_group import ConversationGroup
from tests.chaos.oracle import Breach
from tests.chaos.points import FALLBACK
from tests.chaos.report import Report
from tests.chaos.scripts import DONE, Script, marking_command
from tests.chaos.testbed import SERVICES, SQLITE, Processes, Testbed
from tests.support.flow import ObservedConversation
from tests.support.model_script import calls, fails, says
from tests.support.model_server import ModelServer
from tests.support.world import MODEL

# A worker sees at once that another one on its host is dead; on a busy machine no other lease runs out.
LEASE_SECONDS = 30.0
REST_SECONDS = 120
OWN_NAME = MODEL.partition("/")[2]
# At these points the switch is not stored: the next worker asks the own model again, which fails again.
NOT_SWITCHED = ("switch-unstored", "switch-half-stored")


def cases(testbed: str, *, short: bool) -> list[str]:
    """All points. The short form takes some."""
    if not short:
        return list(points.SWITCH_POINTS)
    return {
        SQLITE: ["switch-stored"],
        SERVICES: ["switch-half-stored", "fallback-streams"],
    }[testbed]


def run(testbed: Testbed, report: Report, *, seed: int, short: bool) -> None:
    with (
        ModelServer() as model,
        testbed.processes(report.traces, lease_seconds=LEASE_SECONDS) as processes,
    ):
        group = ConversationGroup(model, "fallbacks")
        agents.configure(
            group.world.agent,
            by=group.world.owner,
            fallback_model=FALLBACK,
            fallback_base_url=model.base_url,
            fallback_api_key="sk-fallback-1234",
        )
        chosen = cases(testbed.name, short=short)
        for number, point in enumerate(chosen):
            _try(point, f"f{number}", testbed, processes, group, report)
            report.progress(f"{number + 1} of {len(chosen)} cases")
        report.figures["cases"] = len(chosen)
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
    # The own model makes a call without text, then fails: each text is the fallback's.
    script = Script(
        mark,
        [
            calls(bash=marking_command(f"{mark}.0")),
            says("I go on.") + calls(bash=marking_command(f"{mark}.1")),
            says(DONE),
        ],
        fails={(OWN_NAME, 1): fails("401")},
    )
    doomed = processes.worker(**{points.VARIABLE: point})
    observed = group.begin(script)
    if not doomed.wait_until_dead(REST_SECONDS):
        report.fault(f"{point}: the process never came to the point; {observed.status}")
        doomed.kill()
    sound = processes.worker()
    group.wait_for_all(REST_SECONDS)
    sound.kill()
    report.breaches(observed, _judge(point, observed, script, testbed, group), case=f"{point}:")
    testbed.delete_sandbox(observed)


def _judge(
    point: str,
    observed: ObservedConversation,
    script: Script,
    testbed: Testbed,
    group: ConversationGroup,
) -> list[Breach]:
    found = oracle.judge(observed, script, testbed.effects(observed))
    found += oracle.judge_calls(observed, group.requests_of(script))
    if observed.status != oracle.ANSWERED:
        found.append(Breach("end", f"it ended as {observed.status}"))
    switches = observed.event_data("model.switched")
    if [each["to_model"] for each in switches] != [FALLBACK]:
        found.append(Breach("D3", f"the switches in the log are {switches}"))
    own = observed.row.model_calls.filter(model=MODEL)
    late = own.filter(started_at__gt=_switched_at(observed))
    if late.exists() or own.count() < (3 if point in NOT_SWITCHED else 2):
        found.append(
            Breach("D4", f"the own model was asked {own.count()} times, {late.count()} late")
        )
    spoke = {each["model"] for each in observed.event_data("message.spoken")}
    if spoke != {FALLBACK}:
        found.append(Breach("D4", f"the texts are of {spoke}"))
    return found


def _switched_at(observed: ObservedConversation) -> str:
    at: list[str] = [
        each["at"] for each in observed.frames if each["type"] == "agent.model.switched"
    ]
    return max(at, default="9999-01-01T00:00:00+00:00")
