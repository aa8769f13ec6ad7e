"""Amazon Bedrock's Converse API of the scripted server: checks a request, renders binary frames."""

import json
import struct
import uuid
import zlib
from collections.abc import Iterator
from typing import Any

from tests.support.anthropic_dialect import pieces
from tests.support.model_script import Call, Scripted, Thought
from tests.support.openai_dialect import HTTP_ERRORS, foreign_thinking

__all__ = ["HTTP_ERRORS", "foreign_thinking"]

TEXT_MARK, ARGUMENTS_MARK, THOUGHT_MARK = b'{"text":"', b'{"toolUse":{"input"', b'"reasoningText"'
STREAM_ERRORS = {
    "midover": ("serviceUnavailableException", "Overloaded"),
    "midrate": ("throttlingException", "Rate limited in mid-stream"),
}
STOPS = {"refusal": "guardrail_intervened"}
FIELDS = {
    "messages", "system", "toolConfig", "inferenceConfig", "additionalModelRequestFields",
    "additionalModelResponseFieldPaths",
}  # fmt: skip


def error_body(kind: str, message: str) -> bytes:
    return json.dumps({"message": message}).encode()


def stream_error(fault: str) -> bytes:
    kind, message = STREAM_ERRORS[fault]
    return frame(kind, {"message": message}, message_type="exception")


# --- reading a request --------------------------------------------------------------------------


def conversation(body: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = body["messages"]
    return found


def text_of(message: dict[str, Any]) -> str:
    return "".join(block.get("text", "") for block in message["content"])


def is_tool_turn(message: dict[str, Any]) -> bool:
    return any("toolUse" in block for block in message["content"])


def problems(body: dict[str, Any]) -> Iterator[str]:
    """What Bedrock answers 400 to."""
    if unknown := body.keys() - FIELDS:
        yield f"unknown fields: {sorted(unknown)}"
    if "stream" in body.get("additionalModelRequestFields", {}):
        yield "stream: extraneous key is not permitted"
    roles = [message["role"] for message in body["messages"]]
    if roles[0] != "user" or any(a == b for a, b in zip(roles, roles[1:], strict=False)):
        yield f"messages: roles must alternate, not {roles}"
    waiting: set[str] = set()
    for message in body["messages"]:
        results = {b["toolResult"]["toolUseId"] for b in message["content"] if "toolResult" in b}
        if results != waiting:
            yield f"toolResult blocks {results} for toolUse blocks {waiting}"
        waiting = {b["toolUse"]["toolUseId"] for b in message["content"] if "toolUse" in b}
        if (results or waiting) and not body.get("toolConfig"):
            yield "toolConfig must be defined when using toolUse and toolResult content blocks"


# --- rendering a reply --------------------------------------------------------------------------


def frame(kind: str, facts: dict[str, Any], *, message_type: str = "event") -> bytes:
    """A frame of Amazon's event stream, with both checksums."""
    named = ":event-type" if message_type == "event" else ":exception-type"
    headers = _header(":message-type", message_type) + _header(named, kind)
    payload = json.dumps(facts, separators=(",", ":")).encode()
    prelude = struct.pack("!II", len(headers) + len(payload) + 16, len(headers))
    body = prelude + struct.pack("!I", zlib.crc32(prelude)) + headers + payload
    return body + struct.pack("!I", zlib.crc32(body))


def _header(name: str, value: str) -> bytes:
    return bytes([len(name)]) + name.encode() + b"\x07" + struct.pack("!H", len(value)) + value.encode()  # fmt: skip


def opening(reply: Scripted, body: dict[str, Any], prompt_tokens: int) -> bytes:
    return frame("messageStart", {"role": "assistant"})


def content(reply: Scripted, model: str, *, grain: int) -> Iterator[bytes]:
    """The deltas, a frame a piece of ``grain`` characters."""
    for index, part in enumerate(reply.parts):
        cut = index == len(reply.parts) - 1 and reply.stop == "max_tokens"
        for delta in _deltas(part, grain, cut=cut):
            kind = "contentBlockStart" if "start" in delta else "contentBlockDelta"
            yield frame(kind, {**delta, "contentBlockIndex": index})
        yield frame("contentBlockStop", {"contentBlockIndex": index})


def _deltas(part: str | Call | Thought, grain: int, *, cut: bool) -> Iterator[dict[str, Any]]:
    if isinstance(part, Call):
        raw = json.dumps(part.arguments)
        yield {"start": {"toolUse": {"toolUseId": f"tooluse_{uuid.uuid4().hex}", "name": part.tool}}}  # fmt: skip
        for piece in pieces(raw[: len(raw) // 2] if cut else raw, grain):
            yield {"delta": {"toolUse": {"input": piece}}}
    elif isinstance(part, Thought):
        for piece in pieces(part.text, grain):
            yield {"delta": {"reasoningContent": {"text": piece}}}
        yield {"delta": {"reasoningContent": {"signature": "SIG=="}}}
    else:
        for piece in pieces(part[: len(part) // 2] if cut else part, grain):
            yield {"delta": {"text": piece}}


def whole(reply: Scripted, model: str = "claude-test", *, grain: int = 4) -> bytes:
    """The body of a stream from its first byte to its last."""
    parts = [opening(reply, {"model": model}, 100), *content(reply, model, grain=grain)]
    return b"".join([*parts, closing(reply)])


def closing(reply: Scripted, prompt_tokens: int = 100) -> bytes:
    stop = STOPS.get(reply.stop, reply.stop) or ("tool_use" if reply.calls else "end_turn")
    usage = {
        "inputTokens": reply.input_tokens or prompt_tokens,
        "outputTokens": 7,
        "cacheReadInputTokens": 20,
        "totalTokens": 127,
    }
    end = frame("messageStop", {"stopReason": stop})
    return end + frame("metadata", {"usage": usage, "metrics": {"latencyMs": 5}})
