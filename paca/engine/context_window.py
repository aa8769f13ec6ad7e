"""Keeps the requests of a turn within the model's window, by leaving out old tool results."""

from __future__ import annotations

from paca import events
from paca.engine.context import trimming
from paca.engine.llm import providers
from paca.engine.llm.model_errors import ContextExceeded
from paca.engine.think import RecordedReply, think
from paca.engine.turn import ActiveTurn, TurnServices


async def think_within_window(turn: ActiveTurn, services: TurnServices) -> RecordedReply:
    """Ask the model. A history that does not fit is trimmed, before the call if the window is known.

    A refusal for its length is answered by one further call with a shorter history.

    Raises the last ``ModelError``; ``ContextExceeded`` if nothing more can be left out.
    """
    window = _window(turn, services)
    if window is not None and _is_too_long(turn, services, window):
        await _trim(turn, services, window)
    try:
        return await think(turn, services)
    except ContextExceeded as refusal:
        # guard: engine-trim-after-refusal
        if not await _trim(turn, services, refusal.window or window):
            raise
    return await think(turn, services)


def _window(turn: ActiveTurn, services: TurnServices) -> int | None:
    """The window in tokens: as the agent sets it, as the server told it, or as the model's is known."""
    profile = turn.profile
    model, learned = services.log.progress.window_of_model
    if learned and model == profile.model and not profile.context_window:
        return learned
    return known_window(profile.model, profile.base_url, profile.context_window)


def known_window(model: str, base_url: str, own: int | None) -> int | None:
    """The window of a model in tokens before its server was asked: the agent's ``own`` setting, or as known."""
    if own:
        return own
    return None if base_url else providers.models().get(model, {}).get("window")


def _is_too_long(turn: ActiveTurn, services: TurnServices, window: int) -> bool:
    """Whether the next request, with room for the answer, is surely longer than the window."""
    profile = turn.profile
    prompt = len(profile.system) // trimming.CHARACTERS_PER_TOKEN
    history = trimming.estimate_tokens(services.log.history.messages())
    return prompt + history + min(profile.max_tokens, window // 4) > window


async def _trim(turn: ActiveTurn, services: TurnServices, window: int | None) -> bool:
    """Leave out old results from now on; False if there are none that would free anything."""
    await services.log.commit()
    count = trimming.results_to_leave_out(services.log.history.closed, window=window)
    if count == 0:
        return False
    trimmed = events.ContextTrimmed(results=count, window=window, model=turn.profile.model)
    await services.log.commit(trimmed)
    return True
