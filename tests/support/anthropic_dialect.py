"""The Anthropic Messages dialect of the scripted server: checks a request, renders a reply."""

import base64
import hashlib
import json
import uuid
from collections.abc import Iterator
from typing import Any

from tests.support.model_script import Call, Scripted, Thought

PATH = "/v1/messages"
TEXT_MARK, ARGUMENTS_MARK, THOUGHT_MARK = (
    b'"text_delta"',
    b'"input_json_delta"',
    b'"thinking_delta"',
)
HTTP_ERRORS = {
    "400": (400, "invalid_request_error", "The request is not valid."),
    "badrequest": (400, "invalid_request_error", "temperature: not supported by this model"),
    "nocredit": (
        400,
        "invalid_request_error",
        "Your credit balance is too low to access the Anthropic API.",
    ),
    "ctx": (400, "invalid_request_error", "prompt is too long: 1200000 tokens > 1000000 maximum"),
    "401": (401, "authentication_error", "invalid x-api-key"),
    "403": (403, "permission_error", "Your key may not use this resource."),
    "echokey": (401, "authentication_error", "invalid key: {key}"),
    "redirect": (307, "", ""),
    "404": (404, "not_found_error", "model: no-such-model"),
    "413": (413, "request_too_large", "Request exceeds the maximum size"),
    "429": (429, "rate_limit_error", "This request would exceed your rate limit."),
    "500": (500, "api_error", "Internal server error"),
    "503": (503, "api_error", "Service unavailable"),
    "529": (529, "overloaded_error", "Overloaded"),
}
STREAM_ERRORS = {
    "midover": ("overloaded_error", "Overloaded"),
    "midrate": ("rate_limit_error", "Rate limited in mid-stream"),
}


def error_body(kind: str, message: str) -> bytes:
    return json.dumps(
        {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_test"}
    ).encode()


def stream_error(fault: str) -> bytes:
    kind, message = STREAM_ERRORS[fault]
    return frame("error", error={"type": kind, "message": message})


# --- reading a request --------------------------------------------------------------------------


def conversation(body: dict[str, Any]) -> list[dict[str, Any]]:
    """The messages, the first a person's."""
    found: list[dict[str, Any]] = body["messages"]
    return found


def system_of(body: dict[str, Any]) -> Any:
    """The system prompt, as it was sent."""
    return body.get("system", "")


def text_of(message: dict[str, Any]) -> str:
    """What a person wrote in a message; tool results are not their words."""
    content = message["content"]
    if isinstance(content, str):
        return content
    return "\n".join(block["text"] for block in content if block["type"] == "text")


def is_tool_turn(message: dict[str, Any]) -> bool:
    content = message["content"]
    return isinstance(content, list) and any(block["type"] == "tool_use" for block in content)


def problems(body: dict[str, Any]) -> Iterator[str]:
    """Everything for which the real service answers 400, and what no client of ours should send."""
    messages = body.get("messages") or []
    if not messages or messages[0].get("role") != "user":
        yield "messages: the first message must be the user's"
        return
    if not isinstance(body.get("max_tokens"), int) or body["max_tokens"] < 1:
        yield "max_tokens: a positive number is required"
    for earlier, later in zip(messages, messages[1:], strict=False):
        if earlier["role"] == later["role"]:
            yield f"messages: two messages of {later['role']} in a row"
    for number, message in enumerate(messages):
        yield from (f"messages.{number}: {trouble}" for trouble in _empty_blocks(message))
    yield from _unpaired(messages)
    marks = json.dumps(body).count('"cache_control"')
    if marks > 4:
        yield f"cache_control: a maximum of 4 blocks may have it, found {marks}"


def foreign_thinking(body: dict[str, Any]) -> str:
    """Thinking that another model had, or that was changed, is refused, and what is no image; "" when all is well."""
    for number, message in enumerate(body["messages"]):
        for at, block in enumerate(message["content"] if message["role"] == "assistant" else []):
            known = block.get("signature") == _sign(block.get("thinking", ""), body["model"])
            if block["type"] == "thinking" and not known:
                return f"messages.{number}.content.{at}: Invalid `signature` in `thinking` block"
    return _unreadable_image(body)


def _unreadable_image(body: dict[str, Any]) -> str:
    for number, message in enumerate(body["messages"]):
        for block in message["content"]:
            inner = block.get("content") if block["type"] == "tool_result" else ()
            for each in inner if isinstance(inner, list) else ():
                if each["type"] == "image" and not is_image(
                    each["source"]["media_type"], each["source"]["data"]
                ):
                    return f"messages.{number}.content: Could not process image"
    return ""


def is_image(kind: str, data: str) -> bool:
    """Whether data in base64 is of this kind, as far as a test needs it."""
    return kind != "image/png" or base64.b64decode(data)[12:16] == b"IHDR"


def _sign(text: str, model: str) -> str:
    return hashlib.sha256(f"{model}:{text}".encode()).hexdigest()


def _empty_blocks(message: dict[str, Any]) -> Iterator[str]:
    content = message["content"]
    if not content:
        yield "content must not be empty"
    for block in content if isinstance(content, list) else []:
        if block["type"] == "text" and not block["text"].strip():
            yield "text content blocks must contain non-whitespace text"
        if block["type"] == "thinking" and not block.get("signature"):
            yield "thinking.signature: field required"


def _unpaired(messages: list[dict[str, Any]]) -> Iterator[str]:
    asked: list[str] = []
    for number, message in enumerate(messages):
        blocks = message["content"] if isinstance(message["content"], list) else []
        kinds = [block["type"] for block in blocks]
        answers = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        if "tool_result" in kinds[len(answers) :]:
            yield f"messages.{number}: tool results must come first"
        if sorted(answers) != sorted(asked):
            yield (
                f"messages.{number}: each tool_use must have exactly one tool_result in the next"
                f" message; asked {asked}, answered {answers}"
            )
        asked = [block["id"] for block in blocks if block["type"] == "tool_use"]
        if len(set(asked)) != len(asked):
            yield f"messages.{number}: tool_use ids must be unique"
    if asked:
        yield "messages: the last tool_use has no tool_result"


# --- rendering a reply --------------------------------------------------------------------------


def frame(kind: str, **facts: Any) -> bytes:
    body = json.dumps({"type": kind, **facts}, separators=(",", ":"))
    return f"event: {kind}\ndata: {body}\n\n".encode()


def pieces(text: str, size: int = 4) -> list[str]:
    """About one piece a token."""
    return [text[at : at + size] for at in range(0, len(text), size)]


def opening(reply: Scripted, body: dict[str, Any], prompt_tokens: int) -> bytes:
    return frame(
        "message_start",
        message={
            "id": f"msg_{uuid.uuid4().hex}",
            "type": "message",
            "role": "assistant",
            "model": body.get("model", ""),
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {
                "input_tokens": reply.input_tokens or prompt_tokens,
                "cache_creation_input_tokens": 0,
                "cache_read_input_tokens": 0,
                "output_tokens": 1,
            },
        },
    ) + frame("ping")


def content(reply: Scripted, model: str, *, grain: int) -> Iterator[bytes]:
    """The blocks, a frame a piece of ``grain`` characters."""
    for index, part in enumerate(reply.parts):
        last = index == len(reply.parts) - 1
        if isinstance(part, Thought):
            start, deltas = _thought(part, grain, model)
        else:
            start, deltas = _block(part, grain, last=last, reply=reply)
        yield frame("content_block_start", index=index, content_block=start)
        for delta in deltas:
            yield frame("content_block_delta", index=index, delta=delta)
        yield frame("content_block_stop", index=index)


def _thought(part: Thought, grain: int, model: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    if part.redacted:
        return {"type": "redacted_thinking", "data": part.redacted}, []
    deltas = [{"type": "thinking_delta", "thinking": p} for p in pieces(part.text, grain)]
    deltas.append({"type": "signature_delta", "signature": _sign(part.text, model)})
    return {"type": "thinking", "thinking": "", "signature": ""}, deltas


def _block(
    part: str | Call, grain: int, *, last: bool, reply: Scripted
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    cut = last and reply.stop == "max_tokens"
    if isinstance(part, str):
        shown = part[: len(part) // 2] if cut else part
        deltas = [{"type": "text_delta", "text": p} for p in pieces(shown, grain)]
        return {"type": "text", "text": ""}, deltas
    raw = part.raw if part.raw is not None else json.dumps(part.arguments)
    if reply.fault == "badjson":
        raw = raw[:-1] + ', "broken": tru'
    if cut:
        raw = raw[: len(raw) // 2]
    deltas = [{"type": "input_json_delta", "partial_json": p} for p in ["", *pieces(raw, grain)]]
    start = {"type": "tool_use", "id": f"toolu_{uuid.uuid4().hex}", "name": part.tool, "input": {}}
    return start, deltas


def whole(reply: Scripted, model: str = "claude-test", *, grain: int = 4) -> bytes:
    """The body of a stream from its first byte to its last."""
    parts = [opening(reply, {"model": model}, 100), *content(reply, model, grain=grain)]
    return b"".join([*parts, closing(reply)])


def closing(reply: Scripted, prompt_tokens: int = 100) -> bytes:
    stop = reply.stop or ("tool_use" if reply.calls else "end_turn")
    tokens = max(1, sum(len(str(part)) for part in reply.parts) // 4)
    return frame(
        "message_delta",
        delta={"stop_reason": stop, "stop_sequence": None},
        usage={"output_tokens": tokens},
    ) + frame("message_stop")
