"""The plugins of a project, as the page of an agent's settings shows them."""

from __future__ import annotations

from typing import Any

from paca.agents.api import plugins
from paca.agents.models import Agent


def context(agent: Agent) -> dict[str, Any]:
    """The enabled plugins, each with whether it is ``on`` for the agent, and the estimate of those that are."""
    mine = {each["id"] for each in plugins.of_agent(agent)["plugins"]}
    choices = [
        {**each, "on": each["id"] in mine}
        for each in plugins.all_of(agent.project)
        if each["enabled"]
    ]
    return {
        "plugin_choices": choices,
        "plugin_tokens": sum(each["prompt_tokens"] for each in choices if each["on"]),
    }
