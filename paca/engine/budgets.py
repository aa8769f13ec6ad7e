"""Budgets in tokens and dollars, what is used of each, and what the next model call may take of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class BudgetScope(StrEnum):
    """What a budget is for. Continue gives those of a turn and a conversation again, and no other."""

    TURN = "turn"
    CONVERSATION = "conversation"
    FAMILY = "family"
    TEAM = "team"
    AGENT_DAY = "agent_day"
    PROJECT_MONTH = "project_month"


# A conversation uses these alone, or together with its team.
OWN = (BudgetScope.TURN, BudgetScope.CONVERSATION)
# All conversations of an agent or a project use these together.
SHARED = (BudgetScope.AGENT_DAY, BudgetScope.PROJECT_MONTH)
# Several conversations use these together: also what the helpers of one call may take of their conversation's budget,
# and that budget itself, which a lead uses together with its team.
POOLED = (BudgetScope.FAMILY, BudgetScope.TEAM, *SHARED)


@dataclass(frozen=True, slots=True)
class Amounts:
    """Tokens and dollars. A call whose price is unknown adds tokens only."""

    tokens: int = 0
    cost_usd: float = 0.0

    def __add__(self, other: Amounts) -> Amounts:
        return Amounts(self.tokens + other.tokens, self.cost_usd + other.cost_usd)

    def __sub__(self, other: Amounts) -> Amounts:
        return Amounts(self.tokens - other.tokens, self.cost_usd - other.cost_usd)


NOTHING = Amounts()


@dataclass(frozen=True, slots=True)
class Budget:
    """A limit in tokens, in dollars, or in both, and what is ``used`` of it; None means no limit."""

    scope: BudgetScope
    tokens: int | None = None
    cost_usd: float | None = None
    used: Amounts = NOTHING

    def __bool__(self) -> bool:
        """Whether it limits anything."""
        return self.tokens is not None or self.cost_usd is not None

    def refuses(self, call: Amounts) -> str:
        """The reason of ``paused`` if a call that takes ``call`` at most does not fit; else empty."""
        # guard: budget-counts-what-a-call-may-take
        if exceeds(self.used.tokens, call.tokens, self.tokens):
            return "token_budget"
        # guard: budget-counts-what-a-call-may-cost
        if exceeds(self.used.cost_usd, call.cost_usd, self.cost_usd):
            return "cost_budget"
        return ""


def exceeds(used: float, more: float, limit: float | None) -> bool:
    """Whether the limit is used up, or ``more`` does not fit into what is left of it."""
    return limit is not None and (used >= limit or used + more > limit)
