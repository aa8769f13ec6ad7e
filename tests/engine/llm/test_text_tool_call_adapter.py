"""Tools for a model that has none: described in words, called in words, and shown to nobody."""

import pytest

from paca.engine.llm.base import Reply, StopReason, Text, TextDelta, ToolResult, ToolUse
from paca.engine.llm.text_tool_calls.adapter import TextCallingLLM
from tests.engine.llm.request_builders import asks, assistant, chunks_of, user
from tests.support.model_script import calls, says
from tests.support.scripted_llm import ScriptedLLM

pytestmark = pytest.mark.anyio
CALL = '```tool_call\n{"name": "bash", "arguments": {"command": "ls"}}\n```'


async def answered(text, **request):
    inner = ScriptedLLM([text if not isinstance(text, str) else says(text)])
    chunks = await chunks_of(TextCallingLLM(inner), asks("Hi", **request))
    assert isinstance(chunks[-1], Reply)
    shown = "".join(chunk.text for chunk in chunks if isinstance(chunk, TextDelta))
    return chunks[-1], shown, inner.requests[0]


async def test_tools_are_described_in_the_prompt_and_not_offered():
    _, _, sent = await answered("Hello.")
    assert sent.tools == ()
    assert sent.system.startswith("Be brief.\n\n")
    assert "- bash: Run a command." in sent.system


async def test_a_written_call_becomes_a_call_and_is_not_shown():
    reply, shown, _ = await answered(f"I look.\n\n{CALL}\n")
    assert (reply.text, reply.stop) == ("I look.", StopReason.TOOLS)
    assert [(call.tool, call.arguments) for call in reply.calls] == [("bash", {"command": "ls"})]
    assert shown.strip() == "I look."


async def test_an_answer_is_shown_whole():
    text = f"They write\n{CALL}\nand it is run. See `x`"
    reply, shown, _ = await answered(text)
    assert (reply.text, reply.calls, shown) == (text, (), text)


async def test_a_call_that_was_cut_is_neither_run_nor_kept():
    reply, shown, _ = await answered(says(f"I look.\n{CALL[:-20]}").stopping("max_tokens"))
    assert (reply.stop, reply.calls) == (StopReason.OUTPUT_LIMIT, ())
    assert reply.text.strip() == shown.strip() == "I look."


async def test_calls_that_the_model_makes_itself_are_not_mixed_with_written_ones():
    reply, _, _ = await answered(says(CALL) + calls(bash="pwd"))
    assert [call.arguments["command"] for call in reply.calls] == ["pwd"]


async def test_where_no_call_is_allowed_none_is_made():
    reply, _, _ = await answered(f"Done.\n{CALL}", may_call=False)
    assert reply.calls == ()


async def test_calls_and_results_go_back_as_words():
    use = ToolUse("c1", "bash", {"command": "ls"})
    history = (user("Hi"), assistant("I look.", use), user(ToolResult("c1", "a.txt"), "And?"))
    inner = ScriptedLLM([says("One file.")])
    await chunks_of(TextCallingLLM(inner), asks(*history))
    _, said, results = inner.requests[0].messages
    assert said.blocks == (Text("I look."), Text(CALL))
    assert results.blocks == (Text("[result of bash]\na.txt"), Text("And?"))
