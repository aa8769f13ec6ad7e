"""Cohere's chat API, version 2, of the scripted server: requests as in OpenAI's dialect, events of its own."""

import json
import uuid
from collections.abc import Iterator
from typing import Any

from tests.support import openai_dialect
from tests.support.anthropic_dialect import pieces
from tests.support.model_script import Call, Scripted, Thought
from tests.support.openai_dialect import (
    HTTP_ERRORS,
    conversation,
    foreign_thinking,
    is_tool_turn,
    text_of,
)

__all__ = ["HTTP_ERRORS", "conversation", "foreign_thinking", "is_tool_turn", "text_of"]

PATH = "/v2/chat"
TEXT_MARK, ARGUMENTS_MARK, THOUGHT_MARK = b'"text":"', b'"tool-call-delta"', b'"thinking":"'
STREAM_ERRORS = {"midover": "Overloaded", "midrate": "Rate limited in mid-stream"}
STOPS = {"max_tokens": "MAX_TOKENS", "refusal": "ERROR_TOXIC"}
FIELDS = {
    "model", "messages", "stream", "tools", "tool_choice", "max_tokens", "temperature", "p", "k", "thinking",
}  # fmt: skip


def problems(body: dict[str, Any]) -> Iterator[str]:
    yield from openai_dialect.problems(body)
    if unknown := body.keys() - FIELDS:
        yield f"unknown fields: {sorted(unknown)}"
    if body.get("tool_choice") not in (None, "NONE", "REQUIRED"):
        yield "tool_choice: NONE or REQUIRED"


def error_body(kind: str, message: str) -> bytes:
    return json.dumps({"id": "error-test", "message": message}).encode()


def stream_error(fault: str) -> bytes:
    return frame("message-end", delta={"finish_reason": "ERROR", "error": STREAM_ERRORS[fault]})


def frame(kind: str, **facts: Any) -> bytes:
    data = json.dumps({"type": kind, **facts}, separators=(",", ":"))
    return f"event: {kind}\ndata: {data}\n\n".encode()


def opening(reply: Scripted, body: dict[str, Any], prompt_tokens: int) -> bytes:
    return frame("message-start", id="test", delta={"message": {"role": "assistant"}})


def content(reply: Scripted, model: str, *, grain: int) -> Iterator[bytes]:
    """The deltas, a frame a piece of ``grain`` characters."""
    for index, part in enumerate(reply.parts):
        cut = index == len(reply.parts) - 1 and reply.stop == "max_tokens"
        if isinstance(part, Call):
            yield from _call(part, index, grain, cut=cut)
            continue
        kind, text = ("thinking", part.text) if isinstance(part, Thought) else ("text", part)
        yield frame("content-start", index=index, delta={"message": {"content": {"type": kind}}})
        for piece in pieces(text[: len(text) // 2] if cut else text, grain):
            delta = {"message": {"content": {kind: piece}}}
            yield frame("content-delta", index=index, delta=delta)
        yield frame("content-end", index=index)


def _call(part: Call, index: int, grain: int, *, cut: bool) -> Iterator[bytes]:
    raw = json.dumps(part.arguments)
    begun = {"id": f"bash_{uuid.uuid4().hex[:12]}", "type": "function", "function": {"name": part.tool, "arguments": ""}}  # fmt: skip
    yield frame("tool-call-start", index=index, delta={"message": {"tool_calls": begun}})
    for piece in pieces(raw[: len(raw) // 2] if cut else raw, grain):
        delta = {"message": {"tool_calls": {"function": {"arguments": piece}}}}
        yield frame("tool-call-delta", index=index, delta=delta)
    yield frame("tool-call-end", index=index)


def whole(reply: Scripted, model: str = "command-test", *, grain: int = 4) -> bytes:
    """The body of a stream from its first byte to its last."""
    parts = [opening(reply, {"model": model}, 100), *content(reply, model, grain=grain)]
    return b"".join([*parts, closing(reply)])


def closing(reply: Scripted, prompt_tokens: int = 100) -> bytes:
    stop = STOPS.get(reply.stop, reply.stop) or ("TOOL_CALL" if reply.calls else "COMPLETE")
    tokens = {"input_tokens": reply.input_tokens or prompt_tokens, "output_tokens": 7}
    return frame("message-end", delta={"finish_reason": stop, "usage": {"tokens": tokens}})
