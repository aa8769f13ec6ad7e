"""The contract of every adapter: strictness, accounting, errors, cancelling, and the key.

A new adapter joins by one line in ``ADAPTERS``; its dialect needs a module in ``tests/support``.
"""

import asyncio
import json
from contextlib import aclosing

import pytest

from paca.engine.llm import registry
from paca.engine.llm.base import Reply, StopReason, Text, TextDelta, ToolResult, UsageSeen
from paca.engine.llm.http_pool import new_pool
from paca.engine.llm.model_errors import ModelError, StreamBroken
from tests.engine.llm.conftest import PATIENT
from tests.engine.llm.request_builders import (
    assistant_message,
    chunks_of,
    reply_of,
    request_with,
    user_message,
)
from tests.support import anthropic_dialect, bedrock_dialect, cohere_dialect, openai_dialect
from tests.support.model_script import Raw, calls, fails, says, thinks

pytestmark = pytest.mark.anyio
KEY = "sk-test-very-secret"
# Model, path below the server's address, and the dialect of the scripted server.
ADAPTERS = {
    "openai": ("openai/gpt-test", "/v1", openai_dialect),
    "anthropic": ("anthropic/claude-test", "", anthropic_dialect),
    "azure": ("azure/gpt-test", "", openai_dialect),
    "bedrock": ("bedrock/us.anthropic.claude-test-v1:0", "", bedrock_dialect),
    "cohere": ("cohere_chat/command-test", "", cohere_dialect),
    "vertex": ("vertex_ai/gemini-test", "", openai_dialect),
    "vertex-claude": ("vertex_ai/claude-test", "", anthropic_dialect),
    "watsonx": ("watsonx/ibm/granite-test", "", openai_dialect),
}
# Clouds whose key is more than one value.
KEYS = {
    "vertex_ai": json.dumps({"access_token": KEY, "project_id": "test"}),
    "watsonx": json.dumps({"access_token": KEY, "project_id": "test"}),
}
RETRIED = ("429", "500", "503", "529", "reset", "cut", "midover", "midrate", "nostop", "html")
FINAL = ("401", "403", "404", "nocredit", "badrequest", "ctx", "redirect", "echokey")
WHOLE = says("Größe 🦙") + calls(bash="ls -l")


@pytest.fixture(params=ADAPTERS)
def adapter(request):
    return ADAPTERS[request.param]


@pytest.fixture
async def llm(server, adapter):
    model, path, _ = adapter
    async with new_pool() as http:
        address = f"{server.base_url}{path}"
        key = KEYS.get(model.partition("/")[0], KEY)
        yield registry.open_llm(model, base_url=address, api_key=key, limits=PATIENT, http=http)


async def test_adapter_streams_pieces_and_ends_with_the_whole_reply(server, llm):
    server.script([thinks("Easy.") + says("Hello there, how are you?").slowly(tps=2000)])
    chunks = await chunks_of(llm, request_with("Hi"))
    pieces = [chunk.text for chunk in chunks if isinstance(chunk, TextDelta)]
    assert len(pieces) > 2
    assert "".join(pieces) == chunks[-1].text
    assert isinstance(chunks[-1], Reply)
    assert chunks[-1].usage.input > 0
    assert any(isinstance(chunk, UsageSeen) for chunk in chunks)
    assert server.violations == []


async def test_adapter_sends_calls_and_results_back_in_the_servers_form(server, llm):
    server.script([says("I look.") + calls(bash=["ls", "pwd"]), says("Done.")])
    reply = await reply_of(llm, request_with("Look."))
    assert (reply.stop, [call.tool for call in reply.calls]) == (StopReason.TOOLS, ["bash"] * 2)
    results = [ToolResult(call.call_id, "out") for call in reply.calls]
    history = (user_message("Look."), assistant_message(*reply.blocks), user_message(*results))
    assert (await reply_of(llm, request_with(*history))).text == "Done."
    assert server.violations == []


async def test_adapter_gives_the_whole_reply_or_none_for_a_cut_stream(server, llm, adapter):
    whole = adapter[2].whole(WHOLE, grain=64)
    for at in range(0, len(whole) - 2, 97):
        server.script([Raw(whole[:at], end="reset")])
        with pytest.raises(StreamBroken):
            await reply_of(llm, request_with("Hi"))


@pytest.mark.parametrize(
    ("stop", "reason"),
    [("max_tokens", StopReason.OUTPUT_LIMIT), ("refusal", StopReason.REFUSED)],
)
async def test_adapter_drops_calls_of_a_cut_or_refused_reply(server, llm, stop, reason):
    server.script([(says("I begin.") + calls(bash="rm -r build")).stopping(stop)])
    reply = await reply_of(llm, request_with("Hi"))
    assert (reply.stop, reply.blocks) == (reason, (Text("I begin."),))


@pytest.mark.parametrize("kind", [*RETRIED, *FINAL])
async def test_adapter_turns_a_fault_into_one_model_error_without_the_key(server, llm, kind):
    server.script([fails(kind), says("Hello again.")])
    with pytest.raises(ModelError) as caught:
        await chunks_of(llm, request_with("Hi"))
    assert caught.value.retryable == (kind in RETRIED)
    assert len(caught.value.detail) > 20
    assert KEY not in f"{caught.value} {caught.value.detail}"
    assert len(server.requests) == 1
    assert (await reply_of(llm, request_with("Hi"))).text == "Hello again."
    assert server.violations == []


@pytest.mark.parametrize("kind", ["hang", "stall"])
async def test_adapter_closes_the_connection_of_a_cancelled_call(server, llm, kind):
    server.script([fails(kind)])
    task = asyncio.create_task(chunks_of(llm, request_with("Hi")))
    assert await asyncio.to_thread(server.wait_until_busy, 20.0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await asyncio.to_thread(server.wait_until_idle, 20.0)


async def test_adapter_closes_its_connection_with_the_iterator(server, llm):
    server.script([says("word " * 200).slowly(tps=50)])
    async with aclosing(llm.stream(request_with("Hi"))) as chunks:
        async for chunk in chunks:
            if isinstance(chunk, TextDelta):
                break
    assert await asyncio.to_thread(server.wait_until_idle, 20.0)
    assert server.closed_by_client == 1
