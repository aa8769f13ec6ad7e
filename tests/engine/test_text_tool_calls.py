"""The loop with tool calls that the model writes into its text."""

import pytest

from paca import events
from tests.engine.world import World
from tests.support.model_script import calls, says

pytestmark = pytest.mark.anyio

CALL = '{"name": "bash", "arguments": {"command": "count"}}'
FENCED = f"I count.\n\n```json\n{CALL}\n```"
TAGGED = f"I count.\n\n<tool_call>{CALL}</tool_call>"
EXPLAINED = f"A model would write\n```json\n{CALL}\n```\nand a program runs it."
COMMANDS = {"count": "1\n", "ls": "a.txt\n"}


@pytest.mark.parametrize("text", [FENCED, TAGGED])
async def test_text_call_is_run_once_if_the_agent_has_them_switched_on(text):
    world = World(says(text), says("It is 1."), commands=COMMANDS, text_tool_calls=True)
    await world.ask("Count")
    assert world.answers == ["I count.", "It is 1."]
    (output,) = world.outputs
    assert output.startswith("1")
    assert world.commands == ["count"]
    first, second = world.llm.requests
    assert first.tools == ()
    assert "- bash: " in first.system
    assert "[result of bash]" in str(second.messages[-1])


async def test_text_call_in_an_explanation_is_not_run():
    world = World(says(EXPLAINED), commands=COMMANDS, text_tool_calls=True)
    await world.ask("How?")
    assert (world.status, world.answers, world.commands) == ("finished/answered", [EXPLAINED], [])


@pytest.mark.parametrize("text", [FENCED, TAGGED])
async def test_text_call_is_corrected_once_if_switched_off_and_never_run(text):
    world = World(says(text), says(text), commands=COMMANDS)
    await world.ask("Count")
    assert world.commands == []
    (noticed,) = world.find(events.GuardNoticed)
    assert (noticed.guard, "nothing was run" in noticed.note) == ("text_tool_call", True)
    assert "nothing was run" in world.last_request()
    assert world.status == "finished/answered"
    assert len(world.llm.requests) == 2


async def test_text_call_is_corrected_once_a_turn_also_after_a_real_call():
    world = World(says(FENCED), calls(bash="ls"), says(FENCED), commands=COMMANDS)
    await world.ask("Go")
    assert world.status == "finished/answered"
    assert len(world.find(events.GuardNoticed)) == 1
    assert world.commands == ["ls"]
    await world.ask("Again", says(FENCED), says("Sorry."))
    assert len(world.find(events.GuardNoticed)) == 2


async def test_text_call_in_an_explanation_is_not_corrected():
    world = World(says(EXPLAINED), commands=COMMANDS)
    await world.ask("How?")
    assert (world.answers, world.find(events.GuardNoticed)) == ([EXPLAINED], [])


async def test_text_call_that_cannot_be_read_is_reported_to_the_model():
    replies = [says("<tool_call>{bash: ls}</tool_call>"), says(TAGGED), says("1.")]
    world = World(*replies, commands=COMMANDS, text_tool_calls=True)
    await world.ask("Count")
    assert world.commands == ["count"]
    assert "could not be read" in str(world.llm.requests[1].messages[-1])
