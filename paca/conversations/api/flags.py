"""The right to begin a conversation without the plan mode of its agent."""

from __future__ import annotations

from typing import Any

from paca.agents.models import Agent
from paca.projects import permissions
from paca.projects.api.base import ProjectView


def require_plan_right(view: ProjectView, agent: Agent, flags: dict[str, Any]) -> None:
    """Raises ``NotAllowed`` or ``InsufficientScope`` if the ``flags`` of a new conversation leave out the plan mode of
    the agent, and the caller may not approve.

    It gives the agent its tools, as an approval does.
    """
    # guard: plan-mode-left-out-needs-approval
    if flags.get("plan") is False and agent.plan_mode:
        view.require_permission(permissions.APPROVE)
