"""The limits of a turn, and what the turn has used of them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from paca import events
from paca.engine.loop_guard import LoopGuard
from paca.events import Event

WARN_AT_STEPS_LEFT = 2


@dataclass(frozen=True, slots=True)
class TurnLimits:
    """The limits of an agent; None means no limit.

    Steps and seconds are limited for each turn, tokens and dollars for the whole conversation.
    """

    steps: int
    tokens: int | None = None
    cost_usd: float | None = None
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class TurnProgress:
    """The usage of a turn, and the notices that the model has had.

    It is a fold over the log, so a worker that takes the conversation over counts on.
    """

    steps: int = 0
    tokens: int = 0
    cost_usd: float = 0.0
    continuations: int = 0
    warned: bool = False
    summarising: bool = False
    corrected: bool = False
    nudged: bool = False
    loop_guard: LoopGuard = LoopGuard()

    def advance(self, event: Event) -> TurnProgress:
        """The progress after one more event."""
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
                return replace(self, warned=True)
            case events.LimitReached():
                return replace(self, summarising=True)
            case events.GuardNoticed(guard="text_tool_call"):
                return replace(self, corrected=True)
            case events.GuardNoticed(guard="only_reasoning"):
                return replace(self, nudged=True)
        return self


def _tokens(event: events.UsageRecorded) -> int:
    counts = (event.input, event.output, event.cache_read, event.cache_write)
    return sum(count or 0 for count in counts) + event.estimated_tokens


@dataclass(frozen=True, slots=True)
class ReachedLimit:
    """A limit that ends the turn. ``reason`` is a reason of the status ``paused``."""

    reason: str
    limit: float


def reached_limit(
    progress: TurnProgress, limits: TurnLimits, seconds: float
) -> ReachedLimit | None:
    """The first limit that forbids another model call. The loop checks it before each call."""
    if limits.tokens is not None and progress.tokens >= limits.tokens:
        return ReachedLimit("token_budget", limits.tokens)
    if limits.cost_usd is not None and progress.cost_usd >= limits.cost_usd:
        return ReachedLimit("cost_budget", limits.cost_usd)
    if limits.seconds is not None and seconds >= limits.seconds:
        return ReachedLimit("time_limit", limits.seconds)
    # guard: engine-step-limit
    if progress.steps >= limits.steps:
        return ReachedLimit("step_limit", limits.steps)
    return None


def step_limit_warning(progress: TurnProgress, limits: TurnLimits) -> events.LimitNeared | None:
    """The warning for the model that few steps are left; once a turn, else None."""
    left = limits.steps - progress.steps
    # guard: engine-one-warning
    if progress.warned or progress.steps == 0 or left > WARN_AT_STEPS_LEFT:
        return None
    return events.LimitNeared(which="step_limit", left=left)
