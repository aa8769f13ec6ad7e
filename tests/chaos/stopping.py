"""STOP: Stop ends a conversation in every state within its limit, and no command is left running."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from paca.conversations.models import Conversation, Event
from tests.chaos import oracle
from tests.chaos.api_client import ApiClient
from tests.chaos.conversation_group import ConversationGroup
from tests.chaos.report import Report, percentile
from tests.chaos.scripts import DONE, Script
from tests.chaos.testbed import Testbed
from tests.support.flow import ObservedConversation, wait_until
from tests.support.model_script import Scripted, calls, fails, says
from tests.support.model_server import ModelServer

LEASE_SECONDS = 3.0
TIMES = 50
WAIT_SECONDS = 60
# Children that outlive their parent, that ignore TERM, that have left the session.
TREE = "sleep 300 & (trap '' TERM; sleep 301; sleep 302) & setsid sleep 303 & echo begun; sleep 304"
WHO_RUNS = (
    "for p in /proc/[0-9]*; do tr '\\0' '\\n' < $p/cmdline | head -n 1; done 2>/dev/null"
    " | grep -x sleep || echo nobody"
)


@dataclass(frozen=True)
class State:
    """The reply that leads to a state, the check that it is reached, and how long Stop may take."""

    reply: Scripted
    reached: Callable[[ObservedConversation], bool]
    seconds: float


STATES = {
    "asking the model": State(
        fails("hang"), lambda observed: observed.has_event("turn.started"), 1
    ),
    "hearing the model": State(
        says("word " * 500).slowly(tps=5), lambda observed: observed.has_event("turn.started"), 1
    ),
    "running a command": State(
        calls(bash=TREE), lambda observed: observed.has_event("tool.started"), 2
    ),
    "waiting to ask again": State(
        Scripted(fault="429", retry_after="60"),
        lambda observed: observed.has_event("model.retried"),
        1,
    ),
}
QUEUED = "waiting for a worker"
QUEUED_SECONDS = 1
HELPED = "waiting for helpers"
HELPED_SECONDS = 2
HELPERS = 3


def run(testbed: Testbed, report: Report, *, seed: int, short: bool) -> None:
    """Stop each conversation once, through the web server; another process may run it."""
    times = 3 if short else TIMES
    with (
        ModelServer() as model,
        testbed.processes(report.traces, lease_seconds=LEASE_SECONDS) as processes,
    ):
        group = ConversationGroup(model, "stopping")
        workers = [processes.worker() for _ in range(testbed.workers)]
        ports = [worker.wait_until_ready() for worker in workers]
        client = ApiClient(processes.port or ports[0], group)
        for name, state in STATES.items():
            waits = []
            for number in range(times):
                report.progress(f"{name}: {number} of {times}")
                observed = group.begin(Script(f"{name.replace(' ', '-')}-{number}", [state.reply]))
                wait_until(partial(state.reached, observed), WAIT_SECONDS, group.describe_running)
                waits.append(_stopped_after(observed, client))
                _judge(testbed, group, report, name)
            _report_waits(report, name, waits, state.seconds)
        _while_helpers_work(testbed, group, client, report, times)
        _while_queued(group, client, report, times)


def _stopped_after(observed: ObservedConversation, client: ApiClient) -> float:
    """Seconds from the trigger row of Stop to the event that the conversation is stopped."""
    client.stop(observed)
    wait_until(lambda: observed.has_event("conversation.stopped"), WAIT_SECONDS)
    stopped = Event.objects.get(conversation=observed.id, type="agent.conversation.stopped")
    return (stopped.at - observed.row.triggers.get(control="stop").created_at).total_seconds()


def _judge(testbed: Testbed, group: ConversationGroup, report: Report, case: str) -> None:
    for observed, script in group.wait_for_all(WAIT_SECONDS):
        breaches = oracle.judge(observed, script, testbed.effects(observed))
        if observed.status != "stopped/by_person":
            breaches.append(oracle.Breach("Stop", f"it ended as {observed.status}"))
        if observed.has_event("sandbox.started"):
            runs = testbed.run_inside(observed, WHO_RUNS)
            if runs.strip() != "nobody":
                breaches.append(oracle.Breach("Stop", f"inside there still runs {runs!r}"))
        report.breaches(observed, breaches, case)
        testbed.delete_sandbox(observed)


def _while_helpers_work(
    testbed: Testbed, group: ConversationGroup, client: ApiClient, report: Report, times: int
) -> None:
    """Stop conversations whose helpers run commands: the last of them has ended within the limit."""
    waits = []
    for number in range(times):
        report.progress(f"{HELPED}: {number} of {times}")
        pieces = []
        for piece in range(HELPERS):
            script = group.add_script(Script(f"helper-{number}-{piece}", [calls(bash=TREE)]))
            pieces.append({"kind": "code", "task": script.first_message})
        asking = Script(f"helped-{number}", [calls(delegate=[{"helpers": pieces}])])
        observed = group.begin(asking)

        def helpers(of: ObservedConversation = observed) -> list[ObservedConversation]:
            rows = Conversation.objects.filter(parent=of.id)
            return [ObservedConversation(pk) for pk in rows.values_list("pk", flat=True)]

        wait_until(
            lambda of=helpers: (
                [each.has_event("tool.started") for each in of()] == [True] * HELPERS
            ),
            WAIT_SECONDS,
            group.describe_running,
        )
        client.stop(observed)
        ended = [observed, *helpers()]
        wait_until(
            lambda of=ended: all(each.has_event("conversation.stopped") for each in of),
            WAIT_SECONDS,
        )
        stopped = Event.objects.filter(
            conversation__in=[each.id for each in ended], type="agent.conversation.stopped"
        )
        began = observed.row.triggers.get(control="stop").created_at
        waits.append(max((each.at - began).total_seconds() for each in stopped))
        _judge(testbed, group, report, HELPED)
    _report_waits(report, HELPED, waits, HELPED_SECONDS)


def _while_queued(group: ConversationGroup, client: ApiClient, report: Report, times: int) -> None:
    """Stop queued conversations of a paused agent: there is no worker to wait for."""
    waits = []
    with group.agent_paused():
        for number in range(times):
            observed = group.begin(Script(f"queued-{number}", [says(DONE)]))
            began = observed.row.last_seq
            client.stop(observed)
            stopped = Event.objects.get(conversation=observed.id, type="agent.conversation.stopped")
            first = Event.objects.get(conversation=observed.id, seq=began)
            waits.append((stopped.at - first.at).total_seconds())
            group.wait_for_all(WAIT_SECONDS)
            if observed.row.turn_number:
                report.fault(f"{QUEUED}: {observed.id} was begun after it had been stopped")
    _report_waits(report, QUEUED, waits, QUEUED_SECONDS)


def _report_waits(report: Report, name: str, waits: list[float], bound: float) -> None:
    p95, most = percentile(waits, 0.95), max(waits)
    report.figures[name] = f"p95 {p95:.2f} s max {most:.2f} s of {len(waits)}"
    if most > bound:
        report.fault(f"{name}: Stop took {most:.2f} s, at most {bound:g} s are promised")
