"""Opens the model of the agent for a turn."""

from __future__ import annotations

from paca.engine.llm.base import LLM
from paca.engine.llm.key_mask import masked
from paca.engine.llm.registry import open_llm
from paca.engine.llm.text_tool_calls.adapter import TextCallingLLM
from paca.worker.assembly import AssembledTurn


def open_llm_of(turn: AssembledTurn) -> LLM:
    """The client of the agent's model, wrapped if its tool calls are written as text."""
    profile, api_key = turn.profile, turn.api_key
    llm = open_llm(
        profile.model, base_url=profile.base_url, api_key=api_key, limits=profile.time_limits
    )
    llm = masked(llm, api_key)
    return TextCallingLLM(llm) if profile.text_tool_calls else llm
