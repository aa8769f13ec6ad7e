"""The loop with replies that hold no answer, or calls that cannot be read."""

import pytest

from paca import events
from paca.engine.llm.openai.stream import ReplyAssembler
from tests.engine.world import World
from tests.support.model_script import Call, Scripted, calls, says, thinks

pytestmark = pytest.mark.anyio
CUT = Scripted((Call("bash", {}, raw='{"command": "rm -r'),))


async def test_unreadable_call_is_not_run_and_its_schema_is_told():
    world = World(CUT, calls(bash="ls"), says("Done."), commands={"ls": "a.txt\n"})
    await world.ask("Go")
    assert (world.status, world.commands) == ("finished/answered", ["ls"])
    first = world.results[0]
    assert (first.failed, first.cause) == (True, "invalid")
    assert '"command"' in first.output
    assert '{"command": "rm -r' in first.output  # its own words


async def test_unreadable_call_of_an_unknown_tool_is_told_the_known_ones():
    world = World(Scripted((Call("bahs", {}, raw="{"),)), says("Done."))
    await world.ask("Go")
    assert "Did you mean bash?" in world.outputs[0]


async def test_unreadable_calls_pause_the_turn_by_name_after_three_in_a_row():
    world = World(CUT, CUT, CUT)
    await world.ask("Go")
    assert world.status == "paused/stuck"
    assert "arguments of bash 3 times in a row" in world.outcome.detail
    await world.ask("Try again", CUT, calls(bash="ls"), CUT, CUT, says("Hm."))
    assert world.status == "finished/answered"


async def test_reply_of_nothing_but_reasoning_is_asked_for_its_answer_once():
    world = World(thinks("It is 4."), says("4."))
    await world.ask("2+2?")
    assert (world.status, world.answers) == ("finished/answered", ["4."])
    assert "Write the answer now" in world.last_request()


async def test_reply_of_nothing_but_reasoning_is_shown_the_second_time():
    world = World(thinks("It is 4."), thinks("Still 4."))
    await world.ask("2+2?")
    assert (world.status, world.answers) == ("finished/answered", ["Still 4."])
    (noticed,) = world.find(events.ModelNoticed)
    assert noticed.code == "only_reasoning"


@pytest.mark.parametrize(("read", "codes"), [(2048, ["request_read_in_part"]), (22_000, [])])
def test_usage_far_below_the_length_of_the_request_is_noticed(read, codes):
    assembler = ReplyAssembler(102_000)
    choice = {"index": 0, "delta": {"content": "Hm."}, "finish_reason": "stop"}
    assembler.take({"choices": [choice], "usage": {"prompt_tokens": read, "completion_tokens": 2}})
    assert [notice.code for notice in assembler.finish().notices] == codes
