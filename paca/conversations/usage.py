"""Usage reports: calls, tokens and cost of models, by day, agent, model, project or purpose.

Every figure is a sum over rows of ``ModelCall`` that have ended, whoever made the call. A call counts for
the day in UTC on which it began, so a day is the same for every reader, for budgets and in every file.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from uuid import UUID

from django.db.models import Count, DateField, F, Func, Q, Sum
from django.utils import timezone

from paca.agents.models import Agent
from paca.common.errors import Invalid
from paca.conversations.models import ModelCall, ModelCallPurpose, ModelCallStatus
from paca.engine.llm.base import COST_DIGITS
from paca.projects.models import Project

DEFAULT_DAYS, MAX_DAYS = 14, 366
FIRST_DAY, LAST_DAY = date(2000, 1, 1), date(2100, 1, 1)


class UtcDay(Func):
    """The day in UTC of a time. ``TruncDate`` would call Python for each row on SQLite."""

    template = "((%(expressions)s) AT TIME ZONE 'UTC')::date"
    output_field = DateField()

    def as_sqlite(self, compiler: Any, connection: Any, **context: Any) -> Any:
        # SQLite holds times as texts in UTC.
        return self.as_sql(compiler, connection, template="date(%(expressions)s)", **context)


GROUPS: dict[str, Any] = {
    "day": UtcDay("started_at"),
    "agent": F("agent_id"),
    "model": F("model"),
    "project": F("project_id"),
    "purpose": F("purpose"),
    "status": F("status"),
    "key": F("key_source"),
}


# Whose key has paid, by ``ModelCall.key_source``.
KEY_NAMES = {
    "": "No key, or not told",
    "agent": "The agent's key",
    "user": "A person's own key",
    "project": "The project's key",
    "server": "The server's key",
}


@dataclass(frozen=True, slots=True)
class Period:
    """Days in UTC, both ends included."""

    first: date
    last: date

    @classmethod
    def of(cls, first: date | None, last: date | None) -> Period:
        """The period between two days; without an end it is today, without a beginning it has 14 days.

        Raises ``Invalid`` if it has no day, or more than 366.
        """
        last = last or today()
        _require_known(last, "to")
        first = first or last - timedelta(days=DEFAULT_DAYS - 1)
        _require_known(first, "from")
        if first > last:
            raise Invalid(fields={"from": ["The period begins after its end."]})
        if (last - first).days >= MAX_DAYS:
            raise Invalid(fields={"from": [f"A period has at most {MAX_DAYS} days."]})
        return cls(first, last)

    @property
    def days(self) -> list[date]:
        return [self.first + timedelta(days=n) for n in range((self.last - self.first).days + 1)]

    @property
    def before(self) -> Period:
        """The period of as many days that ends where this one begins."""
        length = timedelta(days=len(self.days))
        return Period(self.first - length, self.last - length)


def today() -> date:
    """The day in UTC."""
    return timezone.now().astimezone(UTC).date()


def _require_known(day: date, field: str) -> None:
    if not FIRST_DAY <= day <= LAST_DAY:
        raise Invalid(fields={field: [f"Write a day between {FIRST_DAY} and {LAST_DAY}."]})


@dataclass(frozen=True, slots=True)
class Figures:
    """The sums over some calls. ``unpriced_calls`` have an unknown cost, which ``priced_cost_usd`` leaves out."""

    calls: int = 0
    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    priced_cost_usd: float = 0.0
    unpriced_calls: int = 0

    @property
    def cost_usd(self) -> float | None:
        """The dollars of all calls; None if the cost of one is unknown."""
        # guard: usage-unknown-cost-is-not-zero
        return None if self.unpriced_calls else self.priced_cost_usd

    @property
    def tokens(self) -> int:
        """All tokens that went in, cached or not, and came out."""
        return self.tokens_in + self.output

    @property
    def tokens_in(self) -> int:
        return self.input + self.cache_read + self.cache_write


def add_up(figures: Iterable[Figures]) -> Figures:
    """The sum of these figures."""
    rows = list(figures)
    return Figures(
        calls=sum(row.calls for row in rows),
        input=sum(row.input for row in rows),
        output=sum(row.output for row in rows),
        cache_read=sum(row.cache_read for row in rows),
        cache_write=sum(row.cache_write for row in rows),
        priced_cost_usd=round(sum(row.priced_cost_usd for row in rows), COST_DIGITS),
        unpriced_calls=sum(row.unpriced_calls for row in rows),
    )


def figures_by(
    projects: Collection[UUID], period: Period, *groups: str
) -> dict[tuple[Any, ...], Figures]:
    """The figures of these projects for each combination of ``groups``, which are names of ``GROUPS``.

    It is one query, whatever the number of calls.
    """
    until = period.last + timedelta(days=1)
    calls = ModelCall.objects.filter(
        project__in=projects,
        started_at__gte=datetime.combine(period.first, time.min, UTC),
        started_at__lt=datetime.combine(until, time.min, UTC),
    ).exclude(status=ModelCallStatus.STARTED)
    rows: Any = (  # rows of dicts, by names that only Python knows
        calls.values(**{f"by_{name}": GROUPS[name] for name in groups})
        .annotate(
            n=Count("pk"),
            in_=Sum("input_tokens", default=0),
            out=Sum("output_tokens", default=0),
            read=Sum("cache_read_tokens", default=0),
            written=Sum("cache_write_tokens", default=0),
            priced=Sum("cost_usd", default=0.0),
            unpriced=Count("pk", filter=Q(cost_usd=None)),
        )
        .order_by()
    )
    return {tuple(row[f"by_{name}"] for name in groups): _figures(row) for row in rows}


def _figures(row: dict[str, Any]) -> Figures:
    return Figures(
        calls=row["n"],
        input=row["in_"],
        output=row["out"],
        cache_read=row["read"],
        cache_write=row["written"],
        # Floats are added in any order; the digits that a cost keeps come out the same.
        priced_cost_usd=round(row["priced"], COST_DIGITS),
        unpriced_calls=row["unpriced"],
    )


@dataclass(frozen=True, slots=True)
class ReportRow:
    """One row of a report. ``key`` is a day, an id, a model or a purpose; people read ``name``."""

    key: str
    name: str
    figures: Figures


@dataclass(frozen=True, slots=True)
class Report:
    """The rows of a report, and their sum."""

    rows: tuple[ReportRow, ...]
    total: Figures


def report(projects: Collection[UUID], period: Period, group: str) -> Report:
    """The calls of these projects in the period. Days come in order; of all others the dearest comes first.

    Days without a call have no row.
    """
    found = figures_by(projects, period, group)
    names = names_of(group, [key for (key,) in found])
    rows = [ReportRow(str(key), names[key], figures) for (key,), figures in found.items()]
    rows.sort(key=_by_day if group == "day" else _dearest_first)
    return Report(tuple(rows), add_up(found.values()))


def names_of(group: str, keys: Collection[Any]) -> dict[Any, str]:
    """What people read for the keys of a group."""
    if group == "agent":
        return dict(Agent.objects.filter(pk__in=keys).values_list("pk", "name"))
    if group == "project":
        return dict(Project.objects.filter(pk__in=keys).values_list("pk", "name"))
    if group == "purpose":
        return {key: str(ModelCallPurpose(key).label) for key in keys}
    if group == "key":
        return {key: KEY_NAMES.get(key, str(key)) for key in keys}
    return {key: str(key) for key in keys}


def _by_day(row: ReportRow) -> Any:
    return row.key


def _dearest_first(row: ReportRow) -> Any:
    return (-row.figures.priced_cost_usd, -row.figures.tokens, row.name, row.key)
