"""What the helpers of a call or a teammate may use: what is left of the budgets of the turn that starts them."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from paca.engine.budgets import NOTHING, OWN, BudgetScope
from paca.engine.limits import TurnLimits, TurnProgress


def left_of(limits: TurnLimits, progress: TurnProgress) -> dict[str, Any] | None:
    """The ``tokens`` and ``cost_usd`` that are left, each null if it has no limit; None if neither has."""
    return _left(limits, progress, OWN)


def left_for_helpers(limits: TurnLimits, progress: TurnProgress) -> dict[str, Any] | None:
    """What is left for the helpers of a call: like ``left_for_team`` if the budgets are used by a team too."""
    # guard: helpers-of-a-lead-share-with-its-team
    if limits.team_used is not None:
        return left_for_team(limits, progress)
    return left_of(limits, progress)


def left_for_team(limits: TurnLimits, progress: TurnProgress) -> dict[str, Any] | None:
    """What is left, and as ``conversation`` what is left of the budget that outlives the turn, as the team does.

    ``team_used`` is what the team had used in all when this was left.
    """
    left = _left(limits, progress, OWN)
    if left is None:
        return None
    used = limits.team_used or NOTHING
    return {
        **left,
        "conversation": _left(limits, progress, (BudgetScope.CONVERSATION,)),
        "team_used": {"tokens": used.tokens, "cost_usd": used.cost_usd},
    }


def _left(
    limits: TurnLimits, progress: TurnProgress, scopes: Collection[BudgetScope]
) -> dict[str, Any] | None:
    own = [budget for budget in limits.budgets(progress) if budget.scope in scopes]
    tokens = [max(0, b.tokens - b.used.tokens) for b in own if b.tokens is not None]
    dollars = [max(0.0, b.cost_usd - b.used.cost_usd) for b in own if b.cost_usd is not None]
    if not tokens and not dollars:
        return None
    return {"tokens": min(tokens, default=None), "cost_usd": min(dollars, default=None)}
