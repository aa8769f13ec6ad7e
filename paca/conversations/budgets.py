"""Budgets that all conversations of an agent or a project share: an agent's day, a project's month.

What is used is the sum of the rows of model calls since midnight UTC of the day or of the first of the month. A
row that has begun holds what its call may take at most, and one that has ended what it took. So the sum never
forgets a call, whoever makes it, and two calls cannot both take the last of a budget.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from uuid import UUID

from django.db.models import Count, F, FloatField, Q, QuerySet, Sum, Value
from django.db.models.functions import Coalesce

from paca.conversations import usage
from paca.conversations.models import (
    BudgetLock,
    Conversation,
    ModelCall,
    ModelCallStatus,
)
from paca.engine.budgets import NOTHING, OWN, Amounts, Budget, BudgetScope
from paca.engine.limits import TurnLimitReached, refusal
from paca.projects import permissions
from paca.projects.models import Member, Project

# A row that began on one of the last two days may still change.
OPEN_DAYS = 2
MAX_REMEMBERED_DAYS = 4096
MAX_NAMES = 3
# The ``parent_call`` of teammates begins so; the number of the turn follows.
SPAWNED_IN_TURN = "team:"
RAISED_WITH = {
    BudgetScope.TURN: "agents:write",
    BudgetScope.CONVERSATION: "agents:write",
    BudgetScope.FAMILY: "agents:write",
    BudgetScope.TEAM: "agents:write",
    BudgetScope.AGENT_DAY: "agents:write",
    BudgetScope.PROJECT_MONTH: "projects:write",
}


@dataclass(frozen=True, slots=True)
class Family:
    """The helpers of one call, and what they may take together: what was left of the budget when they began.

    Teammates that one turn spawned are a family too. ``of_team`` is what their lead and all of its team may have taken
    in the end: what they had taken at the spawn, and what was left. The helpers of a lead have it too. ``helper_id`` is
    the conversation of whom this is.
    """

    parent_id: UUID
    call_id: str
    tokens: int | None = None
    cost_usd: float | None = None
    of_team: Budget = Budget(BudgetScope.TEAM)
    helper_id: UUID | None = None

    @property
    def is_of_team(self) -> bool:
        """Whether these are teammates, and no helpers."""
        return self.call_id.startswith(SPAWNED_IN_TURN)

    @property
    def budgets(self) -> tuple[Budget, ...]:
        """The budgets that they share with one another, and with their lead."""
        return (Budget(BudgetScope.FAMILY, self.tokens, self.cost_usd), self.of_team)


def family_of(conversation: Conversation) -> Family | None:
    """The family of a helper; None for every other conversation."""
    if conversation.parent_id is None:
        return None
    left = conversation.allowance or {}
    team = left.get("team") or {}
    return Family(
        conversation.parent_id,
        conversation.parent_call or "",
        tokens=left.get("tokens"),
        cost_usd=left.get("cost_usd"),
        of_team=Budget(BudgetScope.TEAM, team.get("tokens"), team.get("cost_usd")),
        helper_id=conversation.pk,
    )


def read_again(family: Family) -> Family:
    """The family as it is stored now: a team may use more when a person has continued its lead."""
    # guard: new-portion-reaches-a-turn-that-runs
    if not family.is_of_team or family.helper_id is None:
        return family
    rows = Conversation.objects.only("parent_id", "parent_call", "allowance")
    return family_of(rows.get(pk=family.helper_id)) or family


@dataclass(frozen=True, slots=True)
class Owner:
    """The agent, the project and, for a helper, the family whose budgets a call counts against.

    A lead counts its own budgets here too: ``lead_id`` is its id, and ``team_used`` what its team had used in all when
    the ``used`` of these budgets was summed.
    """

    agent_id: UUID
    project_id: UUID
    family: Family | None = None
    lead_id: UUID | None = None
    team_used: Amounts = NOTHING

    def id_of(self, scope: BudgetScope) -> UUID:
        if scope in OWN:
            assert self.lead_id is not None
            return self.lead_id
        if scope in (BudgetScope.FAMILY, BudgetScope.TEAM):
            assert self.family is not None
            return self.family.parent_id
        return self.agent_id if scope is BudgetScope.AGENT_DAY else self.project_id


def with_used(budgets: Iterable[Budget], owner: Owner) -> tuple[Budget, ...]:
    """The budgets that are set, with what is used of each now. Without one it asks nothing of the database."""
    today = usage.today()
    return tuple(replace(each, used=_used(each, owner, today)) for each in budgets if each)


def reserve(budgets: Iterable[Budget], at_most: Amounts, owner: Owner) -> None:
    """Raise ``TurnLimitReached`` if one of the budgets has no room for a call that takes ``at_most``.

    Call it in the transaction that stores the row of the call, after the conversation's row is locked and with the
    agent's budget before the project's, always in this order. A lead and its team lock the same row. On PostgreSQL the
    lock lets the calls of one owner pass one after another: the second waits for the commit of the first, and then
    sees its row. On SQLite the whole transaction is exclusive. A process that dies before the commit has reserved
    nothing. One that dies after it leaves the row, which goes on holding what the call may have taken until the day or
    month is over.
    """
    today = usage.today()
    for budget in budgets:
        lock(owner.id_of(budget.scope))
        used = _used(budget, owner, today)
        # guard: budget-is-asked-when-a-call-starts
        if reached := refusal(replace(budget, used=used), at_most):
            raise TurnLimitReached(reached)


def lock(owner_id: UUID) -> None:
    """Lock the owner's row until the end of the transaction; it is made if there is none."""
    BudgetLock.objects.bulk_create([BudgetLock(owner=owner_id)], ignore_conflicts=True)
    # guard: budget-calls-wait-for-one-another
    BudgetLock.objects.select_for_update().get(owner=owner_id)


# --- sums -----------------------------------------------------------------------------------------


def used_by_family(family: Family) -> Amounts:
    """What all helpers of a family have used, and may use in calls that run."""
    # guard: budget-of-a-family-counts-all-of-it
    of_family = ModelCall.objects.filter(
        conversation__parent=family.parent_id,
        conversation__parent_call=family.call_id,
    )
    return total(of_family)


def used_by_teammates(lead_id: UUID) -> Amounts:
    """What all teammates that a lead ever had have used, and may use in calls that run."""
    return total(ModelCall.objects.filter(conversation__teammate__lead=lead_id))


def _used(budget: Budget, owner: Owner, today: date) -> Amounts:
    calls = ModelCall.objects.filter(project=owner.project_id)
    if budget.scope in OWN:
        assert owner.lead_id is not None
        # guard: call-of-a-lead-counts-those-of-its-team-meanwhile
        return budget.used + (used_by_teammates(owner.lead_id) - owner.team_used)
    if budget.scope is BudgetScope.FAMILY:
        assert owner.family is not None
        return used_by_family(owner.family)
    if budget.scope is BudgetScope.TEAM:
        assert owner.family is not None
        return _used_by_team(calls, owner.family.parent_id)
    if budget.scope is BudgetScope.AGENT_DAY:
        return _sum(calls.filter(agent=owner.agent_id), today)
    return _used_in_month(calls, owner.project_id, today)


def _used_by_team(calls: QuerySet[ModelCall], lead_id: UUID) -> Amounts:
    """What a lead and all that it has started have used, and may use in calls that run."""
    # Two queries: the condition of both reads every call of the project.
    # guard: budget-of-a-team-counts-its-lead
    own = total(calls.filter(conversation=lead_id))
    return own + total(calls.filter(conversation__parent=lead_id))


def _sum(calls: QuerySet[ModelCall], since: date) -> Amounts:
    """What the calls since midnight UTC of this day have taken, and what the running ones may take."""
    return total(calls.filter(started_at__gte=_midnight(since)))


def total(calls: QuerySet[ModelCall]) -> Amounts:
    """What these calls have taken, and what the running ones of them may take."""
    sums = calls.aggregate(**SUMS)
    return Amounts(sums["tokens"], sums["dollars"])


SUMS = {
    "tokens": Sum(
        Coalesce(F("input_tokens"), Value(0))
        + Coalesce(F("output_tokens"), Value(0))
        + Coalesce(F("cache_read_tokens"), Value(0))
        + Coalesce(F("cache_write_tokens"), Value(0))
        + F("held_tokens"),
        default=0,
    ),
    "dollars": Sum(
        Coalesce(F("cost_usd"), Value(0.0)) + F("held_usd"),
        default=0.0,
        output_field=FloatField(),
    ),
}

# The sums of days that are over, by project: no call of them changes any more.
_closed_days: dict[tuple[UUID, date], Amounts] = {}


def _used_in_month(calls: QuerySet[ModelCall], project_id: UUID, today: date) -> Amounts:
    """The sum of the month. Days that are over are summed once in a process."""
    first_open = max(today.replace(day=1), today - timedelta(days=OPEN_DAYS - 1))
    days = [today.replace(day=n) for n in range(1, first_open.day)]
    known = [_closed_days.get((project_id, day)) for day in days]
    if None in known:
        known = _sum_closed_days(calls, project_id, days)
    open_days = _sum(calls, first_open)
    parts = [*(each or NOTHING for each in known), open_days]
    return Amounts(sum(each.tokens for each in parts), sum(each.cost_usd for each in parts))


def _sum_closed_days(
    calls: QuerySet[ModelCall], project_id: UUID, days: list[date]
) -> list[Amounts | None]:
    """The sum of each of these days, in one query. Days without a running call are remembered."""
    found = calls.filter(
        started_at__gte=_midnight(days[0]), started_at__lt=_midnight(days[-1] + timedelta(days=1))
    )
    running = Count("pk", filter=Q(status=ModelCallStatus.STARTED))
    rows: Any = found.values(day=usage.GROUPS["day"]).annotate(**SUMS, running=running).order_by()
    sums = {row["day"]: row for row in rows}
    if len(_closed_days) > MAX_REMEMBERED_DAYS:
        _closed_days.clear()
    result: list[Amounts | None] = []
    for day in days:
        row = sums.get(day)
        amounts = Amounts(row["tokens"], row["dollars"]) if row else NOTHING
        result.append(amounts)
        if row is None or not row["running"]:
            _closed_days[project_id, day] = amounts
    return result


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time.min, UTC)


# --- people ---------------------------------------------------------------------------------------


def who_can_raise(project: Project | UUID, scope: str) -> list[str]:
    """The names of up to three people of the project who may raise the budget."""
    permission = RAISED_WITH[BudgetScope(scope)]
    people = Member.objects.live().filter(project=project, kind=Member.Kind.HUMAN)
    found = people.with_names().order_by("created_at", "id")
    able = (member.name for member in found if permissions.allows(member, permission))
    return [name for name, _ in zip(able, range(MAX_NAMES), strict=False)]
