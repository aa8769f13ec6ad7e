"""Trap 40: all forms in which servers stream tool calls, over real HTTP.

A case is a name, the stream as it comes over the wire, and what must come of it: the calls with
their arguments, or nothing at all. Never a part of a call.
"""

import json
from typing import Any

import pytest

from paca.engine.llm import registry
from paca.engine.llm.base import StopReason
from paca.engine.llm.http_pool import new_pool
from paca.engine.llm.model_errors import ModelError
from tests.engine.llm.request_builders import reply_of, request_with
from tests.support.model_script import Raw

pytestmark = pytest.mark.anyio

DONE = b"data: [DONE]\n\n"
LS = {"command": "ls"}
PWD = {"command": "pwd"}
ONE = [("bash", LS)]
TWO = [("bash", LS), ("bash", PWD)]


def sse(*events: Any, end: bytes = DONE) -> bytes:
    return b"".join(f"data: {json.dumps(event)}\n\n".encode() for event in events) + end


def delta(finish: str | None = None, **facts: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": facts, "finish_reason": finish}]}


def piece(arguments: Any = None, name: str | None = None, **marks: Any) -> dict[str, Any]:
    """One entry of ``tool_calls``, without the fields that are None."""
    function = {"name": name, "arguments": arguments}
    return {**marks, "function": {k: v for k, v in function.items() if v is not None}}


def pieces(*found: dict[str, Any]) -> list[dict[str, Any]]:
    return [delta(tool_calls=[one]) for one in found]


STOP = delta("tool_calls")
WHOLE = json.dumps(LS)

SHAPES: dict[str, tuple[bytes, list[tuple[str, dict[str, Any]]]]] = {
    "as documented": (
        sse(*pieces(piece("", "bash", index=0, id="a", type="function"), piece('{"comm', index=0), piece('and": "ls"}', index=0)), STOP),
        ONE,
    ),
    "one piece": (sse(*pieces(piece(WHOLE, "bash", index=0, id="a")), STOP), ONE),
    "one piece with its finish": (sse(delta("tool_calls", tool_calls=[piece(WHOLE, "bash", index=0, id="a")])), ONE),
    "no index": (sse(*pieces(piece('{"command"', "bash", id="a"), piece(': "ls"}')), STOP), ONE),
    "no index, id on each piece": (sse(*pieces(piece('{"command"', "bash", id="a"), piece(': "ls"}', id="a")), STOP), ONE),
    "no index, no id": (sse(*pieces(piece('{"command"', "bash"), piece(': "ls"}')), STOP), ONE),
    "index null": (sse(*pieces(piece('{"command"', "bash", index=None, id="a"), piece(': "ls"}', index=None)), STOP), ONE),
    "index from 1": (sse(*pieces(piece(WHOLE, "bash", index=1, id="a")), STOP), ONE),
    "id repeated": (sse(*pieces(piece('{"command"', "bash", index=0, id="a"), piece(': "ls"}', index=0, id="a")), STOP), ONE),
    "id empty later": (sse(*pieces(piece('{"command"', "bash", index=0, id="a"), piece(': "ls"}', index=0, id="")), STOP), ONE),
    "id null": (sse(*pieces(piece(WHOLE, "bash", index=0, id=None)), STOP), ONE),
    "id late": (sse(*pieces(piece('{"command"', "bash", index=0), piece(': "ls"}', index=0, id="a")), STOP), ONE),
    "no arguments": (sse(*pieces(piece(None, "bash", index=0, id="a")), STOP), [("bash", {})]),
    "empty arguments": (sse(*pieces(piece("", "bash", index=0, id="a")), STOP), [("bash", {})]),
    "arguments null": (sse(delta(tool_calls=[{"index": 0, "id": "a", "function": {"name": "bash", "arguments": None}}]), STOP), [("bash", {})]),
    "arguments the word null": (sse(*pieces(piece("null", "bash", index=0, id="a")), STOP), [("bash", {})]),
    "arguments an object": (sse(*pieces(piece(LS, "bash", index=0, id="a")), STOP), ONE),
    "arguments an empty object": (sse(*pieces(piece({}, "bash", index=0, id="a")), STOP), [("bash", {})]),
    "arguments an object, twice": (sse(*pieces(piece(LS, "bash", index=0, id="a"), piece(LS, index=0)), STOP), ONE),
    "arguments byte by byte": (sse(*pieces(piece("", "bash", index=0, id="a"), *(piece(c, index=0) for c in WHOLE)), STOP), ONE),
    "name in two pieces": (sse(*pieces(piece(None, "ba", index=0, id="a"), piece(None, "sh", index=0), piece(WHOLE, index=0)), STOP), ONE),
    "name on each piece": (sse(*pieces(piece('{"command"', "bash", index=0, id="a"), piece(': "ls"}', "bash", index=0)), STOP), ONE),
    "name empty later": (sse(*pieces(piece('{"command"', "bash", index=0, id="a"), piece(': "ls"}', "", index=0)), STOP), ONE),
    "two calls, one after the other": (
        sse(*pieces(piece(WHOLE, "bash", index=0, id="a"), piece(json.dumps(PWD), "bash", index=1, id="b")), STOP), TWO,
    ),
    "two calls in one delta": (sse(delta(tool_calls=[piece(LS, "bash", index=0, id="a"), piece(PWD, "bash", index=1, id="b")]), STOP), TWO),
    "two calls interleaved": (
        sse(
            *pieces(
                piece("", "bash", index=0, id="a"), piece("", "bash", index=1, id="b"),
                piece('{"command": "l', index=0), piece('{"command": "pw', index=1),
                piece('s"}', index=0), piece('d"}', index=1),
            ),
            STOP,
        ),
        TWO,
    ),
    "two calls interleaved by id alone": (
        sse(
            *pieces(
                piece('{"command": "l', "bash", id="a"), piece('{"command": "pw', "bash", id="b"),
                piece('s"}', id="a"), piece('d"}', id="b"),
            ),
            STOP,
        ),
        TWO,
    ),
    "two calls, index 0 for both, ids differ": (
        sse(*pieces(piece('{"command":', "bash", index=0, id="a"), piece('"ls"}', index=0), piece('{"command":', "bash", index=0, id="b"), piece('"pwd"}', index=0)), STOP),
        TWO,
    ),
    "two whole calls, no index, no id": (sse(*pieces(piece(WHOLE, "bash"), piece(json.dumps(PWD), "bash")), STOP), TWO),
    "two whole calls, index 0 for both, no id": (sse(*pieces(piece(LS, "bash", index=0), piece(PWD, "bash", index=0)), STOP), TWO),
    "two calls, order of indexes turned": (
        sse(*pieces(piece(WHOLE, "bash", index=1, id="a"), piece(json.dumps(PWD), "bash", index=0, id="b")), STOP), TWO,
    ),
    "the same id at two indexes": (
        sse(*pieces(piece(WHOLE, "bash", index=0, id="a"), piece(json.dumps(PWD), "bash", index=1, id="a")), STOP), TWO,
    ),
    "finish says stop": (sse(*pieces(piece(WHOLE, "bash", index=0, id="a")), delta("stop")), ONE),
    "finish says function_call": (sse(delta(function_call={"name": "bash", "arguments": ""}), delta(function_call={"arguments": WHOLE}), delta("function_call")), ONE),
    "usage in a last chunk": (sse(*pieces(piece(WHOLE, "bash", index=0, id="a")), STOP, {"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 6}}), ONE),
    "usage null on each chunk": (sse(*({**one, "usage": None} for one in [*pieces(piece(WHOLE, "bash", index=0, id="a")), STOP])), ONE),
    "a chunk without choices first": (sse({"prompt_filter_results": [], "choices": []}, *pieces(piece(WHOLE, "bash", index=0, id="a")), STOP), ONE),
    "delta null at the end": (sse(*pieces(piece(WHOLE, "bash", index=0, id="a")), {"choices": [{"index": 0, "delta": None, "finish_reason": "tool_calls"}]}), ONE),
    "content null beside the calls": (sse(delta(content=None, tool_calls=[piece(WHOLE, "bash", index=0, id="a")]), STOP), ONE),
    "tool_calls null beside text": (sse(delta(content="I look.", tool_calls=None), *pieces(piece(WHOLE, "bash", index=0, id="a")), STOP), ONE),
    "a message in place of a delta": (sse({"choices": [{"index": 0, "message": {"tool_calls": [piece(WHOLE, "bash", id="a")]}, "finish_reason": "tool_calls"}]}), ONE),
    "a whole message after the deltas": (sse(*pieces(piece(WHOLE, "bash", index=0)), {"choices": [{"index": 0, "delta": {}, "message": {"tool_calls": [piece(WHOLE, "bash")]}, "finish_reason": "tool_calls"}]}), ONE),
    "a finish without a delta": (sse(*pieces(piece(WHOLE, "bash", index=0, id="a")), {"choices": [{"index": 0, "finish_reason": "tool_calls"}]}), ONE),
    "no [DONE]": (sse(*pieces(piece(WHOLE, "bash", index=0, id="a")), STOP, end=b""), ONE),
    "no blank line at the end": (sse(*pieces(piece(WHOLE, "bash", index=0, id="a")), STOP, end=b"data: [DONE]"), ONE),
    "no space after data": (sse(*pieces(piece(WHOLE, "bash", index=0, id="a")), STOP).replace(b"data: ", b"data:"), ONE),
    "CRLF": (sse(*pieces(piece(WHOLE, "bash", index=0, id="a")), STOP).replace(b"\n", b"\r\n"), ONE),
    "comments and keep-alives": (b": hello\n\n" + sse(*pieces(piece(WHOLE, "bash", index=0, id="a"))[:1], end=b": ping\n\n:\n\n") + sse(STOP), ONE),
    "event and id lines": (sse(*pieces(piece(WHOLE, "bash", index=0, id="a")), STOP).replace(b"data:", b"id: 7\nevent: message\ndata:"), ONE),
    "a second choice": (sse(*pieces(piece(WHOLE, "bash", index=0, id="a")), {"choices": [{"index": 1, "delta": {"content": "other"}, "finish_reason": "stop"}]}, STOP), ONE),
    "no finish": (sse(*pieces(piece(WHOLE, "bash", index=0, id="a"))), ONE),
    "arguments with real line feeds": (sse(*pieces(piece('{"command": "a\n\tb"}', "bash", index=0, id="a")), STOP), [("bash", {"command": "a\n\tb"})]),
    "arguments encoded twice": (sse(*pieces(piece(json.dumps(WHOLE), "bash", index=0, id="a")), STOP), ONE),
    "finish in capital letters": (sse(*pieces(piece(WHOLE, "bash", index=0, id="a")), delta("TOOL_CALLS")), ONE),
    "more after [DONE]": (sse(*pieces(piece(WHOLE, "bash", index=0, id="a")), STOP) + sse(*pieces(piece("x", index=0))), ONE),
}  # fmt: skip

UNREADABLE: dict[str, bytes] = {
    "arguments cut": sse(*pieces(piece('{"command": "rm -r', "bash", index=0, id="a")), STOP),
    "arguments cut at a brace of their own": sse(*pieces(piece('{"a": {"b": 1}', "bash", index=0, id="a")), STOP),
    "arguments twice": sse(*pieces(piece(WHOLE, "bash", index=0, id="a"), piece(WHOLE, index=0)), STOP),
    "arguments a list": sse(*pieces(piece("[1]", "bash", index=0, id="a")), STOP),
    "arguments with NaN": sse(*pieces(piece('{"a": NaN}', "bash", index=0, id="a")), STOP),
    "arguments with half a character": sse(*pieces(piece('{"a": "\\ud83d"}', "bash", index=0, id="a")), STOP),
    "two kinds of arguments": sse(*pieces(piece(LS, "bash", index=0, id="a"), piece(PWD, index=0)), STOP),
    "a Python literal": sse(*pieces(piece("{'command': 'ls'}", "bash", index=0, id="a")), STOP),
}  # fmt: skip

SPOILT: dict[str, bytes] = {
    "arguments a number": sse(*pieces(piece(7, "bash", index=0, id="a")), STOP),
    "no name": sse(*pieces(piece(WHOLE, index=0, id="a")), STOP),
    "a name that changes": sse(*pieces(piece('{"command"', "bash", index=0, id="a"), piece(': "ls"}', "other", index=0, id="a")), STOP),
    "no finish and no [DONE]": sse(*pieces(piece(WHOLE, "bash", index=0, id="a")), end=b""),
    "finish without its call": sse(delta(content="I look."), STOP),
    "finish unknown": sse(*pieces(piece(WHOLE, "bash", index=0, id="a")), delta("abort")),
    "finish of the wrong kind": sse(*pieces(piece(WHOLE, "bash", index=0, id="a")), delta(["stop"])),
    "finish by an error": sse(delta(content="Half"), delta("error")),
    "no JSON": b"data: {broken\n\n" + sse(STOP),
    "no object": sse([1, 2], STOP),
    "choices of the wrong kind": sse({"choices": "none"}, STOP),
    "tool_calls of the wrong kind": sse(delta(tool_calls="bash"), STOP),
    "index a word": sse(*pieces(piece(WHOLE, "bash", index="first", id="a")), STOP),
    "an error in mid-stream": sse(*pieces(piece('{"com', "bash", index=0, id="a")), {"error": {"message": "boom", "code": 500}}),
    "nothing at all": b"",
    "only [DONE]": DONE,
}  # fmt: skip


@pytest.fixture
async def llm(server):
    async with new_pool() as http:
        yield registry.open_llm(
            "openai/gpt-test", base_url=f"{server.base_url}/v1", api_key="k", http=http
        )


@pytest.mark.parametrize("shape", SHAPES)
async def test_tool_call_in_this_shape_is_assembled(server, llm, shape):
    stream, expected = SHAPES[shape]
    server.script([Raw(stream)])
    reply = await reply_of(llm, request_with("Hi"))
    assert [(call.tool, call.arguments) for call in reply.calls] == expected
    assert reply.stop is StopReason.TOOLS
    assert len({call.call_id for call in reply.calls}) == len(expected)


@pytest.mark.parametrize("shape", SPOILT)
async def test_tool_call_in_a_damaged_stream_is_refused(server, llm, shape):
    server.script([Raw(SPOILT[shape])])
    with pytest.raises(ModelError) as caught:
        await reply_of(llm, request_with("Hi"))
    assert caught.value.retryable


@pytest.mark.parametrize("shape", UNREADABLE)
async def test_tool_call_with_unreadable_arguments_says_so_and_has_none(server, llm, shape):
    server.script([Raw(UNREADABLE[shape])])
    (call,) = (await reply_of(llm, request_with("Hi"))).calls
    assert (call.tool, call.arguments) == ("bash", {})
    assert call.problem


async def test_tool_call_that_was_cut_is_left_out(server, llm):
    cut = sse(delta(content="I begin."), *pieces(piece('{"com', "bash", index=0)), delta("length"))
    server.script([Raw(cut)])
    reply = await reply_of(llm, request_with("Hi"))
    assert (reply.stop, reply.text, reply.calls) == (StopReason.OUTPUT_LIMIT, "I begin.", ())


async def test_text_is_assembled_from_parts_and_refusals(server, llm):
    server.script([Raw(sse(delta(content=[{"type": "text", "text": "Part."}]), delta("stop")))])
    assert (await reply_of(llm, request_with("Hi"))).text == "Part."
    server.script([Raw(sse(delta(refusal="I cannot."), delta("stop")))])
    reply = await reply_of(llm, request_with("Hi"))
    assert (reply.stop, reply.text) == (StopReason.REFUSED, "I cannot.")


def test_tool_call_shapes_are_at_least_as_many_as_promised():
    assert len(SHAPES) >= 30
