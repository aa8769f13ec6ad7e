"""The encoder for Anthropic: the form of each message, and a prefix that only grows."""

import json
import time
from typing import Any

import pytest

from paca.engine.llm.anthropic.encoder import Encoder
from paca.engine.llm.base import Request, Thinking, ToolResult, ToolUse
from paca.engine.llm.model_errors import ModelMisconfigured
from tests.engine.llm.request_builders import (
    assistant_message,
    request_with,
    tool_steps,
    user_message,
)
from tests.support import anthropic_dialect as dialect


def sent(request: Request, encoder: Encoder | None = None) -> dict[str, Any]:
    return json.loads((encoder or Encoder()).encode(request))


def without_marks(body: dict[str, Any]) -> dict[str, Any]:
    """The part of a request that the provider's cache compares: without the cache marks."""
    return json.loads(json.dumps(body).replace(', "cache_control": {"type": "ephemeral"}', ""))


def test_encoder_writes_every_kind_of_block():
    body = sent(
        request_with(
            "Look.",
            assistant_message(Thinking("Hm.", "sig"), Thinking("", redacted="opaque"), "I look.",
                      ToolUse("c1", "bash", {"command": "ls"}), ToolUse("c2", "bash", {})),
            user_message(ToolResult("c1", "a.txt"), ToolResult("c2", "no", failed=True), "And?"),
        )
    )  # fmt: skip
    assert not list(dialect.problems(body))
    assert body["messages"][1]["content"] == [
        {"type": "thinking", "thinking": "Hm.", "signature": "sig"},
        {"type": "redacted_thinking", "data": "opaque"},
        {"type": "text", "text": "I look."},
        {"type": "tool_use", "id": "c1", "name": "bash", "input": {"command": "ls"}},
        {"type": "tool_use", "id": "c2", "name": "bash", "input": {}},
    ]
    assert body["messages"][2]["content"][:2] == [
        {"type": "tool_result", "tool_use_id": "c1", "content": "a.txt"},
        {"type": "tool_result", "tool_use_id": "c2", "content": "no", "is_error": True},
    ]


def test_encoder_leaves_out_unsigned_thinking():
    body = sent(request_with("Hi", assistant_message(Thinking("unsigned"), "Hello."), "And?"))
    assert [block["type"] for block in body["messages"][1]["content"]] == ["text"]


def test_encoder_sends_a_text_for_an_empty_result():
    body = sent(
        request_with(
            "Hi", assistant_message(ToolUse("c", "bash", {})), user_message(ToolResult("c", ""))
        )
    )
    assert body["messages"][2]["content"][0]["content"] == "(no output)"


def test_encoder_puts_cache_marks_on_system_tools_and_the_last_two_user_messages():
    body = sent(request_with(*tool_steps(5)))
    marked = [
        number
        for number, message in enumerate(body["messages"])
        if "cache_control" in message["content"][-1]
    ]
    assert marked == [8, 10]
    assert "cache_control" in body["system"][0]
    assert "cache_control" in body["tools"][-1]
    assert json.dumps(body).count("cache_control") == 4


def test_encoder_starts_each_request_with_the_one_before():
    history = tool_steps(12)
    encoder = Encoder()
    before = None
    for length in range(1, len(history) + 1, 2):
        body = without_marks(sent(request_with(*history[:length]), encoder))
        if before is not None:
            assert body["messages"][: len(before["messages"])] == before["messages"]
            assert {**body, "messages": 0} == {**before, "messages": 0}
        before = body


def test_encoder_gives_the_same_bytes_with_and_without_its_cache():
    history = tool_steps(9)
    encoder = Encoder()
    for length in (1, 3, 5, 19, 7, 19):
        request = request_with(*history[:length])
        assert encoder.encode(request) == Encoder().encode(request)
    other = request_with(*tool_steps(3)[:-1], user_message(ToolResult("call2", "changed")))
    assert encoder.encode(other) == Encoder().encode(other)


def test_encoder_encodes_a_long_history_once():
    history = tool_steps(400)
    encoder = Encoder()
    encoder.encode(request_with(*history))
    began = time.thread_time()
    for _ in range(20):
        encoder.encode(request_with(*history))
    again = (time.thread_time() - began) / 20
    began = time.thread_time()
    for _ in range(5):
        Encoder().encode(request_with(*history))
    anew = (time.thread_time() - began) / 5
    assert again < anew / 3


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (
            {"temperature": 0.3, "top_p": 0.9, "top_k": 5},
            {"temperature": 0.3, "top_p": 0.9, "top_k": 5},
        ),
        ({"max_tokens": 99}, {"max_tokens": 99}),
        ({"effort": "low"}, {"output_config": {"effort": "low"}}),
        (
            {"thinking_budget": 2000},
            {"thinking": {"type": "enabled", "budget_tokens": 2000}, "max_tokens": 10192},
        ),
        ({"thinking_budget": 2000, "max_tokens": 500}, {"max_tokens": 2500}),
        ({"temperature": None}, {}),
    ],
)
def test_encoder_sends_the_agents_parameters(given, expected):
    body = sent(request_with("Hi", parameters=given))
    assert {name: body.get(name) for name in expected} == expected
    assert not {"thinking_budget", "effort"} & body.keys()
    if given == {"temperature": None}:
        assert "temperature" not in body


@pytest.mark.parametrize("name", ["model", "messages", "system", "tools", "tool_choice", "stream"])
def test_encoder_refuses_reserved_parameters(name):
    with pytest.raises(ModelMisconfigured, match=name):
        sent(request_with("Hi", parameters={name: "x"}))


def test_encoder_forbids_calls_and_keeps_the_tools_in_the_prefix():
    body = sent(request_with("Sum it up.", may_call=False))
    assert body["tool_choice"] == {"type": "none"}
    assert body["tools"][0]["name"] == "bash"
    assert "tool_choice" not in sent(request_with("Sum it up."))
    assert "tool_choice" not in sent(request_with("Sum it up.", may_call=False, tools=()))


@pytest.mark.parametrize(
    ("model", "asked_for"),
    [
        ("claude-opus-5-5", True),
        ("claude-sonnet-5", True),
        ("claude-fable-5-1", True),
        ("claude-opus-4-8", False),
        ("claude-haiku-4-5-20251001", False),
    ],
)
def test_encoder_asks_models_that_think_by_default_to_show_it(model, asked_for):
    body = sent(request_with("Hi", model=f"anthropic/{model}"))
    assert body["model"] == model
    assert body.get("thinking", {}).get("display") == ("summarized" if asked_for else None)


def test_encoder_leaves_out_empty_system_and_tools():
    assert not {"system", "tools"} & sent(request_with("Hi", system="", tools=())).keys()


def test_encoder_replaces_text_that_cannot_be_encoded():
    assert (
        sent(request_with("half \ud800 a character"))["messages"][0]["content"][0]["text"]
        == "half ? a character"
    )
