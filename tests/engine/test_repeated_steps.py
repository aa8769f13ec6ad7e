"""The loop with its guard: a model that repeats the same step is warned once and then paused."""

import itertools

import pytest

from paca import events
from paca.engine.workspace import CommandOutcome
from tests.engine.world import World, any_command, tool_steps
from tests.support.model_script import Call, Scripted, calls, says

pytestmark = pytest.mark.anyio

MAX_MODEL_CALLS = 8
LS = {"ls": "a.txt\n", "ls -a": ". ..\n"}


def repeating(*replies: Scripted, commands: dict | None = None) -> World:
    """A world whose model gives these replies again and again."""
    cycle = itertools.cycle(replies)
    return World(*[lambda request: next(cycle)] * 200, commands=commands or LS)


async def test_loop_warns_of_the_same_call_with_the_same_result_once_and_then_pauses():
    world = repeating(calls(bash="ls"))
    await world.ask("Go")
    assert world.status == "paused/stuck"
    assert len(world.llm.requests) == 5
    (noticed,) = world.find(events.GuardNoticed)
    assert (noticed.guard, noticed.note[:24]) == ("repeated_step", "You called bash 3 times ")
    warned = [noticed.note in str(asked.messages[-1]) for asked in world.llm.requests]
    assert warned == [False, False, False, True, False]
    assert world.outcome is not None
    assert world.outcome.detail.startswith("The agent called bash 5 times")


async def test_loop_carries_on_after_a_message_with_the_history_and_counts_anew():
    """T-27."""
    world = repeating(calls(bash="ls"))
    await world.ask("Go")
    world.llm.replies = [calls(bash="ls"), calls(bash="ls"), calls(bash="ls -a"), says("Found it.")]
    await world.ask("Try another way")
    assert (world.status, world.answers[-1]) == ("finished/answered", "Found it.")
    assert len(world.find(events.GuardNoticed)) == 1
    shown = str(world.llm.requests[-1].messages)
    assert shown.count("exit 0") == 8  # of both turns, nothing left out
    assert shown.index("You called bash 3 times") < shown.index("Try another way")


async def test_loop_counts_anew_after_continue():
    world = repeating(calls(bash="ls"))
    await world.ask("Go")
    await world.proceed()
    assert world.status == "paused/stuck"
    assert len(world.find(events.ToolCalled)) == 10
    assert len(world.find(events.GuardNoticed)) == 2


async def test_loop_counts_anew_after_a_message_in_the_same_turn():
    def third_time(request: object) -> Scripted:
        if len(world.llm.requests) == 4:
            world.send("Go on with that")
        return calls(bash="ls")

    world = World(*[third_time] * 200, commands=LS)
    await world.ask("Go")
    assert world.status == "paused/stuck"
    since = world.event_types[world.event_types.index("message.received", 1) :]
    assert since.count("tool.called") == 5


def _growing() -> dict:
    lines = itertools.count(1)
    return {"poll": lambda command: CommandOutcome(0, f"{next(lines)} n\n", 0.1)}


async def test_loop_leaves_a_model_alone_that_polls_a_changing_result():
    world = World(*[calls(bash="poll")] * 9, says("Done."), commands=_growing())
    await world.ask("Go")
    assert (world.status, world.find(events.GuardNoticed)) == ("finished/answered", [])


async def test_loop_leaves_equal_calls_in_one_step_alone():
    world = World(*[calls(bash=["ls"] * 3)] * 2, says("Done."), commands=LS)
    await world.ask("Go")
    assert (world.status, world.find(events.GuardNoticed)) == ("finished/answered", [])


async def test_loop_leaves_different_commands_with_the_same_output_alone():
    world = World(*tool_steps(9), says("Done."), commands=any_command())
    await world.ask("Go")
    assert (world.status, world.find(events.GuardNoticed)) == ("finished/answered", [])


async def test_loop_pauses_two_steps_in_turn_that_change_nothing():
    world = repeating(calls(bash="ls"), calls(list_directory="."))
    await world.ask("Go")
    assert world.status == "paused/stuck"
    assert len(world.find(events.GuardNoticed)) == 1
    assert len(world.llm.requests) == MAX_MODEL_CALLS


@pytest.mark.parametrize(
    "wrong", [Call("bash", {"kommand": 7}), Call("no_such_tool", {"command": "ls"})]
)
async def test_loop_counts_a_call_that_cannot_run_as_a_step(wrong):
    world = repeating(Scripted((wrong,)))
    await world.ask("Go")
    assert world.status == "paused/stuck"
    assert len(world.llm.requests) == 5


async def test_loop_of_the_next_worker_counts_on():
    world = repeating(calls(bash="ls"))
    world.send("Go")
    for results in (2, 4):
        await world.wait_until(lambda results=results: len(world.results) >= results)
        await world.kill_worker()
        world.start_next_worker()
    await world.wait_until_idle()
    assert world.status == "paused/stuck"
    assert len(world.find(events.ToolCalled)) == 5
    assert len(world.find(events.GuardNoticed)) == 1
