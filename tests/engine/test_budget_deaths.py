"""A worker dies at each moment of a turn with a budget: every request is booked first, and no portion comes twice."""

import asyncio

import pytest

from paca import events
from paca.engine.limits import TurnLimits
from paca.engine.turn import ModelCallStarted
from tests.engine.world import World, any_command
from tests.support.model_script import calls, says

pytestmark = pytest.mark.anyio
CALL = 15  # tokens of each reply
PORTION = 3 * CALL
MOMENTS = range(0, 40, 2)


def working() -> World:
    def reply(request):
        return calls(bash="ls") if request.may_call else says("Summed up.")

    limits = TurnLimits(steps=50, tokens=PORTION)
    return World(*[reply] * 40, limits=limits, commands=any_command())


async def die_after(world: World, moments: int) -> None:
    """Let the worker live for so many moments, then another one carry the turn on."""
    for _ in range(moments):
        await asyncio.sleep(0)
    if world.can_lose_worker:
        await world.kill_worker()
        world.start_next_worker()
    await world.wait_until_idle()


def spent(world: World) -> int:
    return sum(each.input + each.output for each in world.find(events.UsageRecorded))


def started(world: World) -> list[str]:
    return [each.call_id for each in world.log.entries if isinstance(each, ModelCallStarted)]


@pytest.mark.parametrize("moments", MOMENTS)
async def test_no_request_is_sent_without_its_row_and_the_budget_holds(moments):
    """Before the row, between the row and the request, during the answer, before its booking."""
    world = working()
    world.send("Go")
    await die_after(world, moments)
    assert world.status == "paused/token_budget"
    assert len(started(world)) >= len(world.llm.requests)
    booked = {each.call_id for each in world.find(events.UsageRecorded)}
    assert booked <= set(started(world))
    assert len(set(started(world)) - booked) <= 1  # the call of the dead worker, whose row stays
    assert spent(world) <= PORTION


@pytest.mark.parametrize("moments", MOMENTS)
async def test_death_after_continue_gives_one_portion_and_not_two(moments):
    world = working()
    await world.ask("Go")
    before = spent(world)
    assert before <= PORTION
    world.start()
    await die_after(world, moments)
    assert world.status == "paused/token_budget"
    assert spent(world) - before <= PORTION
    assert len(world.find(events.TurnStarted)) == 2
