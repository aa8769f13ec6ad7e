"""STOP: within its bound in every state a conversation can be in, and nothing is left running inside."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from paca.conversations.models import Event
from tests.chaos import oracle
from tests.chaos.calling import Caller
from tests.chaos.cast import Cast
from tests.chaos.ground import Ground
from tests.chaos.report import Report, percentile
from tests.chaos.stories import DONE, Story
from tests.support.flow import ObservedConversation, wait_until
from tests.support.model_script import Scripted, calls, fails, says
from tests.support.model_server import ModelServer

LEASE_SECONDS = 3.0
TIMES = 50
WAIT_SECONDS = 60
# Children that outlive their parent, that do not hear TERM, that have left its session.
TREE = "sleep 300 & (trap '' TERM; sleep 301; sleep 302) & setsid sleep 303 & echo begun; sleep 304"
WHO_RUNS = (
    "for p in /proc/[0-9]*; do tr '\\0' '\\n' < $p/cmdline | head -n 1; done 2>/dev/null"
    " | grep -x sleep || echo nobody"
)


@dataclass(frozen=True)
class State:
    """How a conversation gets there, how one sees that it has, and how long Stop may take."""

    reply: Scripted
    reached: Callable[[ObservedConversation], bool]
    seconds: float


STATES = {
    "asking the model": State(fails("hang"), lambda told: told.has_event("turn.started"), 1),
    "hearing the model": State(
        says("word " * 500).slowly(tps=5), lambda told: told.has_event("turn.started"), 1
    ),
    "running a command": State(calls(bash=TREE), lambda told: told.has_event("tool.started"), 2),
    "waiting to ask again": State(
        Scripted(fault="429", retry_after="60"), lambda told: told.has_event("model.retried"), 1
    ),
}
QUEUED = "waiting for a worker"
QUEUED_SECONDS = 1


def run(ground: Ground, report: Report, *, seed: int, short: bool) -> None:
    """Each conversation is stopped once, through the web server; another process may hold it."""
    times = 3 if short else TIMES
    with ModelServer() as model, ground.team(report.traces, lease_seconds=LEASE_SECONDS) as team:
        cast = Cast(model, "stopping")
        workers = [team.worker() for _ in range(ground.workers)]
        ports = [worker.wait_until_ready() for worker in workers]
        caller = Caller(team.port or ports[0], cast)
        for name, state in STATES.items():
            waits = []
            for number in range(times):
                report.progress(f"{name}: {number} of {times}")
                told = cast.begin(Story(f"{name.replace(' ', '-')}-{number}", [state.reply]))
                wait_until(partial(state.reached, told), WAIT_SECONDS, cast.where)
                waits.append(_stopped_after(told, caller))
                _judge(ground, cast, report, name)
            _tell(report, name, waits, state.seconds)
        _while_queued(cast, caller, report, times)


def _stopped_after(told: ObservedConversation, caller: Caller) -> float:
    """Seconds from the order's row in the inbox to the row that says that it is over."""
    caller.stop(told)
    wait_until(lambda: told.has_event("conversation.stopped"), WAIT_SECONDS)
    stopped = Event.objects.get(conversation=told.id, type="agent.conversation.stopped")
    return (stopped.at - told.row.triggers.get(control="stop").created_at).total_seconds()


def _judge(ground: Ground, cast: Cast, report: Report, case: str) -> None:
    for told, story in cast.wait_for_all(WAIT_SECONDS):
        breaches = oracle.judge(told, story, ground.effects(told))
        if told.status != "stopped/by_person":
            breaches.append(oracle.Breach("Stop", f"it ended as {told.status}"))
        if told.has_event("sandbox.started"):
            runs = ground.run_inside(told, WHO_RUNS)
            if runs.strip() != "nobody":
                breaches.append(oracle.Breach("Stop", f"inside there still runs {runs!r}"))
        report.breaches(told, breaches, case)
        ground.forget(told)


def _while_queued(cast: Cast, caller: Caller, report: Report, times: int) -> None:
    """No worker has it, because its agent rests: there is nothing to wait for."""
    waits = []
    with cast.resting():
        for number in range(times):
            told = cast.begin(Story(f"queued-{number}", [says(DONE)]))
            began = told.row.last_seq
            caller.stop(told)
            stopped = Event.objects.get(conversation=told.id, type="agent.conversation.stopped")
            first = Event.objects.get(conversation=told.id, seq=began)
            waits.append((stopped.at - first.at).total_seconds())
            cast.wait_for_all(WAIT_SECONDS)
            if told.row.turn_number:
                report.fault(f"{QUEUED}: {told.id} was begun after it had been stopped")
    _tell(report, QUEUED, waits, QUEUED_SECONDS)


def _tell(report: Report, name: str, waits: list[float], bound: float) -> None:
    p95, most = percentile(waits, 0.95), max(waits)
    report.figures[name] = f"p95 {p95:.2f} s max {most:.2f} s of {len(waits)}"
    if most > bound:
        report.fault(f"{name}: Stop took {most:.2f} s, at most {bound:g} s are promised")
