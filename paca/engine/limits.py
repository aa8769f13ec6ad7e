"""The limits of a turn, and what the turn has used of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from paca import events
from paca.engine import promised_work
from paca.engine.approvals.decisions import Decisions
from paca.engine.approvals.plans import PlanState
from paca.engine.budgets import NOTHING, OWN, POOLED, Amounts, Budget, BudgetScope
from paca.engine.compaction_state import CompactionState
from paca.engine.helpers.state import HelperState
from paca.engine.loop_guard import LoopGuard
from paca.engine.model_state import ModelState
from paca.engine.reminders import Reminders
from paca.engine.tools.background_state import BackgroundState
from paca.events import Event

WARN_AT_STEPS_LEFT = 2
WARN_AT_USED_PART = 0.8
_Notice = events.LimitNeared | events.LimitReached | events.GuardNoticed


@dataclass(frozen=True, slots=True)
class TurnLimits:
    """The limits of an agent; None means no limit.

    Steps and seconds are limited for each turn, and so are ``turn_tokens`` and ``turn_cost_usd``. Tokens and
    dollars are a budget of the conversation: once it is used, the next turn, which a person has asked for, has
    the same amount again. ``shared`` are the budgets of the agent and the project, with what is used of them.
    ``team_used`` is what the team of a lead has used in all, None if it has no team, and ``untold`` what of it the
    lead's log does not tell yet.
    """

    steps: int
    tokens: int | None = None
    cost_usd: float | None = None
    seconds: float | None = None
    turn_tokens: int | None = None
    turn_cost_usd: float | None = None
    shared: tuple[Budget, ...] = ()
    team_used: Amounts | None = None
    untold: Amounts = NOTHING

    def budgets(self, progress: TurnProgress) -> list[Budget]:
        """Every budget that is set, with what is used of it."""
        # guard: budget-of-a-lead-counts-its-team-at-work
        untold = self.untold
        of_turn = progress.of_turn + untold
        of_portion = Amounts(progress.tokens, progress.cost_usd) + untold
        own = (
            Budget(BudgetScope.TURN, self.turn_tokens, self.turn_cost_usd, of_turn),
            Budget(BudgetScope.CONVERSATION, self.tokens, self.cost_usd, of_portion),
        )
        return [budget for budget in (*own, *self.shared) if budget]

    def budgets_of_lead(self, progress: TurnProgress) -> tuple[Budget, ...]:
        """The budgets of the turn and the conversation, if a team uses them too: a call has to reserve its part."""
        # guard: call-of-a-lead-reserves-what-its-team-uses-too
        if self.team_used is None:
            return ()
        return tuple(each for each in self.budgets(progress) if each.scope in OWN)

    @property
    def has_budgets(self) -> bool:
        """Whether tokens or dollars are limited in any way."""
        return bool(self.budgets(TurnProgress()))

    @property
    def has_own_dollars(self) -> bool:
        """Whether the agent itself has a limit in dollars."""
        budgets = self.budgets(TurnProgress())
        return any(
            each.cost_usd is not None and each.scope is not BudgetScope.PROJECT_MONTH
            for each in budgets
        )

    @property
    def has_tokens(self) -> bool:
        """Whether tokens are limited in any way."""
        return any(each.tokens is not None for each in self.budgets(TurnProgress()))


@dataclass(frozen=True, slots=True)
class TurnProgress:
    """The usage of a turn, and the notices that the model has had.

    ``tokens`` and ``cost_usd`` are what the conversation has used of its present portion, ``of_turn`` what the
    turn has. ``used_budget`` names a budget of the conversation that is used up, ``warned`` the limits that the
    model was told about. ``reached_own``: a budget of the turn or the conversation is used up, and ``has_new_portion``:
    one was in the turn before, and this turn has it again. ``title_settled``: a person or a model has written the
    title, or a model was asked for it. ``chatting``: the newest message is a person's, written in the conversation.

    It is a fold over the log, so a worker that takes the conversation over counts on.
    """

    steps: int = 0
    tokens: int = 0
    cost_usd: float = 0.0
    of_turn: Amounts = NOTHING
    used_budget: str = ""
    reached_own: bool = False
    has_new_portion: bool = False
    continuations: int = 0
    warned: frozenset[str] = frozenset()
    summarising: bool = False
    corrected: bool = False
    nudged: bool = False
    promised: bool = False
    chatting: bool = False
    loop_guard: LoopGuard = LoopGuard()
    compaction: CompactionState = CompactionState()
    decisions: Decisions = Decisions()
    helpers: HelperState = HelperState()
    plan: PlanState = PlanState()
    models: ModelState = ModelState()
    reminders: Reminders = Reminders()
    background: BackgroundState = BackgroundState()
    title_settled: bool = False

    def advance(self, event: Event, seq: int = 0) -> TurnProgress:
        """The progress after one more event, whose number is ``seq``."""
        counted, guard = self._count(event), self.loop_guard.advance(event)
        compaction, decisions = self.compaction.advance(event, seq), self.decisions.advance(event)
        models, plan = self.models.advance(event, seq), self.plan.advance(event)
        reminders, helpers = counted.reminders.advance(event), self.helpers.advance(event)
        # A copy costs as much as the rest, and most events change none of them.
        same = guard is counted.loop_guard and compaction is counted.compaction
        background = self.background.advance(event)
        same = same and plan is counted.plan and models is counted.models
        same = same and background is counted.background and helpers is counted.helpers
        if same and decisions is counted.decisions and reminders is counted.reminders:
            return counted
        return replace(
            counted,
            loop_guard=guard,
            compaction=compaction,
            decisions=decisions,
            helpers=helpers,
            plan=plan,
            models=models,
            reminders=reminders,
            background=background,
        )

    def _count(self, event: Event) -> TurnProgress:
        match event:
            case events.TurnStarted() | events.ConversationForked():
                return self._begin_turn(event)
            case events.UsageRecorded():
                tokens, dollars = _tokens(event), event.cost_usd or event.estimated_usd
                turn = Amounts(self.of_turn.tokens + tokens, self.of_turn.cost_usd + dollars)
                return replace(
                    self,
                    steps=self.steps + (event.outcome == "done" and event.purpose == "turn"),
                    tokens=self.tokens + tokens,
                    cost_usd=self.cost_usd + dollars,
                    of_turn=turn,
                    title_settled=self.title_settled or event.purpose == "title",
                )
            case events.SubagentFinished(usage=usage) | events.TeammateChanged(usage=usage) if (
                usage
            ):
                return self._add_helper(usage)
            case events.TitleChanged(by=by, model=model) if by or model:
                return replace(self, title_settled=True)
            case events.MessageReceived(trigger=trigger):
                return replace(self, chatting=trigger == promised_work.CHAT_MESSAGE)
            case events.MessageSpoken():
                count = self.continuations + 1 if event.truncated else 0
                return replace(self, continuations=count)
            case events.LimitNeared() | events.LimitReached() | events.GuardNoticed():
                return self._notice(event)
        return self

    def _add_helper(self, usage: dict[str, Any]) -> TurnProgress:
        """Count what a helper has used: it comes out of the budget of its conversation."""
        # guard: budget-counts-helpers
        tokens, dollars = usage.get("tokens") or 0, usage.get("cost_usd") or 0.0
        turn = Amounts(self.of_turn.tokens + tokens, self.of_turn.cost_usd + dollars)
        return replace(
            self,
            tokens=self.tokens + tokens,
            cost_usd=self.cost_usd + dollars,
            of_turn=turn,
        )

    def _notice(self, event: _Notice) -> TurnProgress:
        if isinstance(event, events.LimitNeared):
            return replace(self, warned=self.warned | {f"{event.which}:{event.budget}"})
        if isinstance(event, events.LimitReached):
            # guard: engine-shared-budget-is-no-portion
            own = (
                event.which if event.budget in ("", BudgetScope.CONVERSATION) else self.used_budget
            )
            reached = event.budget in OWN
            return replace(self, summarising=True, used_budget=own, reached_own=reached)
        return replace(
            self,
            corrected=self.corrected or event.guard == "text_tool_call",
            nudged=self.nudged or event.guard == "only_reasoning",
            promised=self.promised or event.guard == promised_work.GUARD,
        )

    def _begin_turn(self, event: Event) -> TurnProgress:
        # The log of a fork begins with the usage of another conversation.
        # guard: engine-fork-has-a-budget-of-its-own
        is_fork = isinstance(event, events.ConversationForked)
        # guard: engine-next-budget
        tokens = 0 if is_fork or self.used_budget == "token_budget" else self.tokens
        cost_usd = 0.0 if is_fork or self.used_budget == "cost_budget" else self.cost_usd
        return TurnProgress(
            tokens=tokens,
            cost_usd=cost_usd,
            has_new_portion=self.reached_own and not is_fork,
            chatting=self.chatting,
            compaction=self.compaction,
            title_settled=self.title_settled or is_fork,
        )


def _tokens(event: events.UsageRecorded) -> int:
    counts = (event.input, event.output, event.cache_read, event.cache_write)
    return sum(count or 0 for count in counts) + event.estimated_tokens


@dataclass(frozen=True, slots=True)
class ReachedLimit:
    """A limit that ends the turn. ``reason`` is a reason of the status ``paused``.

    ``budget`` is the scope of a budget, ``used`` what is used of it, and ``at_most`` what the next call may take:
    together they are more than the limit.
    """

    reason: str
    limit: float
    budget: str = ""
    used: float | None = None
    at_most: float = 0.0

    @property
    def amount(self) -> str:
        """The limit with its unit, such as ``100,000 tokens`` or ``$2.50``."""
        return self._with_unit(self.limit)

    def _with_unit(self, value: float) -> str:
        if self.reason == "cost_budget":
            return f"${value:,.2f}"
        unit = {"token_budget": "token", "time_limit": "second", "step_limit": "step"}[self.reason]
        return f"{value:,.12g} {unit}{'' if value == 1 else 's'}"

    @property
    def is_shared(self) -> bool:
        """Whether it is a budget of the agent or the project, which Continue does not give again."""
        return self.budget in POOLED

    @property
    def detail(self) -> str:
        """What people read about the pause: the budget with its figures, and how the work goes on."""
        if self.budget == BudgetScope.AGENT_DAY:
            return f"The agent {self._figures} for today. The next day begins at midnight UTC."
        if self.budget == BudgetScope.FAMILY:
            return f"The conversation that started this helper {self._figures}."
        if self.budget == BudgetScope.TEAM:
            return f"The conversation of its lead {self._figures}, with all of its team."
        if self.budget == BudgetScope.PROJECT_MONTH:
            return f"The project {self._figures} for this month. The next month begins at midnight UTC."
        for_turn = " for one turn" if self.budget == BudgetScope.TURN else ""
        more = f"Continue or a message gives it {self.amount} more."
        return f"It {self._figures}{for_turn}. {more}"

    @property
    def _figures(self) -> str:
        if self.used is None or self.used >= self.limit:
            return f"has used its limit of {self.amount}"
        call = f"the next model call may take up to {self._with_unit(self.at_most)}"
        return f"has used {self._with_unit(self.used)} of its limit of {self.amount}, and {call}"


class TurnLimitReached(Exception):
    """A limit was reached while the model was asked or a tool ran."""

    def __init__(self, limit: ReachedLimit) -> None:
        super().__init__(limit.reason)
        self.limit = limit


def reached_limit(
    progress: TurnProgress, limits: TurnLimits, seconds: float, call: Amounts = NOTHING
) -> ReachedLimit | None:
    """The first limit that forbids the next model call, which takes ``call`` at most."""
    for budget in limits.budgets(progress):
        if reached := refusal(budget, call):
            return reached
    if limits.seconds is not None and seconds >= limits.seconds:
        return ReachedLimit("time_limit", limits.seconds)
    # guard: engine-step-limit
    if progress.steps >= limits.steps:
        return ReachedLimit("step_limit", limits.steps)
    return None


def refusal(budget: Budget, call: Amounts) -> ReachedLimit | None:
    """Why the budget forbids a call that takes ``call`` at most; None if it allows it.

    A new portion of a turn or conversation always allows its first call, so that no portion is useless.
    """
    used = budget.used
    # guard: engine-first-call-of-a-portion
    if budget.scope not in POOLED:
        # A portion of dollars begins anew while the tokens go on counting, and the other way round.
        call = Amounts(call.tokens * bool(used.tokens), call.cost_usd * bool(used.cost_usd))
    reason = budget.refuses(call)
    if reason == "token_budget" and budget.tokens is not None:
        return ReachedLimit(reason, budget.tokens, budget.scope, used.tokens, call.tokens)
    if reason == "cost_budget" and budget.cost_usd is not None:
        return ReachedLimit(reason, budget.cost_usd, budget.scope, used.cost_usd, call.cost_usd)
    return None


def warnings_before_call(
    progress: TurnProgress, limits: TurnLimits, seconds: float, call: Amounts = NOTHING
) -> list[events.LimitNeared]:
    """The warnings for the model of limits that are near, each once a turn and none before its first step."""
    if progress.steps == 0:
        return []
    near = _near_steps(progress, limits) + _near_time(limits, seconds)
    for budget in limits.budgets(progress):
        near += _near_budget(budget, call)
    # guard: engine-one-warning
    return [each for each in near if f"{each.which}:{each.budget}" not in progress.warned]


def _near_steps(progress: TurnProgress, limits: TurnLimits) -> list[events.LimitNeared]:
    left = limits.steps - progress.steps
    # guard: engine-warning-of-steps
    return [events.LimitNeared(which="step_limit", left=left)] if left <= WARN_AT_STEPS_LEFT else []


def _near_time(limits: TurnLimits, seconds: float) -> list[events.LimitNeared]:
    if limits.seconds is None or seconds < WARN_AT_USED_PART * limits.seconds:
        return []
    return [events.LimitNeared(which="time_limit", left=max(0, round(limits.seconds - seconds)))]


def _near_budget(budget: Budget, call: Amounts) -> list[events.LimitNeared]:
    """A budget of which a fifth is left, or too little for a second call after this one."""
    used, near = budget.used, []
    if _is_near(used.tokens, call.tokens, budget.tokens):
        left = max(0, (budget.tokens or 0) - used.tokens)
        near.append(events.LimitNeared(which="token_budget", left=left, budget=budget.scope))
    if _is_near(used.cost_usd, call.cost_usd, budget.cost_usd):
        dollars = max(0.0, round((budget.cost_usd or 0.0) - used.cost_usd, 4))
        near.append(events.LimitNeared(which="cost_budget", left=dollars, budget=budget.scope))
    return near


def _is_near(used: float, call: float, limit: float | None) -> bool:
    if limit is None or not used:
        return False
    return used >= WARN_AT_USED_PART * limit or used + 2 * call > limit
