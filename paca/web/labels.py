"""The labels of statuses, reasons and activities: the only table, for templates and for JavaScript.

``make docs`` writes it for the browser to static/paca/conversation/status-labels.js.
"""

import json
from dataclasses import dataclass

from paca.agents.models import Agent


@dataclass(frozen=True, slots=True)
class StateLabel:
    """A state on a page: label, icon, colour tone, and the reason in a few words."""

    label: str
    icon: str
    tone: str
    reason: str = ""


# Label and icon of each conversation status. The status is also the name of its colour tone.
STATUSES = {
    "queued": ("Queued", "circle-dashed"),
    "running": ("Working", "loader-circle"),
    "waiting": ("Needs you", "hand"),
    "paused": ("Paused", "pause"),
    "finished": ("Done", "circle-check"),
    "failed": ("Failed", "circle-x"),
    "stopped": ("Stopped", "circle-stop"),
}
REASONS = {
    "by_person": "by a person",
    "step_limit": "step limit",
    "token_budget": "token limit",
    "cost_budget": "cost limit",
    "time_limit": "time limit",
    "rate_limited": "rate limit",
    "model_unavailable": "model unavailable",
    "stuck": "no progress",
    "parked": "parked",
    "configuration": "settings",
    "model_refused": "model refused",
    "sandbox": "sandbox",
    "sandbox_error": "sandbox",
    "internal": "error in Paca",
    "agent_removed": "agent retired",
    "project_paused": "project paused",
}
STATUSES_WITH_REASON = ("waiting", "paused", "failed", "stopped")
# What a running conversation does now.
ACTIVITIES = {
    "waiting_for_worker": "Waiting for a worker",
    "starting_sandbox": "Starting the sandbox",
    "thinking": "Thinking",
    "running_tool": "Running a tool",
    "retrying": "Retrying the model",
}


def state_of(status: str, reason: str = "") -> StateLabel:
    """The label of a conversation's status. Raises ``KeyError`` for an unknown status."""
    label, icon = STATUSES[status]
    shown_reason = REASONS.get(reason, "") if status in STATUSES_WITH_REASON else ""
    return StateLabel(label, icon, status, shown_reason)


def agent_state(agent: Agent, statuses: frozenset[str]) -> StateLabel:
    """The label of an agent's state, given the statuses of its active conversations."""
    if agent.status == Agent.Status.INACTIVE:
        return StateLabel("Inactive", "circle-stop", "stopped")
    if agent.status == Agent.Status.PAUSED:
        return StateLabel("Paused", "pause", "paused")
    for status in ("waiting", "running", "queued"):
        if status in statuses:
            return state_of(status)
    return StateLabel("Idle", "circle-dashed", "queued")


def as_javascript() -> str:
    """The table as the source of a JavaScript module."""
    statuses = {name: {"label": label, "icon": icon} for name, (label, icon) in STATUSES.items()}
    tables = {
        "STATUSES": statuses,
        "REASONS": REASONS,
        "STATUSES_WITH_REASON": STATUSES_WITH_REASON,
        "ACTIVITIES": ACTIVITIES,
    }
    # A Map, because an object also has the names of its prototype, such as "constructor".
    head = "// Generated from paca/web/labels.py by `make docs`; change the labels there.\n"
    return head + "".join(
        f"\nexport const {name} = {_javascript(table)};\n" for name, table in tables.items()
    )


def _javascript(table: object) -> str:
    text = json.dumps(table, indent=2)
    return f"new Map(Object.entries({text}))" if isinstance(table, dict) else text
