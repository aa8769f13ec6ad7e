"""The status of an agent with what a change touches, as the page of its settings shows it."""

from __future__ import annotations

from typing import Any
from zoneinfo import ZoneInfo

from paca.agents.models import Agent
from paca.conversations import agent_impact
from paca.conversations.models import AgentStatusChange
from paca.conversations.services import agent_status

STATUSES = (
    ("active", "Active: takes work"),
    ("paused", "Paused: new work waits"),
    ("inactive", "Inactive: refuses work"),
)


def context(agent: Agent) -> dict[str, Any]:
    """The counts now, the planned change with its time in its own zone, and the statuses to choose from."""
    impact = agent_impact.measure(agent)
    rows = AgentStatusChange.objects.planned().select_related("made_by__user", "made_by__role")
    planned = rows.filter(agent=agent).first()
    there = planned.due_at.astimezone(ZoneInfo(planned.time_zone)) if planned else None
    return {
        "statuses": STATUSES,
        "touched": [row for row in touched(impact) if row[-1]],
        "impact": impact,
        "planned": planned,
        "planned_in_vain": planned is not None and not agent_status.is_allowed_still(planned),
        "planned_at": f"{there:%a} {there.day} {there:%b %Y, %H:%M}" if there else "",
    }


def touched(impact: agent_impact.Impact) -> list[tuple[str, str, int]]:
    """Label, hint and number of each thing that a change of the status touches."""
    return [
        ("Running", "Conversations with a turn at work", impact.running),
        (
            "Waiting for people",
            f"Open questions, plans and approvals: {impact.open_requests}",
            impact.waiting,
        ),
        ("Queued", "Conversations that have not begun", impact.queued),
        ("Paused", "Conversations that a person or a limit has paused", impact.paused),
        ("Assigned tasks", "That are not done", impact.assigned_tasks),
        ("Blocked tasks", "Tasks of others that wait for one of these", impact.blocked_tasks),
        ("Check-ins", "Switched on; they are skipped while it is not active", impact.check_ins),
    ]
