"""The page of a project's usage: what its model calls cost, by day, agent and model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from paca.common.errors import Invalid
from paca.conversations import budget_report, usage
from paca.conversations.models import ModelCallStatus
from paca.conversations.usage import Figures, Period
from paca.projects import permissions
from paca.projects.models import Member
from paca.web import usage_charts
from paca.web.views.decorators import project_page
from paca.web.views.pages import page_context

Key = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class TableRow:
    """One agent, model or day with its figures. ``share`` is its part of the whole, in percent."""

    key: Any
    name: str
    figures: Figures
    share: int


@project_page("usage:read")
def usage_page(request: HttpRequest, member: Member) -> HttpResponse:
    """The figures of the period in the address, as numbers, as a chart and as tables."""
    period, problem = _period(request)
    project = [member.project_id]
    found = usage.figures_by(project, period, "day", "agent", "model")
    total = usage.add_up(found.values())
    by_tokens = request.GET.get("measure", "" if total.priced_cost_usd else "tokens") == "tokens"
    agents, models = _table("agent", found, 1), _table("model", found, 2)
    days = {row.key: row for row in _table("day", found, 0)}
    context = page_context(
        member,
        "usage",
        period=period,
        problem=problem,
        today=usage.today(),
        total=total,
        budgets=budget_report.of_project(member.project),
        may_write_project=permissions.allows(member, "projects:write"),
        before=_sum(project, period.before),
        now=_sum(project, Period(usage.today(), usage.today())),
        ended=_endings(project, period),
        cached=_percent(total.cache_read, total.tokens_in),
        chart=_chart(period, found, agents, by_tokens=by_tokens),
        by_tokens=by_tokens,
        agents=agents,
        models=models,
        days=[days.get(day) or TableRow(day, str(day), Figures(), 0) for day in period.days],
        unpriced=[row for row in models if row.figures.unpriced_calls],
        presets=_presets(period),
        measures=_measures(period, by_tokens=by_tokens),
        files={group: _file_url(member, period, group) for group in ("day", "agent", "model")},
    )
    return render(request, "web/usage.html", context)


def _period(request: HttpRequest) -> tuple[Period, str]:
    """The period in the address, or the usual one and what is wrong with the one in the address."""
    try:
        return Period.of(_day(request, "from"), _day(request, "to")), ""
    except Invalid as invalid:
        texts = [text for texts in invalid.fields.values() for text in texts]
        return Period.of(None, None), " ".join(texts)


def _day(request: HttpRequest, name: str) -> date | None:
    """Raises ``Invalid`` if the text is no day."""
    text = request.GET.get(name, "")
    try:
        return date.fromisoformat(text) if text else None
    except ValueError:
        raise Invalid(fields={name: ["Write a day as YYYY-MM-DD."]}) from None


def _sum(projects: list[UUID], period: Period) -> Figures:
    return usage.add_up(usage.figures_by(projects, period, "project").values())


def _endings(projects: list[UUID], period: Period) -> dict[str, int]:
    """How many calls ended in each way."""
    found = usage.figures_by(projects, period, "status")
    return {status: found.get((status,), Figures()).calls for status in ModelCallStatus.values}


def _table(group: str, found: Mapping[Key, Figures], at: int) -> list[TableRow]:
    """The figures by the part ``at`` of their keys, the dearest first."""
    parts: dict[Any, list[Figures]] = {}
    for key, figures in found.items():
        parts.setdefault(key[at], []).append(figures)
    names = usage.names_of(group, list(parts))
    sums = {key: usage.add_up(each) for key, each in parts.items()}
    weigh = _weight(sums.values())
    whole = sum(map(weigh, sums.values()))
    rows = [
        TableRow(key, names[key], each, _percent(weigh(each), whole)) for key, each in sums.items()
    ]
    return sorted(rows, key=lambda row: (-weigh(row.figures), -row.figures.tokens, row.name))


def _weight(figures: Any) -> Callable[[Figures], float]:
    """Dollars; tokens if nothing has a price."""
    if any(each.priced_cost_usd for each in figures):
        return lambda each: each.priced_cost_usd
    return lambda each: each.tokens


def _percent(part: float, whole: float) -> int:
    return round(100 * part / whole) if whole else 0


def _chart(
    period: Period, found: Mapping[Key, Figures], agents: list[TableRow], *, by_tokens: bool
) -> usage_charts.Chart:
    amounts: dict[tuple[date, object], float] = {}
    for (day, agent, _), figures in found.items():
        amount = figures.tokens if by_tokens else figures.priced_cost_usd
        amounts[day, agent] = amounts.get((day, agent), 0.0) + amount
    return usage_charts.chart(period.days, amounts, {row.key: row.name for row in agents})


def _presets(period: Period) -> list[dict[str, Any]]:
    today = usage.today()
    ranges = {
        "Today": Period(today, today),
        "14 days": Period.of(None, today),
        "Month": Period(today.replace(day=1), today),
        "90 days": Period(today - timedelta(days=89), today),
    }
    return [
        {"label": label, "query": _query(each), "current": each == period}
        for label, each in ranges.items()
    ]


def _measures(period: Period, *, by_tokens: bool) -> list[dict[str, Any]]:
    return [
        {"label": "Cost", "query": _query(period, measure="cost"), "current": not by_tokens},
        {"label": "Tokens", "query": _query(period, measure="tokens"), "current": by_tokens},
    ]


def _query(period: Period, **more: str) -> str:
    return urlencode({"from": period.first, "to": period.last, **more})


def _file_url(member: Member, period: Period, group: str) -> str:
    address = reverse("api:usage-csv", args=[member.project_id])
    return f"{address}?{_query(period, group=group)}"
