"""Named points at which a process can be made to die: between any two stored facts of a turn.

``PACA_FAULT=reply-stored`` in the environment of a process of the rig is a ``kill -9`` of itself when
it first comes there, ``PACA_FAULT=reply-stored:2`` when it does so the second time. The product knows
nothing of this: what is wrapped stands here, and a name that leads nowhere any more is an error.
"""

import asyncio
import functools
import inspect
import os
import re
import signal
from base64 import b64decode
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from paca import events
from paca.bus.memory import MemoryBus
from paca.bus.redis.bus import RedisBus
from paca.conversations import projections, sandbox_setups, store
from paca.conversations.services import (
    background,
    check_in_runs,
    helpers,
    person_requests,
    thread_comments,
)
from paca.conversations.services.teams import board, members, messages, settling
from paca.engine.mcp import tools as mcp_tools
from paca.engine.turn import ModelCallStarted
from paca.projects.tools import access
from paca.repositories import pull_requests
from paca.sandbox.runner_client import Attachment
from paca.worker import helper_wait, main, person_wait, stream_buffer, turn_end
from paca.worker.repository_access import RunRepositoryAccess
from paca.worker.sandboxes import run_sandbox

VARIABLE = "PACA_FAULT"
OF_THE_LOG, NONE = re.compile(r"[0-9a-f]{32}").fullmatch, "0" * 32
OUTCOMES = (events.ToolReturned, events.ToolOutcomeUnknown)
PERSON_REQUESTS = (events.ApprovalRequested, events.QuestionAsked, events.PlanProposed)
Arrives = Callable[..., Any]


@dataclass(frozen=True)
class Point:
    """A point before or after a call of ``owner.name``, if its arguments match."""

    owner: Any
    name: str
    when: str
    arrives: Arrives = lambda *_, **__: True


def _holds(*kinds: type) -> Arrives:
    def arrives(*given: Any, **_: Any) -> bool:
        return any(isinstance(entry, kinds) for entry in _entries(given))

    return arrives


def _entries(given: tuple[Any, ...]) -> tuple[Any, ...]:
    return given[2] if len(given) == 3 and isinstance(given[2], tuple) else given


def _begins_summary(*given: Any, **_: Any) -> bool:
    return any(
        isinstance(entry, ModelCallStarted) and entry.purpose == "compaction"
        for entry in _entries(given)
    )


def _asks_model(model: str) -> Arrives:
    """Whether the start of a call of this model is stored."""
    return lambda *given, **_: any(
        isinstance(entry, ModelCallStarted) and entry.model == model for entry in _entries(given)
    )


def _asks(*ops: str) -> Arrives:
    """Whether the call is one of the log. The check of a backend calls its sandbox too."""
    return lambda _attachment, op, **fields: op in ops and OF_THE_LOG(fields.get("call_id", NONE))


def _calls_a_server(_attachment: Any, op: str, **fields: Any) -> bool:
    return op == "send" and b"tools/call" in b64decode(fields["data"])


def _pushes(_attachment: Any, op: str, **fields: Any) -> bool:
    return op == "run" and "-push-" in fields.get("call_id", "")


def _sets_up(_attachment: Any, op: str, **fields: Any) -> bool:
    return op == "run" and re.fullmatch(r"[0-9a-f]{32}-1", fields.get("call_id", "")) is not None


def _shows(kind: type[events.Event]) -> Arrives:
    return lambda _live, event: isinstance(event, kind)


# The fallback model of the part FALLBACK.
FALLBACK = "anthropic/claude-haiku-4-5"
ACTS = ("run", "read_lines", "write", "replace")
STORED, HALF_STORED = (store, "append"), (projections, "apply")

# In the order of a turn.
POINTS: dict[str, Point] = {
    "claimed": Point(main, "claim_with_turns", "after"),
    "question-stored": Point(*STORED, "after", _holds(ModelCallStarted)),
    "answer-streams": Point(
        stream_buffer.StreamBuffer, "add", "after", _shows(events.TextStreamed)
    ),
    "reply-unstored": Point(*STORED, "before", _holds(events.ToolCalled)),
    "reply-half-stored": Point(*HALF_STORED, "before", _holds(events.ToolCalled)),
    "reply-stored": Point(*STORED, "after", _holds(events.ToolCalled)),
    "sandbox-unrecorded": Point(run_sandbox.RunSandbox, "_open", "after"),
    "intent-unstored": Point(*STORED, "before", _holds(events.ToolStarted)),
    "intent-half-stored": Point(*HALF_STORED, "before", _holds(events.ToolStarted)),
    "intent-stored": Point(*STORED, "after", _holds(events.ToolStarted)),
    "call-sent": Point(Attachment, "request", "sent", _asks(*ACTS)),
    "call-answered": Point(Attachment, "request", "after", _asks(*ACTS)),
    "command-speaks": Point(
        stream_buffer.StreamBuffer, "add", "after", _shows(events.ToolProgressed)
    ),
    "outcome-unstored": Point(*STORED, "before", _holds(*OUTCOMES)),
    "outcome-half-stored": Point(*HALF_STORED, "before", _holds(*OUTCOMES)),
    "outcome-stored": Point(*STORED, "after", _holds(*OUTCOMES)),
    "turn-unfinished": Point(turn_end, "end_turn", "before"),
    "turn-half-ended": Point(*HALF_STORED, "before", _holds(events.ConversationFinished)),
    "turn-ended": Point(turn_end, "end_turn", "after"),
}
# Points of a tool that writes on the project: its write is one transaction, which ends with the lease.
WRITE_POINTS: dict[str, Point] = {
    "write-unstored": Point(access, "write", "before"),
    "write-half-stored": Point(store, "require_lease", "before"),
    "write-almost-stored": Point(store, "require_lease", "after"),
    "write-stored": Point(access, "write", "after"),
}
# Points between the answer of an agent and its comment, in the transaction that ends the turn.
ANSWER_POINTS: dict[str, Point] = {
    "answer-unposted": Point(thread_comments, "post", "before"),
    "answer-half-posted": Point(thread_comments, "post", "after"),
}
# Points from the request for a summary to its place in the log.
SUMMARY_POINTS: dict[str, Point] = {
    "summary-unasked": Point(*STORED, "before", _begins_summary),
    "summary-asked": Point(*STORED, "after", _begins_summary),
    "summary-unstored": Point(*STORED, "before", _holds(events.ContextCompacted)),
    "summary-half-stored": Point(*HALF_STORED, "before", _holds(events.ContextCompacted)),
    "summary-stored": Point(*STORED, "after", _holds(events.ContextCompacted)),
}
# Points around a wait for a person: its transaction gives up the lease, and tells people.
WAIT_POINTS: dict[str, Point] = {
    "wait-unstored": Point(person_wait, "begin", "before"),
    "wait-half-stored": Point(*HALF_STORED, "before", _holds(*PERSON_REQUESTS)),
    "wait-untold": Point(person_requests, "tell_people", "before"),
    "wait-uncommitted": Point(person_requests, "tell_people", "after"),
    "wait-stored": Point(person_wait, "begin", "after"),
}
# Points of the claim after a decision.
DECISION_POINTS: dict[str, Point] = {
    "decision-untaken": Point(*STORED, "before", _holds(events.ConversationResumed)),
    "decision-half-taken": Point(*STORED, "after", _holds(events.ConversationResumed)),
}
# Points from the failure of the own model to the answer of the fallback. The first call with text is the fallback's.
SWITCH_POINTS: dict[str, Point] = {
    "switch-unstored": Point(*STORED, "before", _holds(events.ModelSwitched)),
    "switch-half-stored": Point(*HALF_STORED, "before", _holds(events.ModelSwitched)),
    "switch-stored": Point(*STORED, "after", _holds(events.ModelSwitched)),
    "fallback-asked": Point(*STORED, "after", _asks_model(FALLBACK)),
    "fallback-streams": POINTS["answer-streams"],
    "fallback-unstored": Point(*STORED, "before", _holds(events.MessageSpoken)),
    "fallback-stored": Point(*STORED, "after", _holds(events.MessageSpoken)),
}
# Points from a limit that is reached to the pause, and from Continue to the first call of the next portion.
LIMIT_POINTS: dict[str, Point] = {
    "limit-unstored": Point(*STORED, "before", _holds(events.LimitReached)),
    "limit-half-stored": Point(*HALF_STORED, "before", _holds(events.LimitReached)),
    "limit-stored": Point(*STORED, "after", _holds(events.LimitReached)),
    "limit-told": Point(turn_end, "end_turn", "before"),
    "pause-half-stored": Point(*HALF_STORED, "before", _holds(events.ConversationPaused)),
    "pause-stored": Point(turn_end, "end_turn", "after"),
}
PORTION_POINTS: dict[str, Point] = {
    "portion-claimed": POINTS["claimed"],
    "portion-asked": POINTS["question-stored"],
}
# Points around the transaction that takes the slot of a check-in.
CHECK_IN_POINTS: dict[str, Point] = {
    "check-in-unstored": Point(check_in_runs, "start", "before"),
    "check-in-half-stored": Point(check_in_runs, "start", "after"),
    "check-in-stored": Point(check_in_runs, "take_or_skip", "after"),
}
# Points from the end of a background command to the turn that it begins.
BACKGROUND_POINTS: dict[str, Point] = {
    "end-unstored": Point(*STORED, "before", _holds(events.BackgroundFinished)),
    "end-half-stored": Point(*HALF_STORED, "before", _holds(events.BackgroundFinished)),
    "end-stored": Point(*STORED, "after", _holds(events.BackgroundFinished)),
    "wake-half-stored": Point(background, "add_trigger", "before"),
    "wake-stored": Point(background, "wake", "after"),
}
# Points of a call of an MCP server in the sandbox.
MCP_POINTS: dict[str, Point] = {
    "mcp-call-sent": Point(Attachment, "request", "sent", _calls_a_server),
    "mcp-call-answered": Point(mcp_tools, "answer", "after"),
}
# Points from what the server has before a push to what it has after it.
PUSH_POINTS: dict[str, Point] = {
    "push-asked": Point(RunRepositoryAccess, "remote_state", "after"),
    "push-allowed": Point(RunRepositoryAccess, "allow_push", "before"),
    "push-sent": Point(Attachment, "request", "sent", _pushes),
    "push-answered": Point(Attachment, "request", "after", _pushes),
    "pull-request-opened": Point(pull_requests, "open_prepared", "after"),
}
# Points from the claim of a setup to the sandbox that starts with its files.
SETUP_POINTS: dict[str, Point] = {
    "setup-claimed": Point(sandbox_setups, "claim", "after"),
    "setup-sent": Point(Attachment, "request", "sent", _sets_up),
    "setup-answered": Point(Attachment, "request", "after", _sets_up),
    "setup-unstored": Point(sandbox_setups, "finish", "before"),
    "setup-stored": Point(sandbox_setups, "finish", "after"),
    "setup-used": Point(sandbox_setups, "use", "after"),
}
# Points around the start of helpers, the wait for them, the end of each, and the end of the wait.
HELPER_POINTS: dict[str, Point] = {
    "helpers-unstarted": Point(helper_wait, "begin", "before"),
    "helpers-half-started": Point(*HALF_STORED, "before", _holds(events.SubagentStarted)),
    "helpers-unwaited": Point(*STORED, "before", _holds(events.ConversationWaiting)),
    "helpers-uncommitted": Point(helpers, "settle_soon", "before"),
    "helpers-started": Point(helper_wait, "begin", "after"),
    "helper-end-unstored": Point(*STORED, "before", _holds(events.SubagentFinished)),
    "helper-end-half-stored": Point(*HALF_STORED, "before", _holds(events.SubagentFinished)),
    "helper-end-stored": Point(helpers, "settle", "after"),
    "helpers-unreleased": Point(helpers, "release", "before"),
    "helpers-half-released": Point(helpers, "release", "after"),
}
# Points around the start of a teammate, the settling of its team, its claim of a task, and its report.
TEAM_POINTS: dict[str, Point] = {
    "teammate-unspawned": Point(members, "spawn", "before"),
    "teammate-half-spawned": Point(members, "spawn", "after"),
    "team-unsettled": Point(settling, "settle", "before"),
    "team-half-settled": Point(settling, "_settle_one", "after"),
    "team-settled": Point(settling, "settle", "after"),
    "task-unclaimed": Point(board, "claim_next", "before"),
    "task-half-claimed": Point(board, "claim_next", "after"),
    "report-unstored": Point(messages, "deliver", "before"),
    "report-half-stored": Point(messages, "deliver", "after"),
}
ALL_POINTS = (
    POINTS
    | WRITE_POINTS
    | ANSWER_POINTS
    | SUMMARY_POINTS
    | WAIT_POINTS
    | DECISION_POINTS
    | SWITCH_POINTS
    | LIMIT_POINTS
    | PORTION_POINTS
    | CHECK_IN_POINTS
    | BACKGROUND_POINTS
    | MCP_POINTS
    | PUSH_POINTS
    | SETUP_POINTS
    | HELPER_POINTS
    | TEAM_POINTS
)
# Points of a web server between a message and its answer.
TRIGGER_STORED = "trigger-stored"
WAKES = [Point(bus, "wake", "before") for bus in (MemoryBus, RedisBus)]


def install(fault: str) -> None:
    """Make this process die at the point, written ``name`` or ``name:n``."""
    name, _, times = fault.partition(":")
    arrivals = Arrivals(int(times or 1))
    for point in WAKES if name == TRIGGER_STORED else [ALL_POINTS[name]]:
        _wrap(point, arrivals)


class Arrivals:
    """Counts arrivals down to the one at which the process dies."""

    def __init__(self, left: int) -> None:
        self._left = left

    def here(self) -> None:
        self._left -= 1
        if self._left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
            signal.pause()  # until the signal arrives: no further line runs


def _wrap(point: Point, arrivals: Arrivals) -> None:
    original = getattr(point.owner, point.name)
    wrapped = _asynchronous if inspect.iscoroutinefunction(original) else _synchronous
    setattr(point.owner, point.name, functools.wraps(original)(wrapped(original, point, arrivals)))


def _synchronous(original: Callable[..., Any], point: Point, arrivals: Arrivals) -> Any:
    def call(*given: Any, **named: Any) -> Any:
        arrives = point.arrives(*given, **named)
        if arrives and point.when == "before":
            arrivals.here()
        found = original(*given, **named)
        if arrives and point.when == "after" and found != []:  # not after a claim that took nothing
            arrivals.here()
        return found

    return call


def _asynchronous(original: Callable[..., Any], point: Point, arrivals: Arrivals) -> Any:
    async def call(*given: Any, **named: Any) -> Any:
        if not point.arrives(*given, **named):
            return await original(*given, **named)
        if point.when == "sent":
            return await _die_when_it_waits(original(*given, **named), arrivals)
        found = await original(*given, **named)
        arrivals.here()
        return found

    return call


async def _die_when_it_waits(request: Coroutine[Any, Any, Any], arrivals: Arrivals) -> Any:
    """Die when the call waits for the first time: its request has been sent."""
    asking = asyncio.ensure_future(request)
    await asyncio.sleep(0)
    arrivals.here()
    return await asking
