"""Opens the models of the agent for a turn."""

from __future__ import annotations

import logging

from paca.engine.llm.base import LLM
from paca.engine.llm.key_mask import masked
from paca.engine.llm.model_errors import ModelMisconfigured
from paca.engine.llm.registry import open_llm
from paca.engine.llm.text_tool_calls.adapter import TextCallingLLM
from paca.worker.assembly import AssembledTurn

logger = logging.getLogger(__name__)


def open_llm_of(turn: AssembledTurn) -> LLM:
    """The client of the agent's model, wrapped if its tool calls are written as text."""
    llm = _open(turn, turn.profile.model)
    return TextCallingLLM(llm) if turn.profile.text_tool_calls else llm


def open_compaction_llm_of(turn: AssembledTurn) -> LLM | None:
    """The client of the model that writes summaries, with the agent's key and base URL.

    None if the agent's own model writes them, also if the other one cannot be opened.
    """
    model = turn.profile.compaction_model
    if not model:
        return None
    try:
        return _open(turn, model)
    except ModelMisconfigured as error:
        logger.warning("the model for summaries cannot be used", extra={"code": error.code})
        return None


def _open(turn: AssembledTurn, model: str) -> LLM:
    profile, api_key = turn.profile, turn.api_key
    llm = open_llm(model, base_url=profile.base_url, api_key=api_key, limits=profile.time_limits)
    return masked(llm, api_key)
