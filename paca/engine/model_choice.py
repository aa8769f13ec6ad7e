"""Which model answers next: the agent's own, the one of the messages' effort, or the fallback.

The choice follows from the log and the agent's settings alone.
"""

from __future__ import annotations

from dataclasses import replace

from paca.engine.model_state import ModelChoice
from paca.engine.turn import ActiveTurn, TurnServices


class ModelChoiceChanged(Exception):
    """Another model has to answer: a message that was read with the start of the call asks for it."""


def choice_for(turn: ActiveTurn, services: TurnServices) -> ModelChoice:
    """The choice by the log as it is now."""
    state = services.log.progress.models
    owner = turn.key_owner
    # guard: key-of-a-person-is-for-that-person
    shared_key = bool(owner) and state.has_other_author(owner)
    return ModelChoice(
        effort=state.effort,
        fallback=bool(state.fallback_since) and bool(turn.profile.fallback_model),
        shared_key=shared_key,
    )


def apply_choice(turn: ActiveTurn, services: TurnServices) -> bool:
    """Let the chosen model answer from here on; True if it is another one than before.

    Raises ``ModelMisconfigured`` if its settings cannot work.
    """
    choice = choice_for(turn, services)
    if choice == turn.choice or services.open_model is None:
        return False
    opened = services.open_model(choice)
    turn.choice, turn.llm, turn.compaction_llm = choice, opened.llm, opened.compaction_llm
    # The limits are those of the last reading, which are newer than the ones of the start of the turn.
    turn.profile = replace(opened.profile, limits=turn.profile.limits)
    return True


def require_choice(turn: ActiveTurn, services: TurnServices) -> None:
    """Raise ``ModelChoiceChanged`` if a message that was just read asks for another model."""
    # guard: effort-of-a-message-read-with-the-call
    if services.open_model is not None and choice_for(turn, services) != turn.choice:
        raise ModelChoiceChanged
