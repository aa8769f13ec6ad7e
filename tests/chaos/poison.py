"""R7: each bad input ends as the table requires, and other conversations go on."""

from __future__ import annotations

from paca.conversations.models import Trigger
from tests.chaos import bad_inputs, senders
from tests.chaos.bad_inputs import BadInput, difference
from tests.chaos.conversation_group import ConversationGroup
from tests.chaos.report import Report
from tests.chaos.scripts import DONE, Script
from tests.chaos.senders import NEED_REDIS, InputContext, Seen
from tests.chaos.testbed import SQLITE, Processes, Testbed
from tests.support.model_script import says
from tests.support.model_server import ModelServer

LEASE_SECONDS = 3.0
MOST_MIB = 600
LIMITS = {"SANDBOX_MEMORY_MIB": "512"}


def run(testbed: Testbed, report: Report, *, seed: int, short: bool) -> None:
    """Send every bad input, and check the result, the other conversations and the leftovers."""
    with (
        ModelServer() as model,
        testbed.processes(report.traces, lease_seconds=LEASE_SECONDS, **LIMITS) as processes,
    ):
        group = ConversationGroup(model, "poison")
        before = _conversations_with_files(
            testbed
        )  # of earlier parts, until their sandboxes are deleted
        ports = [w.wait_until_ready() for w in [processes.worker() for _ in range(testbed.workers)]]
        target = group.begin(Script("target", [says(DONE)]))
        group.wait_for_all(senders.WAIT_SECONDS)
        context = InputContext(testbed, group, processes.port or ports[0], report, target)
        held = total = 0
        for name, rows in _groups(testbed, short=short).items():
            report.say(f"{name}: {len(rows)}")
            held += _judge(rows, senders.SENDERS[name](rows, context), report)
            total += len(rows)
            _check_other_work(name, processes, context)
        _check_leftovers(context, before)
        if model.violations:
            report.fault(f"the model got requests that no provider accepts: {model.violations[:3]}")
        report.figures["inputs with the required result"] = f"{held} of {total}"
        report.figures["memory of the largest process"] = f"{processes.largest_mib:.0f} MiB"
        report.figures["slowest answer to another conversation"] = f"{max(context.waits):.1f} s"


def _groups(testbed: Testbed, *, short: bool) -> dict[str, list[BadInput]]:
    found = {
        name: [row for row in rows if row.short or not short]
        for name, rows in bad_inputs.ROWS.items()
        if testbed.name != SQLITE or name not in NEED_REDIS
    }
    return {name: rows for name, rows in found.items() if rows}


def _judge(rows: list[BadInput], seen: list[Seen], report: Report) -> int:
    """Report each bad input with another result than required; gives the number of the others."""
    wrong = [text for row, one in zip(rows, seen, strict=True) if (text := difference(row, one))]
    for text in wrong:
        report.fault(text)
    return len(rows) - len(wrong)


def _check_other_work(name: str, processes: Processes, context: InputContext) -> None:
    """Check that another conversation is answered, and that no process died, grew or logged an error."""
    context.check_unrelated_conversation()
    for log in processes.dead:
        context.report.fault(f"{name}: a process has died, see {log}")
    if processes.largest_mib > MOST_MIB:
        context.report.fault(f"{name}: a process has grown to {processes.largest_mib:.0f} MiB")
    for line in processes.logged_errors[context.logged_errors :]:
        context.logged_errors += 1
        context.report.fault(f"{name}: logged as an error: {line[:300]} ... {line[-600:]}")


def _conversations_with_files(testbed: Testbed) -> set[str]:
    """The ids of conversations that have a workspace."""
    return {str(one) for each in testbed.sandboxes.list_workspaces().values() for one in each}


def _check_leftovers(context: InputContext, before: set[str]) -> None:
    if left := _conversations_with_files(context.testbed) - before:
        context.report.fault(f"sandboxes are left of {sorted(left)}")
    if waiting := Trigger.objects.filter(state__in=("new", "claimed")).count():
        context.report.fault(f"{waiting} triggers are left in the inbox")
