"""The limits of a turn, from the rows of its agent and its project."""

from __future__ import annotations

from decimal import Decimal
from uuid import UUID

from django.conf import settings
from django.db.models import UUIDField

from paca.agents.models import Agent
from paca.common.prepared_queries import Parameter, Select
from paca.conversations import budgets, team_budgets
from paca.conversations.store import Lease
from paca.engine import helper_allowance
from paca.engine.budgets import NOTHING, Budget, BudgetScope
from paca.engine.limits import TurnLimits, TurnProgress
from paca.projects.models import Project
from paca.worker.database import Database

AGENT_COLUMNS = (
    *("limit_steps", "limit_tokens", "limit_cost_usd", "limit_seconds"),
    *("limit_turn_tokens", "limit_turn_cost_usd", "limit_day_tokens", "limit_day_cost_usd"),
)
PROJECT_COLUMNS = ("limit_month_tokens", "limit_month_cost_usd")

_LIMITS = Select(
    lambda: Agent.objects.filter(pk=Parameter("id", UUIDField())).values_list(
        *AGENT_COLUMNS, *(f"project__{name}" for name in PROJECT_COLUMNS), "project_id"
    )
)


def limits_of(
    agent: Agent,
    project: Project,
    family: budgets.Family | None = None,
    lead_id: UUID | None = None,
) -> TurnLimits:
    """The limits by these rows, without what is used of the shared budgets: the loop reads that before each call."""
    return _limits(
        *(getattr(agent, name) for name in AGENT_COLUMNS),
        *(getattr(project, name) for name in PROJECT_COLUMNS),
        family=family,
        lead_id=lead_id,
    )


def read_limits(
    agent_id: UUID, family: budgets.Family | None = None, lead_id: UUID | None = None
) -> TurnLimits:
    """The limits of the agent and its project as they are now, with what is used of the shared budgets.

    A helper has what is left to its ``family`` in place of the budgets of a turn and a conversation. What the team of
    the lead ``lead_id`` uses comes out of these.
    """
    [(*row, project_id)] = _LIMITS.rows(id=agent_id)
    family = None if family is None else budgets.read_again(family)
    owner = budgets.Owner(agent_id, UUID(str(project_id)), family)
    return _limits(*row, family=family, owner=owner, lead_id=lead_id)


def _limits(
    steps: int | None,
    tokens: int | None,
    cost_usd: Decimal | None,
    seconds: int | None,
    turn_tokens: int | None,
    turn_cost_usd: Decimal | None,
    day_tokens: int | None,
    day_cost_usd: Decimal | None,
    month_tokens: int | None,
    month_cost_usd: Decimal | None,
    *,
    family: budgets.Family | None = None,
    owner: budgets.Owner | None = None,
    lead_id: UUID | None = None,
) -> TurnLimits:
    day = Budget(BudgetScope.AGENT_DAY, day_tokens, _dollars(day_cost_usd))
    month = Budget(BudgetScope.PROJECT_MONTH, month_tokens, _dollars(month_cost_usd))
    pool = () if family is None else family.budgets
    shared = tuple(budget for budget in (*pool, day, month) if budget)
    if family is not None:
        # guard: helper-has-no-budget-of-its-own
        tokens = cost_usd = turn_tokens = turn_cost_usd = None
    has_own = any(each is not None for each in (tokens, cost_usd, turn_tokens, turn_cost_usd))
    team_used, untold = team_budgets.of_team(lead_id) if has_own and lead_id else (None, NOTHING)
    return TurnLimits(
        steps=steps or settings.AGENT_MAX_STEPS,
        tokens=tokens,
        cost_usd=_dollars(cost_usd),
        seconds=seconds,
        turn_tokens=turn_tokens,
        turn_cost_usd=_dollars(turn_cost_usd),
        shared=shared if owner is None else budgets.with_used(shared, owner),
        team_used=team_used,
        untold=untold,
    )


async def give_team_anew(
    lease: Lease, limits: TurnLimits, progress: TurnProgress, database: Database
) -> None:
    """Let the team of a lead use the budget too that its turn has again, because a person has continued it.

    A budget that was taken away meanwhile binds the team no longer. Raises ``Fenced`` if the lease is lost.
    """
    # guard: new-portion-of-a-lead-is-for-its-team
    if progress.has_new_portion:
        left = helper_allowance.left_for_team(limits, progress)
        await database.call(team_budgets.renew, lease, left)


def _dollars(amount: Decimal | None) -> float | None:
    return None if amount is None else float(amount)
