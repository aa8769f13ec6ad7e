"""Assembling OpenAI's chunks without a network: any cut or damage gives a whole reply or an error."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paca.engine.llm.base import Reply, StopReason
from paca.engine.llm.model_errors import ModelError
from paca.engine.llm.openai.errors import from_status
from paca.engine.llm.openai.stream import ReplyAssembler
from paca.engine.llm.strict_parsing import EventReader
from tests.support import openai_dialect as dialect
from tests.support.model_script import calls, says, thinks

RICH = thinks("Let me see.") + says("Größe: 4 µm 🦙") + calls(bash="ls -l", think="Hm.")


def read(data: bytes, *, size: int = 10**9) -> Reply:
    """The result of these bytes if ``size`` of them arrive at a time, up to a proper end."""
    reader, assembler = EventReader(), ReplyAssembler()
    for at in range(0, len(data), size):
        for event in reader.feed(data[at : at + size]):
            assembler.take(event)
    for event in reader.rest():
        assembler.take(event)
    assembler.close()
    return assembler.finish()


def facts(reply: Reply) -> tuple[object, ...]:
    return (reply.text, reply.stop, [(call.tool, call.arguments) for call in reply.calls])


@settings(deadline=None)  # how long the machine takes is not what this is about
@given(st.integers(1, 400))
def test_openai_stream_gives_the_same_reply_however_its_bytes_arrive(size):
    reply = read(dialect.whole(RICH), size=size)
    assert facts(reply) == (
        "Größe: 4 µm 🦙",
        StopReason.TOOLS,
        [("bash", {"command": "ls -l"}), ("think", {"thought": "Hm."})],
    )


def test_openai_stream_cut_at_any_byte_gives_the_whole_reply_or_none():
    data = dialect.whole(RICH)
    finished = data.index(b'"finish_reason":"tool_calls"')
    expected = facts(read(data))
    whole = 0
    for at in range(len(data)):
        try:
            reply = read(data[:at], size=997)
        except ModelError:
            continue
        assert at > finished, at
        assert facts(reply) == expected, at
        whole += 1
    assert whole


@settings(deadline=None)
@given(st.data())
def test_openai_stream_with_damaged_bytes_gives_a_reply_or_a_model_error(data):
    stream = bytearray(dialect.whole(RICH))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(stream) - 1))
        stream[at : at + data.draw(st.integers(0, 9))] = data.draw(st.binary(max_size=9))
    try:
        reply = read(bytes(stream), size=data.draw(st.integers(1, 999)))
    except ModelError:
        return
    assert all(isinstance(call.arguments, dict) and call.tool for call in reply.calls)
    repr(reply).encode()


@pytest.mark.parametrize(
    ("status", "body", "code"),
    [
        (400, {"error": {"message": "Input is longer than the context size"}}, "context_exceeded"),
        (422, {"detail": [{"msg": "field required"}]}, "request_refused"),
        (404, {"error": "model 'x' not found"}, "model_misconfigured"),
        (404, {"detail": "Not Found"}, "model_misconfigured"),
        (402, {"error": {"message": "Insufficient Balance"}}, "no_credit"),
        (429, {"error": {"code": "insufficient_quota", "message": "quota"}}, "no_credit"),
        (429, {"error": {"code": "rate_limit_exceeded", "message": "slow"}}, "rate_limited"),
        (503, {"message": "loading model"}, "model_loading"),
        (500, "no JSON", "model_overloaded"),
        (400, [{"error": {"message": "An API key is needed"}}], "request_refused"),
        (418, {}, "request_refused"),
    ],
)
def test_openai_error_responses_of_any_shape_become_model_errors(status, body, code):
    error = from_status(status, body, {})
    assert error.code == code
    assert len(error.detail) > 20


@pytest.mark.parametrize("count", [b"1" + b"0" * 30, b"-5", b"true", b'"x"', b"[1]"])
def test_openai_usage_with_impossible_counts_is_estimated(count):
    sound = dialect.whole(says("Hello"))
    assert not read(sound).usage.estimated
    (before, after) = sound.split(b'"prompt_tokens":100')
    assert read(before + b'"prompt_tokens":' + count + after).usage.estimated


@pytest.mark.parametrize(
    ("facts", "dollars"),
    [
        (b'"cost":0.00125', 0.00125),
        (b'"cost":0', 0.0),
        (b'"cost":-0.0', 0.0),
        (b'"cost":{"total_cost":0.5,"currency":"USD"}', 0.5),  # Perplexity
        (b'"cost":0.01,"is_byok":true,"cost_details":{"upstream_inference_cost":0.2}', 0.21),
        (b'"cost":0.3,"is_byok":false,"cost_details":{"upstream_inference_cost":0.2}', 0.3),
        (b'"cost":0.01,"is_byok":true', None),
        (b'"cost":0.01,"is_byok":true,"cost_details":[]', None),
        *((b'"cost":' + odd, None) for odd in (b"-1", b"true", b'"1"', b"null", b"[1]", b"{}")),
        *((b'"cost":' + odd, None) for odd in (b"NaN", b"1e400", b"1" + b"0" * 400)),
    ],
)
def test_openai_usage_has_the_cost_that_the_server_reports(facts, dollars):
    (before, after) = dialect.whole(says("Hello")).split(b'"prompt_tokens":100')
    usage = read(before + b'"prompt_tokens":100,' + facts + after).usage
    assert usage.reported_usd == dollars
    assert not usage.estimated
