"""A conversation that is longer than the model's window: it is shortened, and never a dead end."""

import pytest

from paca import events
from paca.engine.context import trimming
from paca.engine.llm.base import Message, Text, ToolResult, ToolUse
from paca.engine.llm.model_errors import ContextExceeded
from tests.engine.world import World
from tests.support.model_script import calls, says

pytestmark = pytest.mark.anyio
LONG = "x" * 5000
REFUSAL = ContextExceeded("This model's maximum context length is 8192 tokens.")
STEPS = [calls(bash=f"ls {n}") for n in range(6)]
COMMANDS = {f"ls {n}": LONG for n in range(6)}


def history(*lengths: int) -> tuple[Message, ...]:
    messages = [Message("user", (Text("Go"),))]
    for number, length in enumerate(lengths):
        messages.append(Message("assistant", (ToolUse(str(number), "bash", {}),)))
        messages.append(Message("user", (ToolResult(str(number), "x" * length),)))
    return tuple(messages)


async def test_refused_length_leaves_out_old_results_and_asks_once_more():
    world = World(*STEPS, REFUSAL, says("Done."), commands=COMMANDS)
    await world.ask("Go")
    assert (world.status, world.answers) == ("finished/answered", ["Done."])
    (trimmed,) = world.find(events.ContextTrimmed)
    assert trimmed.window == 8192
    before, after = world.llm.requests[-2:]
    outputs = [b.output for m in after.messages for b in m.blocks if isinstance(b, ToolResult)]
    assert "was left out" in outputs[0]
    assert "5,0" in outputs[0]  # the length, so that the model knows what it was
    assert outputs[-1].startswith(LONG[:100])
    assert trimming.estimate_tokens(after.messages) < trimming.estimate_tokens(before.messages)


async def test_left_out_results_stay_so_in_later_requests():
    world = World(*STEPS, REFUSAL, says("Done."), commands=COMMANDS)
    await world.ask("Go")
    shortened = world.llm.requests[-1].messages
    await world.ask("And now?", says("Well."))
    assert world.llm.requests[-1].messages[: len(shortened) - 1] == shortened[:-1]


async def test_known_window_is_kept_before_the_call():
    world = World(*STEPS, says("Done."), commands=COMMANDS, context_window=13_500)
    await world.ask("Go")
    assert world.status == "finished/answered"
    assert world.find(events.ContextTrimmed)
    assert max(trimming.estimate_tokens(r.messages) for r in world.llm.requests) < 13_500


async def test_conversation_that_does_not_fit_pauses_and_names_the_ways_on():
    world = World(REFUSAL)
    await world.ask("A long message")
    assert world.status == "paused/context_full"
    for way in ("shorter message", "larger window", "new conversation", "8192"):
        assert way in world.outcome.detail


async def test_conversation_that_did_not_fit_goes_on_with_another_model():
    world = World(REFUSAL)
    await world.ask("A long message")
    await world.ask("Go on", says("Hello."))
    assert world.status == "finished/answered"


def test_trimming_keeps_the_newest_step_and_short_results():
    assert trimming.results_to_leave_out(history(5000), window=None) == 0
    assert trimming.results_to_leave_out(history(10, 20, 30), window=None) == 0
    assert trimming.results_to_leave_out(history(5000, 5000), window=100) == 1
    trimmed = trimming.leave_out(history(10, 5000, 5000), 2)
    outputs = [b.output for m in trimmed for b in m.blocks if isinstance(b, ToolResult)]
    assert (outputs[0], "left out" in outputs[1], len(outputs[2])) == ("x" * 10, True, 5000)


def test_trimming_twice_is_the_same_as_once():
    once = trimming.leave_out(history(5000, 5000, 5000), 2)
    assert trimming.leave_out(once, 2) == once


@pytest.mark.parametrize(
    ("words", "window"),
    [
        ("This model's maximum context length is 8,192 tokens. You requested 9000.", 8192),
        ("prompt is too long: 212032 tokens > 200000 maximum", 200_000),
        ("The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).", 1_048_576),
        ("the request exceeds the available context size (4096 tokens)", 4096),
        ("input is too long", None),
    ],
)  # fmt: skip
def test_window_is_learned_from_the_words_of_the_refusal(words, window):
    assert ContextExceeded(words).window == window
