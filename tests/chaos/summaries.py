"""SUMMARY: a worker dies while it puts a summary in place of what came before; there is one, and each call is booked."""

from __future__ import annotations

from collections import Counter

from paca.conversations import services
from tests.chaos import oracle, points
from tests.chaos.conversation_group import ConversationGroup
from tests.chaos.oracle import Breach
from tests.chaos.report import Report
from tests.chaos.scripts import DONE, NOTES, Script
from tests.chaos.testbed import SQLITE, Processes, Testbed
from tests.support.flow import ObservedConversation
from tests.support.model_script import calls, says
from tests.support.model_server import ModelServer

# A worker sees at once that another one on its host is dead; on a busy machine no other lease runs out.
LEASE_SECONDS = 30.0
REST_SECONDS = 120
# Long enough that a summary of it wins. The newest answer stays as it is, so a short one follows it.
LONG = "A long answer. " * 400
BEGINNING = says(LONG) + calls(think="What is next?")
# At these points the summary is stored, or its model was not asked: no call is lost.
NO_CALL_LOST = ("summary-unasked", "summary-stored")


def cases(testbed: str, *, short: bool) -> list[str]:
    """All points. The short form takes half of them on each set-up."""
    chosen = list(points.SUMMARY_POINTS)
    return chosen[testbed == SQLITE :: 2] if short else chosen


def run(testbed: Testbed, report: Report, *, seed: int, short: bool) -> None:
    with (
        ModelServer() as model,
        testbed.processes(report.traces, lease_seconds=LEASE_SECONDS) as processes,
    ):
        group = ConversationGroup(model, "summaries")
        chosen = cases(testbed.name, short=short)
        begun = _begin(chosen, processes, group)
        for number, (point, (observed, script)) in enumerate(begun.items()):
            found = _try(point, observed, script, processes, group, report)
            report.breaches(observed, found, case=f"{point}:")
            report.progress(f"{number + 1} of {len(chosen)} cases")
        report.figures["cases"] = len(chosen)
        if model.violations:
            report.fault(f"the model was asked what no provider accepts: {model.violations[:3]}")


def _begin(
    chosen: list[str], processes: Processes, group: ConversationGroup
) -> dict[str, tuple[ObservedConversation, Script]]:
    """A conversation with a long answer for each point."""
    worker = processes.worker()
    begun = {}
    for number, point in enumerate(chosen):
        script = Script(f"s{number}", [says(DONE), says(DONE)], opening=BEGINNING)
        begun[point] = group.begin(script), script
    group.wait_for_all(REST_SECONDS)
    worker.kill()
    return begun


def _try(
    point: str,
    observed: ObservedConversation,
    script: Script,
    processes: Processes,
    group: ConversationGroup,
    report: Report,
) -> list[Breach]:
    owner = group.world.owner
    services.request_summary(observed.row, by=owner, focus="the answer")
    doomed = processes.worker(**{points.VARIABLE: point})
    services.send(observed.row, text="And now?", by=owner)
    group.watch(observed, script)
    if not doomed.wait_until_dead(REST_SECONDS):
        report.fault(f"{point}: the process never came to the point; {observed.status}")
        doomed.kill()
    sound = processes.worker()
    group.wait_for_all(REST_SECONDS)
    sound.kill()
    return _judge(point, observed, script)


def _judge(point: str, observed: ObservedConversation, script: Script) -> list[Breach]:
    found = oracle.judge_log(observed, Script(script.mark, [BEGINNING, says(DONE), says(DONE)]))
    if observed.status != oracle.ANSWERED:
        found.append(Breach("end", f"it ended as {observed.status}"))
    summaries = [each["summary"] for each in observed.event_data("context.compacted")]
    if summaries != [NOTES]:
        found.append(Breach("D3", f"the summaries in the log are {summaries}"))
    calls = observed.row.model_calls.filter(purpose="compaction")
    booked = Counter(calls.values_list("status", flat=True))
    expected = Counter(done=1, abandoned=point not in NO_CALL_LOST)
    if +booked != +expected:
        found.append(Breach("D6", f"calls for the summary are booked as {dict(booked)}"))
    return found
