"""What an agent's models are asked with: its own, those of the messages' efforts, and its fallback."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from django.conf import settings

from paca.agents import model_parameters
from paca.agents.models import Agent
from paca.engine import titles
from paca.engine.llm import own_parameters
from paca.engine.llm.http_pool import TimeLimits
from paca.engine.llm.registry import is_own_server
from paca.engine.turn import AgentProfile

DEFAULT_MAX_TOKENS = 8192
# A message's effort sets one of them in place of what the agent has of both.
REASONING = ("effort", "thinking_budget")


def model_fields(model: str, base_url: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """The fields of an ``AgentProfile`` that follow from a model, its server and its parameters."""
    limits = own_parameters.time_limits(
        parameters, time_limits(own_server=is_own_server(model, base_url))
    )
    sent = own_parameters.without(parameters)
    return {
        "model": model,
        "base_url": base_url,
        "max_tokens": sent.pop("max_tokens", DEFAULT_MAX_TOKENS),
        "parameters": sent,
        "time_limits": limits,
        "context_window": parameters.get(own_parameters.CONTEXT_WINDOW),
    }


def of_efforts(agent: Agent, own: AgentProfile) -> dict[str, AgentProfile]:
    """The profile of each effort that the agent sets. They use the agent's key and server."""
    return {effort: _of_effort(agent, own, changes) for effort, changes in agent.efforts.items()}


def _of_effort(agent: Agent, own: AgentProfile, given: dict[str, Any]) -> AgentProfile:
    changes = dict(given)
    model = changes.pop(model_parameters.MODEL, agent.model)
    steps = changes.pop(model_parameters.STEPS, None)
    kept = dict(agent.parameters)
    if any(name in changes for name in REASONING):
        kept = {name: value for name, value in kept.items() if name not in REASONING}
    # guard: effort-has-the-window-of-its-model
    if model != agent.model:
        kept.pop(own_parameters.CONTEXT_WINDOW, None)
    fields = model_fields(model, agent.base_url, {**kept, **changes})
    summaries = compaction_model(agent, model)
    return replace(own, **fields, effort_steps=steps, compaction_model=summaries)


def of_fallback(agent: Agent, own: AgentProfile) -> AgentProfile | None:
    """The profile of the fallback, which writes its summaries itself; None if the agent has none."""
    if not agent.fallback_model:
        return None
    fields = model_fields(agent.fallback_model, agent.fallback_base_url, agent.fallback_parameters)
    return replace(
        own,
        **fields,
        text_tool_calls=agent.fallback_text_tool_calls,
        key_last4=agent.fallback_key_last4,
        compaction_model="",
    )


def compaction_model(agent: Agent, model: str) -> str:
    """The model that writes summaries in place of ``model``; empty if that one writes them.

    It gets the agent's key, so it is always one of the same provider, at the same base URL.
    """
    own: str = agent.parameters.get(own_parameters.COMPACTION_MODEL) or ""
    chosen = own or ("" if agent.base_url else settings.COMPACTION_MODEL)
    # guard: compaction-model-of-the-same-provider
    if chosen.partition("/")[0] != model.partition("/")[0] or chosen == model:
        return ""
    return chosen


def title_model(agent: Agent) -> str:
    """The model that writes titles; empty if none does. It gets the agent's key, so it is of the same provider."""
    own: str = agent.parameters.get(own_parameters.TITLE_MODEL) or ""
    chosen = own or settings.TITLE_MODEL
    # guard: demo-writes-no-titles
    if agent.is_demo or chosen == titles.OFF:
        return ""
    is_of_another = not own and bool(agent.base_url)
    # guard: title-model-of-the-same-provider
    if is_of_another or chosen.partition("/")[0] != agent.model.partition("/")[0]:
        return agent.model
    return chosen


def helper_model(agent: Agent) -> str:
    """The model of its helpers; empty if they have its own. It gets the agent's key, so it is of the same provider."""
    chosen: str = agent.parameters.get(own_parameters.HELPER_MODEL) or ""
    # guard: helper-model-of-the-same-provider
    if chosen.partition("/")[0] != agent.model.partition("/")[0]:
        return ""
    return chosen


def time_limits(*, own_server: bool) -> TimeLimits:
    """The time limits of the installation for one attempt of a model, in seconds."""
    first, gap, total = settings.LOCAL_LLM_SECONDS if own_server else settings.LLM_SECONDS
    return TimeLimits(
        connect=settings.LLM_CONNECT_SECONDS,
        first_token=first,
        gap=gap,
        total=total,
        loading=settings.LLM_LOADING_SECONDS,
        own_server=own_server,
    )
