"""Statistics of one agent over a period: its turns, how they ended and how long they took, cost, tasks done.

A figure that is not known is None, never 0: without an ended turn there is no success rate and no latency.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta

from django.db.models import Count, DurationField, ExpressionWrapper, F, Max, QuerySet, TextField
from django.db.models.functions import Cast

from paca.agents.models import Agent
from paca.conversations import usage
from paca.conversations.models import Turn, TurnStatus
from paca.conversations.usage import Period
from paca.projects.models import Activity, ActivityKind

# How the timeline writes a change of the status, on both databases.
STATUS_CHANGE = '"field": "status"'


@dataclass(frozen=True, slots=True)
class Statistics:
    """The figures of a period. ``runs`` are turns that began in it, and are made of the four counts after it.

    ``median_seconds`` and ``p95_seconds`` are of finished turns, from their start to their end, with all waits.
    ``cost_usd`` is None if the cost of a call is unknown; ``priced_cost_usd`` has the dollars of all others.
    """

    runs: int
    succeeded: int
    failed: int
    stopped: int
    running: int
    success_rate: float | None
    median_seconds: float | None
    p95_seconds: float | None
    cost_usd: float | None
    priced_cost_usd: float
    unpriced_calls: int
    tasks_done: int


def measure(agent: Agent, period: Period) -> Statistics:
    """The statistics of the agent in the period, in five queries. Turns of deleted conversations do not count."""
    first, end = _moments(period)
    turns = Turn.objects.filter(
        conversation__agent=agent,
        conversation__deleted_at=None,
        started_at__gte=first,
        started_at__lt=end,
    ).order_by()
    counts = dict(turns.values_list("status").annotate(n=Count("pk")))
    succeeded = counts.get(TurnStatus.FINISHED, 0)
    failed = counts.get(TurnStatus.FAILED, 0)
    stopped = counts.get(TurnStatus.STOPPED, 0) + counts.get(TurnStatus.PAUSED, 0)
    median, p95 = _latencies(turns.filter(status=TurnStatus.FINISHED), succeeded)
    spent = usage.figures_by([agent.project_id], period, "agent").get((agent.pk,), usage.Figures())
    return Statistics(
        runs=sum(counts.values()),
        succeeded=succeeded,
        failed=failed,
        stopped=stopped,
        running=counts.get(TurnStatus.RUNNING, 0),
        success_rate=round(succeeded / (succeeded + failed), 4) if succeeded + failed else None,
        median_seconds=median,
        p95_seconds=p95,
        cost_usd=spent.cost_usd,
        priced_cost_usd=spent.priced_cost_usd,
        unpriced_calls=spent.unpriced_calls,
        tasks_done=_tasks_done(agent, first, end),
    )


def _moments(period: Period) -> tuple[datetime, datetime]:
    """The beginning of the period and the moment after its end."""
    after = period.last + timedelta(days=1)
    return datetime.combine(period.first, time.min, UTC), datetime.combine(after, time.min, UTC)


def _latencies(turns: QuerySet[Turn], count: int) -> tuple[float | None, float | None]:
    """The median and the 95th percentile of the durations. The database sorts; no row is loaded for it but three."""
    length = ExpressionWrapper(F("finished_at") - F("started_at"), output_field=DurationField())
    ended = turns.filter(finished_at__isnull=False).annotate(length=length).order_by("length", "pk")
    lengths = ended.values_list("length", flat=True)
    if not count:
        return None, None
    middle = [each.total_seconds() for each in lengths[(count - 1) // 2 : count // 2 + 1]]
    rank = math.ceil(count * 0.95) - 1  # the nearest rank: a turn that took so long
    high = [each.total_seconds() for each in lengths[rank : rank + 1]]
    if not middle or not high:
        return None, None
    return round(sum(middle) / len(middle), 3), round(high[0], 3)


def _tasks_done(agent: Agent, first: datetime, end: datetime) -> int:
    """The tasks assigned to it that are done now, and got their status in the period, whoever set it."""
    changes = Activity.objects.filter(
        task__assignees__agent=agent,
        task__deleted_at=None,
        task__status__category="done",
        kind=ActivityKind.TASK_UPDATED,
    ).annotate(text=Cast("changes", TextField()))
    last = changes.filter(text__contains=STATUS_CHANGE).order_by().values("task")
    last = last.annotate(at=Max("created_at")).filter(at__gte=first, at__lt=end)
    return last.count()
