"""Assembling Anthropic's stream: the result is a whole reply or an error."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paca.engine.llm.anthropic.stream import ReplyAssembler
from paca.engine.llm.base import Reply, StopReason, Text, Thinking, Usage, UsageSeen
from paca.engine.llm.model_errors import (
    ContextExceeded,
    ModelError,
    Overloaded,
    RateLimited,
    StreamBroken,
)
from paca.engine.llm.strict_parsing import EventReader
from tests.support import anthropic_dialect as dialect
from tests.support.anthropic_dialect import frame
from tests.support.model_script import Call, Scripted, calls, says, thinks

RICH = thinks("Let me see.") + says("Größe: 4 µm 🦙") + calls(bash="ls -l", think="Hm.")


def read(data: bytes, *, size: int = 10**9) -> Reply | None:
    """The result of these bytes if ``size`` of them arrive at a time."""
    reader, assembler = EventReader(), ReplyAssembler()
    for at in range(0, len(data), size):
        for event in reader.feed(data[at : at + size]):
            assembler.take(event)
            if assembler.reply:
                return assembler.reply
    return None


def block(kind: str, start: dict[str, Any], *deltas: dict[str, Any], index: int = 0) -> bytes:
    parts = [frame("content_block_start", index=index, content_block={"type": kind, **start})]
    parts += [frame("content_block_delta", index=index, delta=delta) for delta in deltas]
    return b"".join([*parts, frame("content_block_stop", index=index)])


def ending(stop: str | None, **usage: float) -> bytes:
    delta = {"stop_reason": stop}
    return frame("message_delta", delta=delta, usage=usage) + frame("message_stop")


def tool(*partial: str, index: int = 0, **start: Any) -> bytes:
    given = {"id": "toolu_1", "name": "bash", "input": {}, **start}
    deltas = [{"type": "input_json_delta", "partial_json": text} for text in partial]
    return block("tool_use", given, *deltas, index=index)


def words(text: str) -> bytes:
    return block("text", {"text": ""}, {"type": "text_delta", "text": text})


def test_anthropic_stream_gives_a_whole_reply_of_all_blocks():
    reply = read(dialect.whole(RICH))
    thought, text, first, second = reply.blocks
    assert isinstance(thought, Thinking)
    assert (thought.text, bool(thought.signature)) == ("Let me see.", True)
    assert text == Text("Größe: 4 µm 🦙")
    assert (first.tool, first.arguments) == ("bash", {"command": "ls -l"})
    assert (second.tool, second.arguments) == ("think", {"thought": "Hm."})
    assert reply.stop is StopReason.TOOLS


@settings(deadline=None)  # how long the machine takes is not what this is about
@given(st.integers(1, 400))
def test_anthropic_stream_gives_the_same_reply_however_its_bytes_arrive(size):
    reply = read(dialect.whole(RICH), size=size)
    assert (reply.text, len(reply.calls)) == ("Größe: 4 µm 🦙", 2)


def test_anthropic_stream_cut_at_any_byte_gives_no_reply():
    data = dialect.whole(RICH)
    # The last event ends with its blank line; its last byte alone is not needed.
    for at in range(len(data) - 2):
        assert read(data[:at], size=97) is None, at


@settings(deadline=None)
@given(st.data())
def test_anthropic_stream_with_damaged_bytes_gives_a_reply_or_a_model_error(data):
    stream = bytearray(dialect.whole(RICH))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(stream) - 1))
        stream[at : at + data.draw(st.integers(0, 9))] = data.draw(st.binary(max_size=9))
    try:
        reply = read(bytes(stream))
    except ModelError:
        return
    assert reply is None or all(isinstance(call.arguments, dict) for call in reply.calls)


@settings(deadline=None)
@given(
    st.recursive(st.none() | st.integers() | st.text(max_size=5), lambda c: st.lists(c, max_size=3))
)
def test_anthropic_event_of_any_shape_gives_at_worst_a_model_error(value):
    kinds = ("message_start", "content_block_start", "content_block_delta", "content_block_stop")
    for kind in (*kinds, "message_delta", "message_stop", "error", "ping", "new_thing"):
        for name in ("message", "content_block", "delta", "usage", "error", "index"):
            data = frame(kind, **{name: value})
            try:
                read(data)
            except ModelError:
                continue


def test_event_reader_accepts_crlf_and_skips_comments():
    data = b": hello\n\n" + dialect.whole(says("Hi")).replace(b"\n", b"\r\n")
    assert read(data, size=7).text == "Hi"


@pytest.mark.parametrize(
    ("given", "name"), [("bash", "bash"), ("bä\0sh.\ud800", "b__sh__"), ("x" * 200, "x" * 64)]
)
def test_tool_name_is_made_acceptable_for_every_provider(given, name):
    """PostgreSQL stores no NUL, and every later request with a refused name would fail."""
    (call,) = read(tool("{}", name=given) + ending("tool_use")).calls
    assert call.tool == name


def test_tool_call_gets_a_new_id():
    reply = read(dialect.whole(calls(bash=["a", "b"])))
    ids = {call.call_id for call in reply.calls}
    assert len(ids) == 2
    assert not any(call_id.startswith("toolu_") for call_id in ids)


def nested(depth: int, inmost: Any) -> dict[str, Any]:
    found = inmost
    for _ in range(depth):
        found = {"a": found}
    return found


ARGUMENTS = {
    "nothing at all": (tool(), {}),
    "one empty piece": (tool(""), {}),
    "an empty object": (tool("{}"), {}),
    "in one piece": (tool('{"command": "ls"}'), {"command": "ls"}),
    "letter by letter": (tool(*'{"command": "ls"}'), {"command": "ls"}),
    "whole in the start": (tool(input={"command": "ls"}), {"command": "ls"}),
    "cut within a number": (tool('{"n": 1', "2}"), {"n": 12}),
    "cut within an escape": (tool('{"c": "\\u00', 'e9"}'), {"c": "é"}),
    "two halves of a character": (tool('{"c": "\\ud83e\\udd99"}'), {"c": "🦙"}),
    "spaces around": (tool(' {"a": [1, {}]} \n'), {"a": [1, {}]}),
    "half an object": (tool('{"command": "ls'), None),
    "no JSON": (tool("ls -l"), None),
    "a list": (tool("[1]"), None),
    "a string": (tool('"ls"'), None),
    "null": (tool("null"), {}),
    "two objects": (tool("{}", "{}"), None),
    "real line feeds and tabs": (tool('{"command": "a\n\tb"}'), {"command": "a\n\tb"}),
    "encoded twice": (tool('"{\\"command\\": \\"ls\\"}"'), {"command": "ls"}),
    "a trailing comma": (tool('{"a": 1,}'), None),
    "not a number": (tool('{"a": NaN}'), None),
    "infinity": (tool('{"a": -Infinity}'), None),
    "half a character": (tool('{"a": "\\ud800"}'), None),
    "far too deep": (tool('{"a":' * 100_000), None),
    "as deep as may be": (tool('{"a":' * 99 + "[]" + "}" * 99), nested(99, [])),
    "deeper than that": (tool('{"a":' * 100 + "[]" + "}" * 100), None),
    "as deep as parses": (tool('{"a":' * 900 + "1" + "}" * 900), None),
    "brackets in a text": (tool('{"a": "%s"}' % ("[" * 200)), {"a": "[" * 200}),
    "a start that is a list": (tool(input=[1]), None),
}


@pytest.mark.parametrize(("data", "expected"), ARGUMENTS.values(), ids=ARGUMENTS.keys())
def test_arguments_that_are_no_valid_object_are_a_problem_of_their_call(data, expected):
    (call,) = read(data + ending("tool_use")).calls
    assert call.arguments == (expected or {})
    assert bool(call.problem) == (expected is None)


def test_tool_call_without_a_name_or_an_end_breaks_the_stream():
    never_closed = tool('{"a": 1}').partition(b"event: content_block_stop")[0]
    for data in (tool("{}", name=""), never_closed):
        with pytest.raises(StreamBroken):
            read(data + ending("tool_use"))


def test_blocks_are_ordered_by_index_even_if_interleaved():
    start = frame("content_block_start", index=1, content_block={"type": "text", "text": ""})
    first = words("first ")
    delta = frame("content_block_delta", index=1, delta={"type": "text_delta", "text": "second"})
    stop = frame("content_block_stop", index=1)
    reply = read(start + first + delta + stop + ending("end_turn"))
    assert reply.text == "first second"


def test_blocks_with_the_same_index_are_refused():
    with pytest.raises(StreamBroken):
        read(words("one") + words("two") + ending("end_turn"))


STOPS = {
    "end_turn": StopReason.END,
    "stop_sequence": StopReason.END,
    "max_tokens": StopReason.OUTPUT_LIMIT,
    "refusal": StopReason.REFUSED,
}


@pytest.mark.parametrize("reason", STOPS)
def test_stop_reasons_that_are_known_are_translated(reason):
    assert read(words("Hi") + ending(reason)).stop is STOPS[reason]


@pytest.mark.parametrize("reason", [None, "", "pause_turn", "something_new", "END_TURN"])
def test_text_with_an_unknown_stop_reason_is_taken_and_the_reason_is_told(reason):
    reply = read(words("Hi") + ending(reason))
    assert (reply.stop, reply.text) == (StopReason.END, "Hi")
    told = [notice.code for notice in reply.notices]
    assert told == (["unknown_stop"] if reason in ("pause_turn", "something_new") else [])


def test_tool_call_with_an_unknown_stop_reason_is_not_run():
    with pytest.raises(StreamBroken, match="something_new"):
        read(tool("{}") + ending("something_new"))


def test_reply_that_filled_the_context_window_is_an_error():
    with pytest.raises(ContextExceeded):
        read(words("Hi") + ending("model_context_window_exceeded"))


def test_tool_call_counts_with_another_stop_reason():
    assert read(tool("{}") + ending("end_turn")).stop is StopReason.TOOLS


def test_stop_reason_for_calls_without_a_call_is_refused():
    with pytest.raises(StreamBroken):
        read(words("I will call.") + ending("tool_use"))


@pytest.mark.parametrize("reason", ["max_tokens", "refusal"])
def test_tool_calls_of_a_cut_or_refused_reply_are_dropped(reason):
    for arguments in ('{"command": "rm', '{"command": "rm -r x"}'):
        reply = read(words("I begin.") + tool(arguments, index=1) + ending(reason))
        assert reply.blocks == (Text("I begin."),)


def test_text_block_of_spaces_is_dropped():
    assert read(words(" \n") + ending("end_turn")).blocks == ()


def test_redacted_thinking_is_kept_for_the_provider():
    reply = read(dialect.whole(thinks(redacted="opaque==") + says("Hi")))
    assert reply.blocks[0] == Thinking("", redacted="opaque==")


def test_blocks_of_an_unknown_type_are_ignored():
    assert read(block("holo", {"x": 1}) + ending("end_turn")).blocks == ()


def test_lone_surrogate_in_text_is_replaced():
    assert read(words("a\ud800b") + ending("end_turn")).text == "a?b"


@pytest.mark.parametrize("count", [10**30, -5, True, "x", [1], float("nan"), None, {}])
def test_usage_ignores_an_impossible_count(count):
    """A huge count does not fit into a row, and a negative one would reduce the usage."""
    start = frame("message_start", message={"usage": {"input_tokens": 9, "output_tokens": count}})
    assert read(start + words("x") + ending("end_turn", input_tokens=count)).usage == Usage(input=9)


def test_usage_is_cumulative_and_reported_as_soon_as_it_is_known():
    start = {"usage": {"input_tokens": 90, "cache_read_input_tokens": 7, "output_tokens": 1}}
    data = frame("message_start", message=start) + words("Hi")
    assembler = ReplyAssembler()
    seen = [chunk for event in EventReader().feed(data) for chunk in assembler.take(event)]
    assert seen[0] == UsageSeen(Usage(input=90, output=1, cache_read=7))
    end = ending("end_turn", output_tokens=12, cache_creation_input_tokens=None)
    assert read(data + end).usage == Usage(input=90, output=12, cache_read=7)


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        ("overloaded_error", Overloaded),
        ("api_error", Overloaded),
        ("rate_limit_error", RateLimited),
        ("something_new", StreamBroken),
    ],
)
def test_error_event_becomes_the_matching_model_error(kind, error):
    data = words("I was about") + frame("error", error={"type": kind, "message": "No."})
    with pytest.raises(error, match=r"No\."):
        read(data)


def test_event_reader_refuses_an_endless_event():
    reader = EventReader()
    assert not list(reader.feed(b"data: " + b"x" * 5 * 1024 * 1024))
    with pytest.raises(StreamBroken):
        list(reader.feed(b"x" * 5 * 1024 * 1024))


def test_scripted_reply_may_have_broken_arguments():
    broken = Scripted((Call("bash", {}, raw='{"command": tru'),))
    assert read(dialect.whole(broken)).calls[0].problem


def test_usage_has_the_cost_that_a_gateway_reports():
    end = ending("end_turn", output_tokens=12, cost=5.52e-05)
    assert (
        read(frame("message_start", message={}) + words("x") + end).usage.reported_usd == 5.52e-05
    )
