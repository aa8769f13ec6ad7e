"""The labels of statuses, reasons and activities: the only table, for templates and for JavaScript.

``make docs`` writes it for the browser to static/paca/conversation/status-labels.js.
"""

import json
from collections.abc import Collection
from dataclasses import dataclass

from paca.agents.models import Agent
from paca.sandbox.start_phases import PHASES


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
    "waiting": ("Waiting", "clock"),
    "paused": ("Paused", "pause"),
    "finished": ("Done", "circle-check"),
    "failed": ("Failed", "circle-x"),
    "stopped": ("Stopped", "circle-stop"),
}
# A conversation waits for a person or goes on by itself: only the reason tells.
WAITS_FOR_PEOPLE = ("approval", "question")
NEEDS_YOU = ("Needs you", "hand")
REASONS = {
    "start": "waits for a start",
    "agent_paused": "agent paused",
    "agent_busy": "agent busy",
    "newer_worker": "workers too old",
    "agent_inactive": "agent inactive",
    "by_person": "by a person",
    "step_limit": "step limit",
    "token_budget": "token limit",
    "cost_budget": "cost limit",
    "time_limit": "time limit",
    "rate_limited": "rate limit",
    "model_unavailable": "model unavailable",
    "stuck": "no progress",
    "context_full": "conversation too long",
    "parked": "parked",
    "configuration": "settings",
    "model_refused": "model refused",
    "sandbox": "sandbox",
    "helpers": "helpers at work",
    "sandbox_error": "sandbox",
    "internal": "error in Paca",
    "agent_removed": "agent retired",
    "project_paused": "project paused",
    "project_deleted": "project deleted",
    "task_deleted": "task deleted",
    "doc_deleted": "doc deleted",
    "unassigned": "unassigned",
}
STATUSES_WITH_REASON = ("queued", "waiting", "paused", "failed", "stopped")
# What a queued conversation waits for.
WAITS_FOR = {
    "start": "Waiting until a person starts it",
    "worker": "Waiting for a worker",
    "agent_paused": "Waiting: the agent is paused",
    "agent_inactive": "Waiting: the agent is inactive",
    "agent_busy": "Waiting: the agent works on as many conversations as it may",
    "newer_worker": "Waiting: the workers are of an older version. Restart them.",
}
# What a running conversation does now.
ACTIVITIES = {
    "starting_sandbox": "Starting the sandbox",
    "waiting_for_worker": "Waiting for a worker",
    "waiting_for_model": "Waiting for the model",
    "thinking": "Thinking",
    "running_tool": "Running a tool",
    "retrying": "Retrying the model",
    "compacting": "Summarising what came before",
}


def state_of(status: str, reason: str = "") -> StateLabel:
    """The label of a conversation's status. Raises ``KeyError`` for an unknown status."""
    label, icon = STATUSES[status]
    shown_reason = REASONS.get(reason, "") if status in STATUSES_WITH_REASON else ""
    if status == "waiting" and reason in WAITS_FOR_PEOPLE:
        return StateLabel(*NEEDS_YOU, status)
    # The tone of "waiting" asks for a person; this one goes on by itself.
    tone = "queued" if status == "waiting" else status
    return StateLabel(label, icon, tone, shown_reason)


def agent_state(agent: Agent, states: Collection[tuple[str, str]]) -> StateLabel:
    """The label of an agent's state, given status and reason of each of its active conversations."""
    if agent.status == Agent.Status.INACTIVE:
        return StateLabel("Inactive", "circle-stop", "stopped")
    if agent.status == Agent.Status.PAUSED:
        return StateLabel("Paused", "pause", "paused")
    for wanted in ("waiting", "running", "queued"):
        for status, reason in states:
            if status == wanted:
                return state_of(status, reason)
    return StateLabel("Idle", "circle-dashed", "queued")


def duration(seconds: float | None) -> str:
    """A time in its two largest units, such as ``3 min 10 s``; ``Unknown`` for None."""
    if seconds is None:
        return "Unknown"
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


def as_javascript() -> str:
    """The table as the source of a JavaScript module."""
    statuses = {name: {"label": label, "icon": icon} for name, (label, icon) in STATUSES.items()}
    tables = {
        "STATUSES": statuses,
        "REASONS": REASONS,
        "STATUSES_WITH_REASON": STATUSES_WITH_REASON,
        "WAITS_FOR_PEOPLE": WAITS_FOR_PEOPLE,
        "NEEDS_YOU": dict(zip(("label", "icon"), NEEDS_YOU, strict=True)),
        "WAITS_FOR": WAITS_FOR,
        "ACTIVITIES": ACTIVITIES,
        "SANDBOX_PHASES": PHASES,
    }
    # A Map, because an object also has the names of its prototype, such as "constructor".
    head = "// Generated from paca/web/labels.py by `make docs`; change the labels there.\n"
    return head + "".join(
        f"\nexport const {name} = {_javascript(table)};\n" for name, table in tables.items()
    )


def _javascript(table: object) -> str:
    text = json.dumps(table, indent=2)
    return f"new Map(Object.entries({text}))" if isinstance(table, dict) else text
