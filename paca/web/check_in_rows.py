"""The check-ins of an agent, as the page of its settings shows them."""

from __future__ import annotations

from typing import Any

from django.conf import settings

from paca.agents.models import Agent
from paca.conversations import check_in_lists
from paca.conversations.models import CheckIn
from paca.projects.models import Doc

WEEKDAYS = ((1, "Mon"), (2, "Tue"), (3, "Wed"), (4, "Thu"), (5, "Fri"), (6, "Sat"), (7, "Sun"))
MAX_DOCS = 200
# The form for a new check-in is filled in, so that it can be added as it is.
SUGGESTED = {
    "name": "Morning look at the board",
    "prompt": "Which tasks are stuck, overdue or without an assignee? What has changed since yesterday?",
    "daily_at": ["09:00"],
    "weekdays": [1, 2, 3, 4, 5],
}


def context(agent: Agent, *, may_read_docs: bool) -> dict[str, Any]:
    """What the section of check-ins needs: the rows with their history, docs to report to, and a suggestion."""
    docs = _docs(agent) if may_read_docs else []
    new = CheckIn(agent=agent, **SUGGESTED)
    rows = list(check_in_lists.of_agent(agent, runs=check_in_lists.SHOWN_RUNS))
    for row in (new, *rows):
        row.key = "new" if row is new else str(row.pk)  # type: ignore[attr-defined]
        row.times = times_of(row)  # type: ignore[attr-defined]
        row.docs = _with_own(row, docs)  # type: ignore[attr-defined]
    return {
        "check_ins": rows,
        "new_check_in": new,
        "weekdays": WEEKDAYS,
        "inherited_zone": agent.project.time_zone or settings.DEFAULT_TIME_ZONE,
    }


def _docs(agent: Agent) -> list[Doc]:
    found = Doc.objects.filter(project=agent.project, deleted_at=None).order_by("title", "pk")
    return list(found.only("id", "title")[:MAX_DOCS])


def _with_own(row: CheckIn, docs: list[Doc]) -> list[Doc]:
    """The docs to choose from, with that of the check-in: a form that lacked it would take the report away."""
    own = row.doc
    if own is None or own.deleted_at is not None or own in docs:
        return docs
    return [own, *docs]


def times_of(row: CheckIn) -> str:
    """When a check-in is due, in words."""
    if row.every_minutes is None:
        words = f"Daily at {', '.join(row.daily_at)}"
    elif row.every_minutes % 60:
        words = f"Every {row.every_minutes} minutes"
    else:
        hours = row.every_minutes // 60
        words = "Every hour" if hours == 1 else f"Every {hours} hours"
    if len(row.weekdays) < len(WEEKDAYS):
        words += f", {' '.join(day for number, day in WEEKDAYS if number in row.weekdays)}"
    if row.active_from is not None and row.active_to is not None:
        words += f", {row.active_from:%H:%M} to {row.active_to:%H:%M}"
    return f"{words}, {row.zone_name}"
