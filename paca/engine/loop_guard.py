"""The loop guard: notices a model that repeats the same step. Its state is a fold over the log.

A step is the tool calls of one reply with their results. The reply's text does not count: a model
that says something new each time and does the same makes no progress. Replies without calls need
no guard here. Each of them ends the turn, except continuations, which ``TurnProgress`` counts.

Polling is another matter: between two equal looks time was meant to pass, so repetition proves nothing.
It has limits in time and in number: each look costs a model call.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, replace
from typing import Any

from paca import events
from paca.common.text import to_storable_json
from paca.engine.tools.command_output import without_duration
from paca.events import Event

GUARD = "repeated_step"
SUSPECT_ROUNDS, WARN_ROUNDS = 2, 3
UNREADABLE_STEPS = 3  # as many in a row end the turn: the model cannot write the call
# A command that waits on purpose, and the least time that it must have taken.
WAITING_COMMAND = re.compile(r"\b(sleep|wait|watch|inotifywait)\b|\btail\b.*\s-\w*[fF]")
WAITING_TOOL = (
    "check_background"  # it waits for a while itself, unless there is nothing to wait for
)
MIN_WAIT_SECONDS = 1.0
POLLING_WARN_SECONDS, POLLING_STUCK_SECONDS = 300.0, 900.0
POLLING_WARN_STEPS, POLLING_STUCK_STEPS = 30, 150
# Period (in steps) to the rounds at which the turn pauses: eight model calls at most.
STUCK_ROUNDS = {1: 5, 2: 4}
MAX_STEPS_KEPT = max(period * rounds for period, rounds in STUCK_ROUNDS.items())


@dataclass(frozen=True, slots=True)
class CallDigest:
    """A tool call and its result, both as digests. ``result`` is empty until the call has one.

    ``waits``: the call lets time pass on purpose.
    """

    id: str
    tool: str
    request: str
    result: str = ""
    waits: bool = False


@dataclass(frozen=True, slots=True)
class StepDigest:
    """The tool calls of one reply. ``unreadable``: the arguments of one of them could not be read.

    ``waited``: the seconds that they let pass on purpose.
    """

    reply_id: str
    calls: tuple[CallDigest, ...] = ()
    unreadable: bool = False
    waited: float = 0.0

    @property
    def is_done(self) -> bool:
        return all(call.result for call in self.calls)

    @property
    def signature(self) -> frozenset[tuple[str, str]]:
        """Equal for equal steps. Several equal calls in one step count as one."""
        return frozenset((call.request, call.result) for call in self.calls)

    @property
    def tools(self) -> str:
        return " and ".join(dict.fromkeys(call.tool for call in self.calls))


@dataclass(frozen=True, slots=True)
class LoopGuard:
    """The latest steps since the last message. ``warned``: the model was told that it repeats itself.

    ``polled``: the seconds that the equal steps at the end have waited, and ``polls`` how many have.
    """

    steps: tuple[StepDigest, ...] = ()
    warned: bool = False
    polled: float = 0.0
    polls: int = 0

    def advance(self, event: Event) -> LoopGuard:
        """The guard after one more event. A message of a person starts it afresh."""
        match event:
            case events.TurnStarted() | events.MessageReceived():
                return LoopGuard()
            case events.ToolCalled():
                return self._called(event)
            case events.ToolReturned():
                output = without_duration(event.output).replace(event.call_id, "")
                result = [output, event.failed, event.exit_code, event.cause]
                return self._returned(event.call_id, _digest(result), event.seconds)
            case events.ToolOutcomeUnknown():
                return self._returned(event.call_id, _digest(event.output))
            case events.GuardNoticed(guard=guard) if guard == GUARD:
                return replace(self, warned=True)
        return self

    def _called(self, event: events.ToolCalled) -> LoopGuard:
        request = _digest([event.tool, event.arguments])
        command = str(event.arguments.get("command", ""))
        waits = event.tool == WAITING_TOOL or bool(WAITING_COMMAND.search(command))
        call = CallDigest(event.call_id, event.tool, request, waits=waits)
        *before, last = self.steps or (StepDigest(event.model_call_id),)
        if last.reply_id != event.model_call_id:
            before, last = [*before, last], StepDigest(event.model_call_id)
        unreadable = last.unreadable or bool(event.problem)
        steps = (*before, replace(last, calls=(*last.calls, call), unreadable=unreadable))
        return replace(self, steps=steps[-MAX_STEPS_KEPT - 1 :])

    def _returned(self, call_id: str, result: str, seconds: float = 0.0) -> LoopGuard:
        if not self.steps:
            return self
        *before, last = self.steps
        waits = any(call.id == call_id and call.waits and not call.result for call in last.calls)
        # guard: engine-polling-is-no-loop
        waited = seconds if waits and seconds >= MIN_WAIT_SECONDS else 0.0
        calls = tuple(
            replace(call, result=call.result or result) if call.id == call_id else call
            for call in last.calls
        )
        last = replace(last, calls=calls, waited=last.waited + waited)
        is_poll = last.is_done and not self.steps[-1].is_done and last.waited > 0
        polls = self.polls + is_poll
        after = replace(self, steps=(*before, last), polled=self.polled + waited, polls=polls)
        if last.is_done and after.most_rounds < SUSPECT_ROUNDS:
            times = [step.waited for step in after.steps[-2:]]
            after = replace(after, polled=sum(times), polls=sum(each > 0 for each in times))
        # guard: engine-warning-of-a-new-repetition
        return replace(after, warned=after.warned and after.is_suspect)

    # --- verdicts -----------------------------------------------------------------------------

    def rounds(self, period: int) -> int:
        """How many whole times in a row the latest ``period`` steps were taken."""
        signatures = [step.signature for step in self.steps if step.is_done]
        alike = 0
        while (
            alike + period < len(signatures)
            and signatures[-1 - alike] == signatures[-1 - alike - period]
        ):
            alike += 1
        return (alike + period) // period

    @property
    def most_rounds(self) -> int:
        return max(map(self.rounds, STUCK_ROUNDS))

    @property
    def is_suspect(self) -> bool:
        """Whether one more equal step would call for a warning, or the turn pauses now."""
        return self.is_unreadable or self.most_rounds >= SUSPECT_ROUNDS

    @property
    def needs_warning(self) -> bool:
        """Whether the model repeats itself and was not told yet."""
        if self.is_polling and not self._polls_for(POLLING_WARN_SECONDS, POLLING_WARN_STEPS):
            return False
        return self.most_rounds >= WARN_ROUNDS and not self.warned

    @property
    def is_polling(self) -> bool:
        """Whether one of the latest two steps, which may take turns, lets time pass on purpose."""
        return any(step.waited for step in self.steps[-2:])

    @property
    def is_stuck(self) -> bool:
        """Whether the turn pauses, since the warning did not help."""
        if self.is_unreadable or self.is_polling:
            return self.is_unreadable or self._has_polled_too_long
        return any(self.rounds(period) >= most for period, most in STUCK_ROUNDS.items())

    @property
    def _has_polled_too_long(self) -> bool:
        # guard: engine-polling-limit
        too_long = self._polls_for(POLLING_STUCK_SECONDS, POLLING_STUCK_STEPS)
        return too_long and self.most_rounds >= WARN_ROUNDS

    def _polls_for(self, seconds: float, steps: int) -> bool:
        """Whether it has waited for so long, or so many times, and nothing has changed."""
        # guard: engine-number-of-polls
        return self.polled >= seconds or self.polls >= steps

    @property
    def is_unreadable(self) -> bool:
        """Whether the arguments of the latest steps could not be read, again and again."""
        latest = self.steps[-UNREADABLE_STEPS:]
        # guard: engine-unreadable-steps
        return len(latest) == UNREADABLE_STEPS and all(step.unreadable for step in latest)

    # --- texts --------------------------------------------------------------------------------

    @property
    def model_message(self) -> str:
        """The warning that the model reads."""
        return (
            f"{self._describe('You')} Doing it once more will not change that: try another way. If you"
            " wait for something, wait for it within one command. If you cannot go on, say what"
            " you need."
        )

    @property
    def pause_detail(self) -> str:
        """The detail of the pause that people read."""
        if self.is_unreadable:
            return (
                f"The model wrote the arguments of {self.steps[-1].tools} {UNREADABLE_STEPS} times in a row in a"
                " form that cannot be read. Another model, or Tool calls as text, may do better."
            )
        return self._describe("The agent")

    def _describe(self, subject: str) -> str:
        if self.is_polling:
            tools = " and ".join(dict.fromkeys(step.tools for step in self.steps[-2:]))
            waited = (
                f"{self.polled / 60:.0f} minutes" if self.polled >= 120 else f"{self.polled:.0f} s"
            )
            return (
                f"{subject} waited {waited} with {tools}, {self.polls} times, and nothing changed."
            )
        times = self.rounds(1)
        if times >= WARN_ROUNDS:
            return f"{subject} called {self.steps[-1].tools} {times} times in the same way, with the same result."
        tools = ", then ".join(step.tools for step in self.steps[-2:])
        return f"{subject} took the same two steps ({tools}) {self.rounds(2)} times in turn, with the same results."


def _digest(value: Any) -> str:
    """The digest of the value as the database stores it: without NUL and lone surrogates.

    A fold that is rebuilt from stored events then finds the same digests as the running one.
    """
    return hashlib.sha256(to_storable_json(value, sort_keys=True).encode()).hexdigest()
