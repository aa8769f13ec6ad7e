"""The helpers of a conversation's open calls: a fold over its log."""

from __future__ import annotations

from dataclasses import dataclass, replace

from paca import events
from paca.events import Event


@dataclass(frozen=True, slots=True)
class HelperResult:
    """How one helper has ended, and its last words."""

    index: int
    status: str
    reason: str
    summary: str


@dataclass(frozen=True, slots=True)
class CallHelpers:
    """The helpers of one call: how many were started, and the results so far, the first that ended first."""

    call_id: str
    started: int = 0
    results: tuple[HelperResult, ...] = ()

    @property
    def is_done(self) -> bool:
        """Whether every helper has ended."""
        return len(self.results) >= self.started > 0


@dataclass(frozen=True, slots=True)
class HelperState:
    """The helpers of the calls without a result, how many the turn has started, and how long it has waited."""

    calls: tuple[CallHelpers, ...] = ()
    of_turn: int = 0
    waited_seconds: float = 0.0

    def of(self, call_id: str) -> CallHelpers | None:
        """The helpers of this call; None if none was started."""
        return next((each for each in self.calls if each.call_id == call_id), None)

    def advance(self, event: Event) -> HelperState:
        """The state after one more event; the same object if nothing changes."""
        match event:
            case events.SubagentStarted():
                return self._start(event)
            case events.SubagentFinished() if found := self.of(event.call_id):
                # guard: helper-result-counts-once
                if any(known.index == event.index for known in found.results):
                    return self
                result = HelperResult(event.index, event.status, event.reason, event.summary)
                return self._put(replace(found, results=(*found.results, result)))
            case events.SubagentsReleased(seconds=seconds):
                return replace(self, waited_seconds=self.waited_seconds + seconds)
            case events.ToolReturned(call_id=call_id) if self.of(call_id):
                return replace(self, calls=tuple(c for c in self.calls if c.call_id != call_id))
            case events.TurnStarted() if self.of_turn or self.waited_seconds:
                return HelperState(self.calls)
            case events.ConversationForked() if self != NO_HELPERS:
                return NO_HELPERS
        return self

    def _start(self, event: events.SubagentStarted) -> HelperState:
        known = self.of(event.call_id) or CallHelpers(event.call_id)
        after = self._put(replace(known, started=known.started + 1))
        return replace(after, of_turn=self.of_turn + 1)

    def _put(self, call: CallHelpers) -> HelperState:
        others = tuple(each for each in self.calls if each.call_id != call.call_id)
        return replace(self, calls=(*others, call))


NO_HELPERS = HelperState()
