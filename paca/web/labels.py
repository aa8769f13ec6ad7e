"""The words for a conversation's and an agent's state on pages; words.js says the same live."""

from dataclasses import dataclass

from paca.agents.models import Agent


@dataclass(frozen=True, slots=True)
class State:
    """A label, its icon, the tone of its colour, and the reason in two words."""

    label: str
    icon: str
    tone: str
    because: str = ""


STATES = {
    "queued": ("Queued", "circle-dashed"),
    "running": ("Working", "loader-circle"),
    "waiting": ("Needs you", "hand"),
    "paused": ("Paused", "pause"),
    "finished": ("Done", "circle-check"),
    "failed": ("Failed", "circle-x"),
    "stopped": ("Stopped", "circle-stop"),
}
BECAUSE = {
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
    "internal": "fault in Paca",
    "agent_removed": "agent retired",
    "project_paused": "project paused",
}
ACTIVITIES = {
    "waiting_for_worker": "waiting for a worker",
    "starting_sandbox": "starting the sandbox",
    "thinking": "thinking",
    "running_tool": "running a tool",
    "retrying": "asking the model again",
}
EXPLAINED = frozenset({"waiting", "paused", "failed", "stopped"})


def state_of(status: str, reason: str = "") -> State:
    """How a conversation's status is shown."""
    label, icon = STATES[status]
    return State(label, icon, status, BECAUSE.get(reason, "") if status in EXPLAINED else "")


def agent_state(agent: Agent, statuses: frozenset[str]) -> State:
    """How an agent stands, given the statuses of its conversations under way."""
    if agent.status == Agent.Status.INACTIVE:
        return State("Inactive", "circle-stop", "stopped")
    if agent.status == Agent.Status.PAUSED:
        return State("Paused", "pause", "paused")
    for status in ("waiting", "running", "queued"):
        if status in statuses:
            return state_of(status)
    return State("Free", "circle-dashed", "queued")
