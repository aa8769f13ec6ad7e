"""How far a turn may go: what it has used so far, and the limits that end it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from paca import events
from paca.engine.loop_guard import LoopGuard
from paca.events import Event

HINT_BEFORE_STEPS = 2


@dataclass(frozen=True, slots=True)
class TurnLimits:
    """None means no limit. Steps and seconds are a turn's, tokens and dollars a conversation's."""

    steps: int
    tokens: int | None = None
    cost_usd: float | None = None
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class TurnProgress:
    """What was used: a fold over the log, so that a new worker counts on where the last stopped."""

    steps: int = 0
    tokens: int = 0
    cost_usd: float = 0.0
    continuations: int = 0
    hinted: bool = False
    summarising: bool = False
    corrected: bool = False
    loop_guard: LoopGuard = LoopGuard()

    def advance(self, event: Event) -> TurnProgress:
        """The tally after one more event."""
        counted = self._count(event)
        return replace(counted, loop_guard=self.loop_guard.advance(event))

    def _count(self, event: Event) -> TurnProgress:
        match event:
            case events.TurnStarted():
                return TurnProgress(tokens=self.tokens, cost_usd=self.cost_usd)
            case events.UsageRecorded():
                return replace(
                    self,
                    steps=self.steps + (event.outcome == "done"),
                    tokens=self.tokens + _tokens(event),
                    cost_usd=self.cost_usd + (event.cost_usd or event.estimated_usd),
                )
            case events.MessageSpoken():
                count = self.continuations + 1 if event.truncated else 0
                return replace(self, continuations=count)
            case events.LimitNeared():
                return replace(self, hinted=True)
            case events.LimitReached():
                return replace(self, summarising=True)
            case events.GuardNoticed(guard="text_tool_call"):
                return replace(self, corrected=True)
        return self


def _tokens(event: events.UsageRecorded) -> int:
    told = (event.input, event.output, event.cache_read, event.cache_write)
    return sum(count or 0 for count in told) + event.estimated_tokens


@dataclass(frozen=True, slots=True)
class Reached:
    """A limit that ends the turn; ``reason`` is one of those of status ``paused``."""

    reason: str
    limit: float


def reached(progress: TurnProgress, limits: TurnLimits, seconds: float) -> Reached | None:
    """The first limit that forbids another model call, asked before each."""
    if limits.tokens is not None and progress.tokens >= limits.tokens:
        return Reached("token_budget", limits.tokens)
    if limits.cost_usd is not None and progress.cost_usd >= limits.cost_usd:
        return Reached("cost_budget", limits.cost_usd)
    if limits.seconds is not None and seconds >= limits.seconds:
        return Reached("time_limit", limits.seconds)
    if progress.steps >= limits.steps:
        return Reached("step_limit", limits.steps)
    return None


def hint(progress: TurnProgress, limits: TurnLimits) -> events.LimitNeared | None:
    """Tell the model once, a little before its last step."""
    left = limits.steps - progress.steps
    if progress.hinted or progress.steps == 0 or left > HINT_BEFORE_STEPS:
        return None
    return events.LimitNeared(which="step_limit", left=left)
