"""HELPERS: a worker dies around the start, the wait, the end and the report of helpers: each runs once and is told once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from paca.conversations.models import Conversation
from tests.chaos import oracle, points
from tests.chaos.conversation_group import ConversationGroup
from tests.chaos.oracle import Breach
from tests.chaos.report import Report
from tests.chaos.scripts import DONE, Script, marking_command
from tests.chaos.testbed import SERVICES, SQLITE, Processes, Testbed
from tests.support.flow import ObservedConversation, wait_until
from tests.support.model_script import calls, says
from tests.support.model_server import ModelServer

# A worker sees at once that another one on its host is dead; on a busy machine no other lease runs out.
LEASE_SECONDS = 30.0
REST_SECONDS = 120
KINDS = ("code", "general")
CASES = (*points.HELPER_POINTS, "decision-untaken", "decision-half-taken")


def cases(testbed: str, *, short: bool) -> Sequence[str]:
    """All points. The short form takes some."""
    if not short:
        return CASES
    return {
        SQLITE: ("helpers-half-started", "helper-end-half-stored", "helpers-unreleased"),
        SERVICES: ("helpers-unwaited", "helper-end-unstored", "helper-end-stored"),
    }[testbed]


def run(testbed: Testbed, report: Report, *, seed: int, short: bool) -> None:
    """Run the part."""
    with (
        ModelServer() as model,
        testbed.processes(report.traces, lease_seconds=LEASE_SECONDS) as processes,
    ):
        group = ConversationGroup(model, "helpers")
        chosen = cases(testbed.name, short=short)
        for number, point in enumerate(chosen):
            _try(point, f"h{number}", testbed, processes, group, report)
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
    scripts = [
        Script(name, [calls(bash=marking_command(name)), says(f"Report of {name}.")])
        for name in (f"{mark}-{kind}" for kind in KINDS)
    ]
    for script in scripts:
        group.add_script(script)
    pieces = [
        {"kind": kind, "task": script.first_message}
        for kind, script in zip(KINDS, scripts, strict=True)
    ]
    asking = Script(mark, [says("I split it.") + calls(delegate=[{"helpers": pieces}]), says(DONE)])
    doomed = processes.worker(**{points.VARIABLE: point})
    observed = group.begin(asking)
    if not doomed.wait_until_dead(REST_SECONDS):
        report.fault(f"{point}: the process never came to the point; {observed.status}")
        doomed.kill()
    sound = processes.worker()
    group.wait_for_all(REST_SECONDS)
    wait_until(lambda: _told(observed) >= len(KINDS), REST_SECONDS)
    sound.kill()
    found = oracle.judge_log(observed, asking) + _judge_helpers(observed, scripts, testbed)
    report.breaches(observed, found, case=f"{point}:")
    testbed.delete_sandbox(observed)


def _told(observed: ObservedConversation) -> int:
    return len(observed.event_data("subagent.finished"))


def _judge_helpers(
    observed: ObservedConversation, scripts: Sequence[Script], testbed: Testbed
) -> list[Breach]:
    """The promises of each helper, and that each was begun once and told once, with its report."""
    rows = Conversation.objects.filter(parent=observed.id).order_by("piece")
    helpers = [ObservedConversation(pk) for pk in rows.values_list("pk", flat=True)]
    effects = testbed.effects(observed)
    found = []
    for helper, script in zip(helpers, scripts, strict=False):
        own = Counter({m: n for m, n in effects.items() if m.startswith(f"{script.mark}.")})
        found += oracle.judge(helper, script, own)
    [report] = observed.outputs or [""]
    counts = {
        "begun": len(helpers),
        "started": len(observed.event_data("subagent.started")),
        "told": _told(observed),
        "reports": sum(f"Report of {script.mark}." in report for script in scripts),
        "marks": len(effects) // 2,
    }
    if any(status != oracle.ANSWERED for status in (observed.status, *(h.status for h in helpers))):
        found.append(
            Breach("end", f"they ended as {[observed.status, *[h.status for h in helpers]]}")
        )
    if any(times != 1 for times in effects.values()):
        found.append(Breach("D2", f"commands of helpers ran as {dict(effects)}"))
    return found + [
        Breach("D3", f"{what}: {count} instead of {len(scripts)}")
        for what, count in counts.items()
        if count != len(scripts)
    ]
