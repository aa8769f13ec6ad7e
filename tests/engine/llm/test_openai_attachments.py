"""What a provider attaches to a reply: it goes back to its family of models, whole or not at all."""

import json

import pytest

from paca.engine.llm import providers
from paca.engine.llm.base import Reply, ToolResult
from paca.engine.llm.openai import attachments
from paca.engine.llm.openai.encoder import Encoder
from paca.engine.llm.openai.server_form import ServerForm
from paca.engine.llm.openai.stream import ReplyAssembler
from tests.engine.llm.request_builders import assistant_message, request_with, user_message

FAMILY = "openai:kimi"
CALL = {"index": 0, "id": "a", "function": {"name": "bash", "arguments": "{}"}}


def reply_to(*deltas: dict) -> Reply:
    assembler = ReplyAssembler(family=FAMILY)
    for delta in deltas:
        assembler.take({"choices": [{"index": 0, "delta": delta}]})
    return assembler.finish(has_end_mark=True)


def sent_back(reply: Reply, family: str = FAMILY) -> dict:
    """The assistant's message of the next request to a model of this family."""
    results = [ToolResult(call.call_id, "ok") for call in reply.calls]
    history = (user_message("Hi"), assistant_message(*reply.blocks), user_message(*results, "And?"))
    provider = providers.find("openai")
    encoder = Encoder(provider, "m", own_address=True, family=family)
    body = json.loads(encoder.encode(request_with(*history), ServerForm()))
    return next(message for message in body["messages"] if message["role"] == "assistant")


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_reasoning_goes_back_with_calls_under_its_own_name(field):
    reply = reply_to({field: "Let me "}, {field: "see."}, {"tool_calls": [CALL]})
    assert sent_back(reply)[field] == "Let me see."


def test_reasoning_does_not_go_back_without_calls():
    """DeepSeek refuses it there."""
    reply = reply_to({"reasoning_content": "Hm."}, {"content": "Hello."})
    assert sent_back(reply) == {"role": "assistant", "content": "Hello."}


def test_reasoning_details_are_joined_by_their_index_and_go_back_in_place_of_the_text():
    reply = reply_to(
        {"reasoning": "Let ", "reasoning_details": [{"type": "reasoning.text", "text": "Let ", "index": 0}]},
        {"reasoning": "me.", "reasoning_details": [{"type": "reasoning.text", "text": "me.", "index": 0}]},
        {"reasoning_details": [{"type": "reasoning.text", "signature": "SIG", "index": 0}]},
        {"reasoning_details": [{"type": "reasoning.encrypted", "data": "ENC", "index": 1}]},
        {"content": "Hello."},
    )  # fmt: skip
    message = sent_back(reply)
    assert "reasoning" not in message
    assert message["reasoning_details"] == [
        {"type": "reasoning.text", "text": "Let me.", "index": 0, "signature": "SIG"},
        {"type": "reasoning.encrypted", "data": "ENC", "index": 1},
    ]


def test_signature_of_a_call_goes_back_with_the_call():
    signature = {"google": {"thought_signature": "SIG=="}}
    reply = reply_to({"tool_calls": [{**CALL, "extra_content": signature}]})
    (call,) = sent_back(reply)["tool_calls"]
    assert call["extra_content"] == signature
    assert call["function"] == {"name": "bash", "arguments": "{}"}


def test_attachments_go_to_no_other_family():
    signed = {**CALL, "extra_content": {"x": "SIG"}}
    reply = reply_to({"reasoning_content": "Hm.", "tool_calls": [signed]})
    message = sent_back(reply, family="openai:gpt")
    assert message.keys() == {"role", "content", "tool_calls"}
    assert message["tool_calls"][0].keys() == {"id", "type", "function"}


def test_attachments_that_are_too_long_are_dropped_whole():
    reply = reply_to({"reasoning_details": [{"data": "x" * 300_000}], "content": "Hello."})
    assert sent_back(reply) == {"role": "assistant", "content": "Hello."}


def test_attachments_are_storable():
    reply = reply_to({"reasoning_details": [{"data": "a\0b\ud800"}], "content": "Hello."})
    stored = json.dumps(reply.blocks[0].attached, ensure_ascii=False)
    stored.encode()
    assert "\0" not in stored
    assert "\\u0000" not in stored


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (("gemini", "gemini-3-pro", ""), ("gemini", "gemini-2.5-flash", ""), True),
        (("openai", "kimi-k2", "http://a/v1"), ("openai", "kimi-k2", "http://b/v1"), False),
        (("openrouter", "moonshotai/kimi-k2", ""), ("openrouter", "deepseek/deepseek-r1", ""), False),
        (("deepseek", "deepseek-chat", ""), ("moonshot", "kimi-k2", ""), False),
    ],
)  # fmt: skip
def test_family_is_the_provider_the_address_and_the_beginning_of_the_name(one, other, same):
    assert (attachments.family_of(*one) == attachments.family_of(*other)) == same


@pytest.mark.parametrize(
    "piece",
    [
        {"reasoning_details": [{"data": "x" * 1000}]},
        {"reasoning_details": [{"data": "x" * 1000, "index": 0}]},
        {"thoughts": {"signature": [{}]}},
    ],
)
def test_fields_that_grow_for_ever_stop_to_grow_and_are_not_kept(piece, monkeypatch):
    monkeypatch.setattr(attachments, "MAX_PARTS", 20)
    monkeypatch.setattr(attachments, "MAX_BYTES", 20_000)
    known: dict = {}
    for _ in range(100):
        attachments.merge(known, json.loads(json.dumps(piece)))
    assert attachments.TOO_LONG in json.dumps(known)
    assert attachments.storable(FAMILY, known) == {}
