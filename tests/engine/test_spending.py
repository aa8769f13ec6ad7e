"""T-35: a cap in dollars holds whatever the calls come to, and every attempt is booked.

Streams that break, requests without an answer, summaries and titles count; a model without a price is refused.
"""

from dataclasses import replace

import pytest

from paca import events
from paca.engine import titles
from paca.engine.before_call import bound_of_request
from paca.engine.limits import TurnLimitReached, TurnLimits
from paca.engine.llm.base import Usage
from paca.engine.llm.http_pool import TimeLimits
from paca.engine.llm.model_errors import TimedOut
from paca.engine.side_call import ask_beside
from paca.engine.tools.registry import Toolbox
from paca.engine.turn import ActiveTurn, TurnServices
from tests.engine.world import World, any_command
from tests.support.model_script import calls, fails, says

pytestmark = pytest.mark.anyio
MODEL = "anthropic/claude-sonnet-4-5"  # 3 dollars a million tokens of input, 15 of output
CAP = 0.50
# These models bill more than a request holds: one call at most may pass the cap.
CALL = 0.09


def spender(*replies, limits=None, **profile) -> World:
    found = World(*replies, limits=limits or TurnLimits(steps=50, cost_usd=CAP), **profile)
    found.profile = replace(found.profile, model=profile.get("model", MODEL), max_tokens=1000)
    return found


def spent(world: World) -> float:
    return sum((each.cost_usd or each.estimated_usd) for each in world.find(events.UsageRecorded))


def booked(world: World) -> int:
    return len(world.find(events.UsageRecorded))


async def test_streams_that_break_cost_no_more_than_the_cap():
    """Each attempt bills 30,000 tokens of input, 9 cents; Continue after each outage spends on, up to the cap."""
    world = spender(*[fails("cut")] * 40)
    world.llm.usage = Usage(input=30_000)
    await world.ask("Go")
    assert world.status == "paused/model_unavailable"
    for _ in range(5):
        if world.status != "paused/cost_budget":
            await world.proceed()
    assert world.status == "paused/cost_budget"
    assert spent(world) < CAP + CALL
    assert booked(world) == len(world.llm.requests) == 6
    assert world.outcome is not None
    assert "Continue or a message gives it $0.50 more" in world.outcome.detail


async def test_requests_without_an_answer_count_with_what_they_may_have_cost():
    world = spender(*[TimedOut("No answer.")] * 40)
    await world.ask("Go " + "x" * 100_000)
    first = world.find(events.UsageRecorded)[0]
    assert (first.input, first.cost_usd) == (None, None)
    assert first.estimated_usd > 0.1
    for _ in range(40):
        if world.status != "paused/cost_budget":
            await world.proceed()
    assert world.status == "paused/cost_budget"
    assert CAP - 0.15 < spent(world) <= CAP
    assert booked(world) == len(world.llm.requests)


async def test_own_server_that_hangs_holds_what_it_was_sent_and_no_answer():
    limits = TurnLimits(steps=9, tokens=50_000)
    world = World(TimedOut("No answer."), limits=limits, max_tokens=8000)
    world.profile = replace(world.profile, time_limits=TimeLimits(own_server=True))
    await world.ask("x" * 4000)
    (used,) = world.find(events.UsageRecorded)
    sent = used.estimated_tokens
    assert 1000 < sent < 8000
    world = World(TimedOut("No answer."), limits=limits, max_tokens=8000)
    await world.ask("x" * 4000)
    (used,) = world.find(events.UsageRecorded)
    assert used.estimated_tokens == sent + 8000


async def test_model_without_a_price_is_refused_unless_its_tokens_are_capped():
    world = spender(says("never"), model="acme/unknown")
    await world.ask("Go")
    assert (world.status, world.llm.requests) == ("failed/configuration", [])
    capped = TurnLimits(steps=50, cost_usd=CAP, tokens=20_000)
    world = spender(
        *[calls(bash=f"ls {n}") for n in range(20)],
        limits=capped,
        model="acme/unknown",
        commands=any_command(),
    )
    world.llm.usage = Usage(input=5_000)
    await world.ask("Go", says("Summed up."))
    assert world.status == "paused/token_budget"
    used = world.find(events.UsageRecorded)
    assert sum(each.input for each in used) <= 20_000
    assert {each.cost_usd for each in used} == {None}  # unknown, and never 0


async def test_summaries_alone_stop_at_the_cap():
    """Only summaries cost here: each attempt 9 cents, and all of them break."""
    world = spender(*[fails("cut")] * 40, context_window=8_000)
    world.llm.usage = Usage(input=30_000)
    world.log.append(
        *(
            event
            for n in range(8)
            for event in (
                events.MessageReceived(text=f"Question {n}. " + "word " * 500),
                events.UsageRecorded(call_id=f"m{n}", model=MODEL, seen_seq=4 * n + 1, cost_usd=0),
                events.MessageSpoken(text="Well.", call_id=f"m{n}"),
                events.TurnFinished(number=n, status="finished", reason="answered"),
            )
        )
    )
    world.log.catch_up()
    await world.ask("And now?")
    for _ in range(8):
        if world.status != "paused/cost_budget":
            await world.proceed()
    assert world.status == "paused/cost_budget"
    purposes = {each.purpose for each in world.find(events.UsageRecorded)[8:]}
    assert "compaction" in purposes
    assert spent(world) < CAP + CALL
    assert booked(world) - 8 == len(world.llm.requests)


async def test_titles_alone_stop_at_the_cap():
    """A title takes its own small request from the budget, however long the conversation is."""
    world = spender(*[says("The week")] * 40)
    world.llm.usage = Usage(input=30_000)
    profile = replace(world.profile, retries=0)
    request = titles.title_request(MODEL, question="x" * 9000, answer="y")
    at_most = bound_of_request(profile, request)
    assert at_most.tokens < 3_000
    turn = ActiveTurn(profile, Toolbox(()))
    services = TurnServices(world.log, world.sandbox, world.llm)
    asked = {"llm": world.llm, "purpose": titles.PURPOSE, "at_most": at_most}
    for _ in range(6):
        await ask_beside(turn, services, request, **asked)
    with pytest.raises(TurnLimitReached):
        await ask_beside(turn, services, request, **asked)
    world.log.catch_up()
    assert spent(world) < CAP + CALL
    assert booked(world) == len(world.llm.requests) == 6
