"""The limits of a turn, and what the turn has used of them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from paca import events
from paca.engine import promised_work
from paca.engine.compaction_state import CompactionState
from paca.engine.loop_guard import LoopGuard
from paca.events import Event

WARN_AT_STEPS_LEFT = 2


@dataclass(frozen=True, slots=True)
class TurnLimits:
    """The limits of an agent; None means no limit.

    Steps and seconds are limited for each turn. Tokens and dollars are a budget of the conversation: once
    it is used, the next turn, which a person has asked for, has the same amount again.
    """

    steps: int
    tokens: int | None = None
    cost_usd: float | None = None
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class TurnProgress:
    """The usage of a turn, and the notices that the model has had. ``used_budget`` names a budget of the
    conversation that is used up.

    It is a fold over the log, so a worker that takes the conversation over counts on.
    """

    steps: int = 0
    tokens: int = 0
    cost_usd: float = 0.0
    used_budget: str = ""
    continuations: int = 0
    warned: bool = False
    summarising: bool = False
    corrected: bool = False
    nudged: bool = False
    promised: bool = False
    window_of_model: tuple[str, int | None] = ("", None)
    loop_guard: LoopGuard = LoopGuard()
    compaction: CompactionState = CompactionState()

    def advance(self, event: Event, seq: int = 0) -> TurnProgress:
        """The progress after one more event, whose number is ``seq``."""
        counted, guard = self._count(event), self.loop_guard.advance(event)
        compaction = self.compaction.advance(event, seq)
        # A copy costs as much as the rest, and most events change neither.
        if guard is counted.loop_guard and compaction is counted.compaction:
            return counted
        return replace(counted, loop_guard=guard, compaction=compaction)

    def _count(self, event: Event) -> TurnProgress:
        match event:
            case events.TurnStarted():
                return self._begin_turn()
            case events.UsageRecorded():
                return replace(
                    self,
                    steps=self.steps + (event.outcome == "done" and event.purpose == "turn"),
                    tokens=self.tokens + _tokens(event),
                    cost_usd=self.cost_usd + (event.cost_usd or event.estimated_usd),
                )
            case events.MessageSpoken():
                count = self.continuations + 1 if event.truncated else 0
                return replace(self, continuations=count)
            case events.LimitNeared():
                return replace(self, warned=True)
            case events.LimitReached(which=which):
                return replace(self, summarising=True, used_budget=which)
            case events.GuardNoticed(guard=guard):
                return self._notice(guard)
            case events.ContextTrimmed(model=model, window=window) if window:
                return replace(self, window_of_model=(model, window))
        return self

    def _notice(self, guard: str) -> TurnProgress:
        return replace(
            self,
            corrected=self.corrected or guard == "text_tool_call",
            nudged=self.nudged or guard == "only_reasoning",
            promised=self.promised or guard == promised_work.GUARD,
        )

    def _begin_turn(self) -> TurnProgress:
        # guard: engine-next-budget
        tokens = 0 if self.used_budget == "token_budget" else self.tokens
        cost_usd = 0.0 if self.used_budget == "cost_budget" else self.cost_usd
        return TurnProgress(
            tokens=tokens,
            cost_usd=cost_usd,
            window_of_model=self.window_of_model,
            compaction=self.compaction,
        )


def _tokens(event: events.UsageRecorded) -> int:
    counts = (event.input, event.output, event.cache_read, event.cache_write)
    return sum(count or 0 for count in counts) + event.estimated_tokens


@dataclass(frozen=True, slots=True)
class ReachedLimit:
    """A limit that ends the turn. ``reason`` is a reason of the status ``paused``."""

    reason: str
    limit: float

    @property
    def amount(self) -> str:
        """The limit with its unit, such as ``100,000 tokens`` or ``$2.50``."""
        if self.reason == "cost_budget":
            return f"${self.limit:,.2f}"
        unit = {"token_budget": "token", "time_limit": "second", "step_limit": "step"}[self.reason]
        return f"{self.limit:,.12g} {unit}{'' if self.limit == 1 else 's'}"

    @property
    def detail(self) -> str:
        """What people read about the pause: the limit, and what Continue gives."""
        return f"It has used its limit of {self.amount}. Continue or a message gives it {self.amount} more."


class TurnLimitReached(Exception):
    """A limit was reached while the model was asked or a tool ran."""

    def __init__(self, limit: ReachedLimit) -> None:
        super().__init__(limit.reason)
        self.limit = limit


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
