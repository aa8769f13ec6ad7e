"""Goes on with the agent's fallback model where its own fails before it has shown anything.

The usage of the failed attempts and the switch are stored in one transaction, before the fallback is asked. A worker
that dies before it leaves a turn whose next worker asks the own model again; after it the next worker asks the fallback.
"""

from __future__ import annotations

import logging
import time
from dataclasses import replace

from paca import events
from paca.engine import limits
from paca.engine.before_call import limit_before_call
from paca.engine.context_window import think_within_window
from paca.engine.limits import TurnLimits
from paca.engine.llm.base import Usage
from paca.engine.llm.model_errors import (
    ContextExceeded,
    EmptyReply,
    ModelError,
    ModelLoading,
    ModelMisconfigured,
    Overloaded,
    RateLimited,
    StreamBroken,
    TimedOut,
    Unreachable,
)
from paca.engine.llm.prices import cost_usd
from paca.engine.model_choice import ModelChoiceChanged, apply_choice
from paca.engine.think import RecordedReply
from paca.engine.turn import ActiveTurn, AgentProfile, TurnServices

logger = logging.getLogger(__name__)

# For so long after a switch the own model is asked once a turn, without repeats.
UNSURE_SECONDS = 600.0
# The codes of errors that pass with time.
PASSING = {
    each.code
    for each in (
        RateLimited,
        Overloaded,
        ModelLoading,
        StreamBroken,
        Unreachable,
        EmptyReply,
        TimedOut,
    )
}
NO_PRICE = "The price of {} is not known here, so the agent's limit in dollars cannot be kept."


async def think_with_fallback(turn: ActiveTurn, services: TurnServices) -> RecordedReply:
    """Ask the model that is chosen. If it fails before it has shown anything, the fallback is asked in its place.

    Raises ``TurnLimitReached`` if a limit forbids a call, ``ModelMisconfigured`` if a message asks for a model with
    which the agent's limit in dollars cannot be kept, and the last ``ModelError``, with the causes of both models.
    """
    while True:
        try:
            return await think_within_window(turn, services)
        except ModelChoiceChanged:
            apply_choice(turn, services)
        except ModelError as error:
            await _switch(error, turn, services)
        # Another model has another price, and the failed attempts may have used something.
        # guard: fallback-reserves-anew
        if reached := await limit_before_call(turn, services):
            raise limits.TurnLimitReached(reached)
        # guard: effort-of-unknown-price
        if has_no_price(turn.profile, turn.profile.limits):
            raise ModelMisconfigured(NO_PRICE.format(turn.profile.model))


async def _switch(error: ModelError, turn: ActiveTurn, services: TurnServices) -> None:
    """Let the fallback answer from here on. Raises the error, with both causes, if it may not or has failed too."""
    # guard: fallback-never-after-a-shown-token
    if not turn.profile.fallback_model or isinstance(error, ContextExceeded) or turn.shown:
        raise error
    state, first = services.log.progress.models, turn.profile.model
    if turn.choice.fallback:
        raise _both(state.fallback_since, state.fallback_code, error, turn.profile) from error
    assert services.open_model is not None
    try:
        fallback = services.open_model(replace(turn.choice, fallback=True)).profile
        if has_no_price(fallback, turn.profile.limits):
            raise ModelMisconfigured(NO_PRICE.format(fallback.model))
    except ModelMisconfigured as second:
        raise _both(error.detail, error.code, second, turn.profile) from error
    logger.warning("the fallback model goes on", extra={"model": first, "code": error.code})
    switched = events.ModelSwitched(
        from_model=first,
        to_model=fallback.model,
        cause=error.detail,
        code=error.code,
        until=time.time() + UNSURE_SECONDS,
    )
    await services.log.commit(switched)
    apply_choice(turn, services)


def has_no_price(profile: AgentProfile, limits: TurnLimits) -> bool:
    """Whether a limit in dollars alone could not be kept with this model."""
    # guard: engine-unknown-price
    if profile.demo or not limits.has_own_dollars or limits.has_tokens:
        return False
    # guard: fallback-of-unknown-price
    return cost_usd(profile.model, Usage(), base_url=profile.base_url) is None


def _both(cause: str, code: str, error: ModelError, profile: AgentProfile) -> ModelError:
    """The error of the fallback with the causes of both models. Time may help if it may help one of them."""
    told = f"{cause} The fallback, {profile.fallback_model}, does not answer either: {error.detail}"
    # guard: fallback-time-may-help-the-first-model
    if code in PASSING and not error.retryable:
        return (RateLimited if code == RateLimited.code else Unreachable)(told)
    return error.without_said(told)
