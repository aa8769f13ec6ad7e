"""What the helpers of a call may use: what is left of the budgets of the turn that starts them."""

from __future__ import annotations

from typing import Any

from paca.engine.budgets import BudgetScope
from paca.engine.limits import TurnLimits, TurnProgress

OWN = (BudgetScope.TURN, BudgetScope.CONVERSATION)


def left_of(limits: TurnLimits, progress: TurnProgress) -> dict[str, Any] | None:
    """The ``tokens`` and ``cost_usd`` that are left, each null if it has no limit; None if neither has."""
    own = [budget for budget in limits.budgets(progress) if budget.scope in OWN]
    tokens = [max(0, b.tokens - b.used.tokens) for b in own if b.tokens is not None]
    dollars = [max(0.0, b.cost_usd - b.used.cost_usd) for b in own if b.cost_usd is not None]
    if not tokens and not dollars:
        return None
    return {"tokens": min(tokens, default=None), "cost_usd": min(dollars, default=None)}
