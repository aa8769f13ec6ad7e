"""The shared budgets of a project with what is used of each, as people and programs read them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.db.models import Count, Q, QuerySet

from paca.agents.models import Agent
from paca.conversations import budgets, usage
from paca.conversations.models import ModelCall, ModelCallStatus
from paca.engine.budgets import BudgetScope
from paca.projects.models import Project


@dataclass(frozen=True, slots=True)
class BudgetRow:
    """One shared budget. A limit of None is no limit. ``unpriced_calls`` count in tokens only.

    ``used_tokens`` and ``used_cost_usd`` include what running calls may take at most.
    """

    scope: str
    id: UUID
    name: str
    tokens: int | None
    cost_usd: float | None
    used_tokens: int
    used_cost_usd: float
    unpriced_calls: int
    resets_at: datetime

    @property
    def used_percent(self) -> int:
        """The part that is used, of the limit that is nearer."""
        parts = [0.0]
        if self.tokens:
            parts.append(self.used_tokens / self.tokens)
        if self.cost_usd:
            parts.append(self.used_cost_usd / self.cost_usd)
        return round(100 * max(parts))

    @property
    def is_reached(self) -> bool:
        """Whether nothing of one of its limits is left."""
        tokens = self.tokens is not None and self.used_tokens >= self.tokens
        return tokens or (self.cost_usd is not None and self.used_cost_usd >= self.cost_usd)

    @property
    def shown_percent(self) -> int:
        """The length of its bar."""
        return min(100, self.used_percent)

    @property
    def is_set(self) -> bool:
        """Whether it limits anything."""
        return self.tokens is not None or self.cost_usd is not None


def of_project(project: Project) -> list[BudgetRow]:
    """The project's budget of the month, then each agent's of the day, by name; those that are set."""
    month, agents = of_month(project), _agents_with_budget(project)
    rows = [month] if month.is_set else []
    if agents:
        sums = _sums(ModelCall.objects.filter(project=project), usage.today(), "agent_id")
        rows += [_of_day(agent, sums.get(agent.pk, {})) for agent in agents]
    return rows


def of_month(project: Project) -> BudgetRow:
    """The budget of the project, also if it is not set."""
    today = usage.today()
    sums = _sums(ModelCall.objects.filter(project=project), today.replace(day=1), "project_id")
    return BudgetRow(
        BudgetScope.PROJECT_MONTH,
        project.pk,
        project.name,
        project.limit_month_tokens,
        _dollars(project.limit_month_cost_usd),
        resets_at=_midnight((today.replace(day=28) + timedelta(days=4)).replace(day=1)),
        **_used(sums.get(project.pk, {})),
    )


def of_day(agent: Agent) -> BudgetRow:
    """The budget of the agent, also if it is not set."""
    calls = ModelCall.objects.filter(project=agent.project_id, agent=agent)
    return _of_day(agent, _sums(calls, usage.today(), "agent_id").get(agent.pk, {}))


def _agents_with_budget(project: Project) -> list[Agent]:
    is_set = Q(limit_day_tokens__isnull=False) | Q(limit_day_cost_usd__isnull=False)
    found = Agent.objects.filter(is_set, project=project, deleted_at=None)
    return list(found.order_by("name", "pk"))


def _of_day(agent: Agent, sums: dict[str, Any]) -> BudgetRow:
    return BudgetRow(
        BudgetScope.AGENT_DAY,
        agent.pk,
        agent.name,
        agent.limit_day_tokens,
        _dollars(agent.limit_day_cost_usd),
        resets_at=_midnight(usage.today() + timedelta(days=1)),
        **_used(sums),
    )


def _sums(calls: QuerySet[ModelCall], since: date, group: str) -> dict[UUID, dict[str, Any]]:
    unpriced = Count("pk", filter=Q(cost_usd=None) & ~Q(status=ModelCallStatus.STARTED))
    rows: Any = (
        calls.filter(started_at__gte=_midnight(since))
        .values(group)
        .annotate(**budgets.SUMS, unpriced=unpriced)
        .order_by()
    )
    return {row[group]: row for row in rows}


def _used(sums: dict[str, Any]) -> dict[str, Any]:
    return {
        "used_tokens": sums.get("tokens", 0),
        "used_cost_usd": round(sums.get("dollars", 0.0), 6),
        "unpriced_calls": sums.get("unpriced", 0),
    }


def _dollars(amount: Decimal | None) -> float | None:
    return None if amount is None else float(amount)


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time.min, UTC)
