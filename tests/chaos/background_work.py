"""BACKGROUND: a worker dies around a background command: it runs once, its end is told once, and wakes the agent once."""

from __future__ import annotations

from collections.abc import Sequence

from paca.conversations.models import BackgroundCommand
from tests.chaos import oracle, points
from tests.chaos.conversation_group import ConversationGroup
from tests.chaos.fork_server import Process
from tests.chaos.oracle import Breach
from tests.chaos.report import Report
from tests.chaos.scripts import EFFECTS, Script
from tests.chaos.testbed import SERVICES, SQLITE, Processes, Testbed
from tests.support.flow import ObservedConversation, wait_until
from tests.support.model_script import calls, says
from tests.support.model_server import ModelServer

# A worker sees at once that another one on its host is dead; on a busy machine no other lease runs out.
LEASE_SECONDS = 30.0
REST_SECONDS = 120
# The worker dies around the start of the command, in its turn; or around its end, after the answer.
STARTS = (
    *("intent-unstored", "intent-half-stored", "intent-stored", "call-sent", "call-answered"),
    *("outcome-unstored", "outcome-half-stored", "outcome-stored"),
    *("turn-unfinished", "turn-half-ended", "turn-ended"),
)
ENDS = tuple(points.BACKGROUND_POINTS)
WAITS = "I wait."


def cases(testbed: str, *, short: bool) -> Sequence[str]:
    """All points. The short form takes some."""
    if not short:
        return (*STARTS, *ENDS)
    return {
        SQLITE: ("call-sent", "outcome-half-stored", "end-half-stored", "wake-half-stored"),
        SERVICES: ("outcome-unstored", "turn-ended", "end-unstored", "wake-stored"),
    }[testbed]


def run(testbed: Testbed, report: Report, *, seed: int, short: bool) -> None:
    """Run the part."""
    with (
        ModelServer() as model,
        testbed.processes(report.traces, lease_seconds=LEASE_SECONDS) as processes,
    ):
        group = ConversationGroup(model, "background")
        chosen = cases(testbed.name, short=short)
        for number, point in enumerate(chosen):
            _try(point, f"b{number}", testbed, processes, group, report)
            report.progress(f"{number + 1} of {len(chosen)} cases")
        report.figures["cases"] = len(chosen)
        if model.violations:
            report.fault(f"the model was asked what no provider accepts: {model.violations[:3]}")


def _script(mark: str) -> Script:
    command = f"echo {mark} >> {EFFECTS}; until [ -e go-on ]; do sleep 0.05; done; echo built"
    return Script(mark, [says("I begin.") + calls(background_run=command), says(WAITS)])


def _try(
    point: str,
    mark: str,
    testbed: Testbed,
    processes: Processes,
    group: ConversationGroup,
    report: Report,
) -> None:
    script, doomed = _script(mark), None
    first = processes.worker(**({points.VARIABLE: point} if point in STARTS else {}))
    observed = group.begin(script)
    if point in STARTS:
        _wait_for_death(first, point, observed, report)
        first = processes.worker()
    group.wait_for_all(REST_SECONDS)
    first.kill()
    testbed.run_inside(observed, "touch go-on")
    if point in ENDS:
        doomed = processes.worker(**{points.VARIABLE: point})
        _wait_for_death(doomed, point, observed, report)
    sound = processes.worker()
    wait_until(lambda: len(observed.answers) >= 3, REST_SECONDS, lambda: str(observed.event_types))
    group.watch(observed, script)
    group.wait_for_all(REST_SECONDS)
    sound.kill()
    found = _judge(observed, script, testbed)
    report.breaches(observed, found, case=f"{point}:")
    testbed.delete_sandbox(observed)


def _wait_for_death(
    doomed: Process, point: str, observed: ObservedConversation, report: Report
) -> None:
    if not doomed.wait_until_dead(REST_SECONDS):
        report.fault(f"{point}: the process never came to the point; {observed.status}")
        doomed.kill()


def _judge(observed: ObservedConversation, script: Script, testbed: Testbed) -> list[Breach]:
    """The promises of each conversation; and one start, one end, and one turn that the end has begun."""
    said = Script(script.mark, [*script.replies, says(WAITS)])
    found = oracle.judge(observed, said, testbed.effects(observed))
    if observed.status != oracle.ANSWERED:
        found.append(Breach("end", f"it ended as {observed.status}"))
    ends = observed.event_data("background.finished")
    counts = {
        "start": len(observed.event_data("background.started")),
        "end": len(ends),
        "wake": observed.row.triggers.filter(kind="background").count(),
        "row": BackgroundCommand.objects.filter(conversation=observed.id, state="ended").count(),
    }
    if not all("built" in each["output"] and not each["cause"] for each in ends):
        found.append(Breach("D2", f"the command is told to have ended as {ends}"))
    return found + [
        Breach("D3", f"{what}: {count} instead of 1")
        for what, count in counts.items()
        if count != 1
    ]
