"""Tool calls as text: described in the prompt, parsed from the answer, and not streamed."""

import pytest

from paca.engine.llm.base import Reply, StopReason, Text, TextDelta, ToolResult, ToolUse
from paca.engine.llm.text_tool_calls.adapter import TextCallingLLM
from tests.engine.llm.request_builders import (
    assistant_message,
    chunks_of,
    request_with,
    user_message,
)
from tests.support.model_script import calls, says
from tests.support.scripted_llm import ScriptedLLM

pytestmark = pytest.mark.anyio
CALL = '```tool_call\n{"name": "bash", "arguments": {"command": "ls"}}\n```'


async def answered(text, **request):
    inner = ScriptedLLM([text if not isinstance(text, str) else says(text)])
    chunks = await chunks_of(TextCallingLLM(inner), request_with("Hi", **request))
    assert isinstance(chunks[-1], Reply)
    shown = "".join(chunk.text for chunk in chunks if isinstance(chunk, TextDelta))
    return chunks[-1], shown, inner.requests[0]


async def test_text_adapter_describes_tools_in_the_prompt():
    _, _, sent = await answered("Hello.")
    assert sent.tools == ()
    assert sent.system.startswith("Be brief.\n\n")
    assert "- bash: Run a command." in sent.system


async def test_text_adapter_turns_a_text_call_into_a_call_and_does_not_stream_it():
    reply, shown, _ = await answered(f"I look.\n\n{CALL}\n")
    assert (reply.text, reply.stop) == ("I look.", StopReason.TOOLS)
    assert [(call.tool, call.arguments) for call in reply.calls] == [("bash", {"command": "ls"})]
    assert shown.strip() == "I look."


async def test_text_adapter_streams_an_answer_without_calls_completely():
    text = f"They write\n{CALL}\nand it is run. See `x`"
    reply, shown, _ = await answered(text)
    assert (reply.text, reply.calls, shown) == (text, (), text)


async def test_text_adapter_drops_a_call_that_was_cut():
    reply, shown, _ = await answered(says(f"I look.\n{CALL[:-20]}").stopping("max_tokens"))
    assert (reply.stop, reply.calls) == (StopReason.OUTPUT_LIMIT, ())
    assert reply.text.strip() == shown.strip() == "I look."


async def test_text_adapter_leaves_a_reply_with_native_calls_unchanged():
    reply, _, _ = await answered(says(CALL) + calls(bash="pwd"))
    assert [call.arguments["command"] for call in reply.calls] == ["pwd"]


async def test_text_adapter_makes_no_call_if_calls_are_forbidden():
    reply, _, _ = await answered(f"Done.\n{CALL}", may_call=False)
    assert reply.calls == ()


async def test_text_adapter_sends_calls_and_results_back_as_text():
    use = ToolUse("c1", "bash", {"command": "ls"})
    history = (
        user_message("Hi"),
        assistant_message("I look.", use),
        user_message(ToolResult("c1", "a.txt"), "And?"),
    )
    inner = ScriptedLLM([says("One file.")])
    await chunks_of(TextCallingLLM(inner), request_with(*history))
    _, answer, results = inner.requests[0].messages
    assert answer.blocks == (Text("I look."), Text(CALL))
    assert results.blocks == (Text("[result of bash]\na.txt"), Text("And?"))
