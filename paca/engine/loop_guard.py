"""Notices a model that takes the same step again and again: a fold over the log, as all limits are.

A step is the calls of one reply with what came back; the words around them do not count, since a
model that says something new each time and does the same stands still. Replies without calls need
no guard here: each ends the turn, but for a few that are counted elsewhere.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from typing import Any

from paca import events
from paca.engine.tools.commands import without_time
from paca.events import Event

GUARD = "repeated_step"
SUSPECT, TELL = 2, 3
STOP = {1: 5, 2: 4}  # rounds of one step, and of two in turn: eight model calls at most
MOST_KEPT = max(period * rounds for period, rounds in STOP.items())


@dataclass(frozen=True, slots=True)
class Call:
    """What was asked for and what came back, each by its digest; no result yet: empty."""

    id: str
    tool: str
    asked: str
    result: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """The calls of one reply."""

    reply_id: str
    calls: tuple[Call, ...] = ()

    @property
    def is_done(self) -> bool:
        return all(call.result for call in self.calls)

    @property
    def trace(self) -> frozenset[tuple[str, str]]:
        """What makes two steps the same: three equal calls side by side are as good as one."""
        return frozenset((call.asked, call.result) for call in self.calls)

    @property
    def tools(self) -> str:
        return " and ".join(dict.fromkeys(call.tool for call in self.calls))


@dataclass(frozen=True, slots=True)
class Repeats:
    """The latest steps since somebody last said something. ``told``: the model knows that they repeat."""

    steps: tuple[Step, ...] = ()
    told: bool = False

    def advance(self, event: Event) -> Repeats:
        """The same after one more event; what a person says opens a fresh window."""
        match event:
            case events.TurnStarted() | events.MessageReceived():
                return Repeats()
            case events.ToolCalled():
                return self._called(event)
            case events.ToolReturned():
                output = without_time(event.output).replace(event.call_id, "")
                got = [output, event.failed, event.exit_code, event.cause]
                return self._returned(event.call_id, _digest(got))
            case events.ToolOutcomeUnknown():
                return self._returned(event.call_id, _digest(event.output))
            case events.GuardNoticed(guard=guard) if guard == GUARD:
                return replace(self, told=True)
        return self

    def _called(self, event: events.ToolCalled) -> Repeats:
        call = Call(event.call_id, event.tool, _digest([event.tool, event.arguments]))
        *before, last = self.steps or (Step(event.model_call_id),)
        if last.reply_id != event.model_call_id:
            before, last = [*before, last], Step(event.model_call_id)
        steps = (*before, replace(last, calls=(*last.calls, call)))
        return replace(self, steps=steps[-MOST_KEPT - 1 :])

    def _returned(self, call_id: str, result: str) -> Repeats:
        if not self.steps:
            return self
        *before, last = self.steps
        calls = tuple(
            replace(call, result=call.result or result) if call.id == call_id else call
            for call in last.calls
        )
        after = replace(self, steps=(*before, replace(last, calls=calls)))
        return replace(after, told=after.told and after.is_suspect)

    # --- what they come to --------------------------------------------------------------------

    def rounds(self, period: int) -> int:
        """How many times in a row the latest ``period`` steps were taken, counting whole rounds."""
        traces = [step.trace for step in self.steps if step.is_done]
        alike = 0
        while alike + period < len(traces) and traces[-1 - alike] == traces[-1 - alike - period]:
            alike += 1
        return (alike + period) // period

    @property
    def most_rounds(self) -> int:
        return max(map(self.rounds, STOP))

    @property
    def is_suspect(self) -> bool:
        """Whether one more step of the kind would be one too many to stay silent about."""
        return self.most_rounds >= SUSPECT

    @property
    def is_to_be_told(self) -> bool:
        return self.most_rounds >= TELL and not self.told

    @property
    def is_stuck(self) -> bool:
        return any(self.rounds(period) >= most for period, most in STOP.items())

    # --- in words -----------------------------------------------------------------------------

    @property
    def note(self) -> str:
        """What the model is told."""
        return (
            f"{self._what('You')} Doing it once more will not change that: try another way. If you"
            " wait for something, wait for it within one command. If you cannot go on, say what"
            " you need."
        )

    @property
    def detail(self) -> str:
        """What people are told."""
        return self._what("The agent")

    def _what(self, who: str) -> str:
        once = self.rounds(1)
        if once >= TELL:
            return f"{who} called {self.steps[-1].tools} {once} times in the same way, with the same result."
        tools = ", then ".join(step.tools for step in self.steps[-2:])
        return f"{who} took the same two steps ({tools}) {self.rounds(2)} times in turn, with the same results."


def _digest(value: Any) -> str:
    """Of the value as it is stored, without NUL and lone surrogates: a rebuilt fold finds the same."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True).replace("\\u0000", "\u2400")
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
