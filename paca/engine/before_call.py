"""What is asked before each model call: the limits, and what the call may take of the budgets at most."""

from __future__ import annotations

from dataclasses import replace

from paca.engine.budgets import Amounts
from paca.engine.context.measuring import CHARACTERS_PER_TOKEN
from paca.engine.context.trimming import estimate_tokens
from paca.engine.limits import ReachedLimit, reached_limit
from paca.engine.llm.base import Request, Usage
from paca.engine.llm.prices import cost_usd
from paca.engine.request_size import request_size_of
from paca.engine.turn import ActiveTurn, AgentProfile, TurnServices

# Of the part of a request that no provider has counted yet: it has at most this many tokens for each estimated one,
# but for rare scripts.
ERROR = 1.25


async def limit_before_call(
    turn: ActiveTurn,
    services: TurnServices,
    *,
    is_first: bool = False,
    model: str = "",
    at_most: Amounts | None = None,
) -> ReachedLimit | None:
    """The limit that forbids the next attempt to ask the model. A changed limit counts from here on.

    ``model`` is asked in place of the agent's, if it is given. ``is_first``: it is the first attempt of the turn,
    whose limits were read a moment ago. ``at_most`` is what a call takes that does not send the history. What others have used of shared budgets is read each time.
    """
    # guard: engine-limits-are-read-again
    if services.read_limits is not None and (not is_first or turn.profile.limits.shared):
        turn.profile = replace(turn.profile, limits=await services.read_limits())
    # guard: effort-has-a-step-limit-of-its-own
    if steps := turn.profile.effort_steps:
        turn.profile = replace(turn.profile, limits=replace(turn.profile.limits, steps=steps))
    limits = turn.profile.limits
    if limits.has_budgets:
        await services.log.commit()  # the newest results are part of the next request
        if at_most is None:
            at_most = bound_of_next_call(turn, services, model=model)
        turn.next_call = at_most
    turn.budgets_of_lead = limits.budgets_of_lead(services.log.progress)
    return reached_limit(services.log.progress, limits, turn.seconds, turn.next_call)


def bound_of_next_call(turn: ActiveTurn, services: TurnServices, *, model: str = "") -> Amounts:
    """What the next request may take at most: with the committed history, and an answer as long as it may be.

    ``model`` is asked in place of the agent's, if it is given.

    Nothing of the request is taken for cached. A message that comes after this is not counted. Dollars are 0 if the
    price is unknown.
    """
    profile, history = turn.profile, services.log.history
    counted = history.measured.tokens
    estimated = request_size_of(turn, history).used - counted
    sent = counted + int(max(0, estimated) * ERROR)
    answer = most_answered(profile)
    return Amounts(sent + answer, _most_dollars(profile, model or profile.model, sent, answer))


def most_answered(profile: AgentProfile) -> int:
    """The tokens that an answer may have at most, with its reasoning."""
    thinking: int = profile.parameters.get("thinking_budget") or 0
    return profile.max_tokens + thinking


def bound_of_request(profile: AgentProfile, request: Request) -> Amounts:
    """What a request may take at most that is no part of the conversation: with an answer as long as it may be."""
    characters = len(request.system) + CHARACTERS_PER_TOKEN * estimate_tokens(request.messages)
    sent = int(characters / CHARACTERS_PER_TOKEN * ERROR) + 1
    dollars = _most_dollars(profile, request.model, sent, request.max_tokens)
    return Amounts(sent + request.max_tokens, dollars)


def _most_dollars(profile: AgentProfile, model: str, sent: int, answer: int) -> float:
    """The dollars if all of the request is new to the provider, or all of it is written to its cache."""
    if profile.demo:
        return 0.0
    usages = (Usage(input=sent, output=answer), Usage(cache_write=sent, output=answer))
    costs = (cost_usd(model, each, base_url=profile.base_url) for each in usages)
    return max((cost for cost in costs if cost is not None), default=0.0)
