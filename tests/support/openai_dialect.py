"""The OpenAI chat completions dialect of the scripted server: checks a request, renders a reply."""

import json
import uuid
from collections.abc import Iterator
from typing import Any

from tests.support.anthropic_dialect import is_image, pieces
from tests.support.model_script import Call, Scripted, Thought

PATH = "/v1/chat/completions"
TEXT_MARK, ARGUMENTS_MARK, THOUGHT_MARK = b'"content":"', b'"arguments":"', b'"reasoning_content":"'
HTTP_ERRORS = {
    "400": (400, "invalid_request_error", "The request is not valid."),
    "badrequest": (400, "invalid_request_error", "temperature: not supported by this model"),
    "nocredit": (429, "insufficient_quota", "You exceeded your current quota, please check."),
    "ctx": (
        400,
        "context_length_exceeded",
        "This model's maximum context length is 8192 tokens. However, you requested 9000.",
    ),
    "401": (401, "invalid_api_key", "Incorrect API key provided."),
    "403": (403, "permission_denied", "Your key may not use this resource."),
    "echokey": (401, "invalid_api_key", "Incorrect API key provided: {key}"),
    "redirect": (307, "", ""),
    "404": (404, "model_not_found", "The model `no-such-model` does not exist."),
    "413": (413, "request_too_large", "Request exceeds the maximum size"),
    "429": (429, "rate_limit_exceeded", "Rate limit reached for requests."),
    "500": (500, "server_error", "The server had an error."),
    "503": (503, "server_error", "Service unavailable"),
    "529": (529, "overloaded_error", "Overloaded"),
}
STREAM_ERRORS = {
    "midover": ("server_error", "Overloaded"),
    "midrate": ("rate_limit_exceeded", "Rate limited in mid-stream"),
}
STOPS = {"max_tokens": "length", "refusal": "content_filter", "end_turn": "stop"}


def error_body(kind: str, message: str) -> bytes:
    return json.dumps({"error": {"message": message, "type": kind, "code": kind}}).encode()


def stream_error(fault: str) -> bytes:
    kind, message = STREAM_ERRORS[fault]
    return frame({"error": {"message": message, "code": kind}})


# --- reading a request --------------------------------------------------------------------------


def conversation(body: dict[str, Any]) -> list[dict[str, Any]]:
    """The messages, the first a person's."""
    return [message for message in body["messages"] if message["role"] != "system"]


def system_of(body: dict[str, Any]) -> Any:
    """The system prompt, as it was sent."""
    return [message for message in body["messages"] if message["role"] == "system"]


def text_of(message: dict[str, Any]) -> str:
    """What a person wrote in a message; tool results are not their words."""
    content = message["content"] or "" if message["role"] != "tool" else ""
    if isinstance(content, list):
        content = "\n\n".join(part["text"] for part in content[1:] if part.get("type") == "text")
    return str(content)


def is_tool_turn(message: dict[str, Any]) -> bool:
    return bool(message.get("tool_calls"))


def problems(body: dict[str, Any]) -> Iterator[str]:
    """What strict servers answer 400 to, and what no client of ours should send."""
    messages = conversation(body)
    if not messages or messages[0].get("role") != "user":
        yield "messages: the first message must be the user's"
        return
    if body.get("stream") is not True:
        yield "stream: only streams are served here"
    roles = [message["role"] for message in messages if message["role"] != "tool"]
    if any(earlier == later for earlier, later in zip(roles, roles[1:], strict=False)):
        results = [message["role"] for message in messages]
        if not _tools_between(results):
            yield f"messages: roles must alternate, not {results}"
    for number, message in enumerate(messages):
        if not message.get("content") and not message.get("tool_calls"):
            yield f"messages.{number}: content must not be empty"
    yield from _unpaired(messages)


def _tools_between(roles: list[str]) -> bool:
    """Two replies in a row are right where results of tools stand between them."""
    for earlier, later in zip(roles, roles[1:], strict=False):
        if earlier == later and earlier != "tool":
            return False
    return True


def _unpaired(messages: list[dict[str, Any]]) -> Iterator[str]:
    open_calls: list[str] = []
    for number, message in enumerate(messages):
        if message["role"] == "tool":
            if message["tool_call_id"] not in open_calls:
                yield f"messages.{number}: a result without its call"
            else:
                open_calls.remove(message["tool_call_id"])
            continue
        if open_calls:
            yield f"messages.{number}: each tool call must be followed by its result"
        open_calls = [call["id"] for call in message.get("tool_calls") or []]
        if len(set(open_calls)) != len(open_calls):
            yield f"messages.{number}: tool call ids must be unique"
    if open_calls:
        yield "messages: the last tool call has no result"


def foreign_thinking(body: dict[str, Any]) -> str:
    """What is no image is refused; "" when all is well."""
    for number, message in enumerate(body["messages"]):
        content = message.get("content")
        for part in content if isinstance(content, list) else ():
            if part.get("type") == "image_url" and not is_image(
                *_data_of(part["image_url"]["url"])
            ):
                return f"messages.{number}: Invalid image data."
    return ""


def _data_of(url: str) -> tuple[str, str]:
    kind, _, data = url.removeprefix("data:").partition(";base64,")
    return kind, data


# --- rendering a reply --------------------------------------------------------------------------


def frame(facts: dict[str, Any]) -> bytes:
    return f"data: {json.dumps(facts, separators=(',', ':'))}\n\n".encode()


def chunk(delta: dict[str, Any], finish: str | None = None, **more: Any) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return frame(
        {"id": "chatcmpl-test", "object": "chat.completion.chunk", "choices": [choice], **more}
    )


def opening(reply: Scripted, body: dict[str, Any], prompt_tokens: int) -> bytes:
    return b": keep-alive\n\n" + chunk({"role": "assistant", "content": ""})


def content(reply: Scripted, model: str, *, grain: int) -> Iterator[bytes]:
    """The deltas, a frame a piece of ``grain`` characters."""
    number = 0
    for index, part in enumerate(reply.parts):
        cut = index == len(reply.parts) - 1 and reply.stop == "max_tokens"
        if isinstance(part, Thought):
            yield from (chunk({"reasoning_content": piece}) for piece in pieces(part.text, grain))
        elif isinstance(part, Call):
            yield from _call(part, number, grain, cut=cut, broken=reply.fault == "badjson")
            number += 1
        else:
            shown = part[: len(part) // 2] if cut else part
            yield from (chunk({"content": piece}) for piece in pieces(shown, grain))


def _call(part: Call, number: int, grain: int, *, cut: bool, broken: bool) -> Iterator[bytes]:
    raw = part.raw if part.raw is not None else json.dumps(part.arguments)
    if broken:
        raw = raw[:-1] + ', "broken": tru'
    if cut:
        raw = raw[: len(raw) // 2]
    begun = {
        "index": number,
        "id": f"call_{uuid.uuid4().hex[:24]}",
        "type": "function",
        "function": {"name": part.tool, "arguments": ""},
    }
    yield chunk({"tool_calls": [begun]})
    for piece in pieces(raw, grain):
        yield chunk({"tool_calls": [{"index": number, "function": {"arguments": piece}}]})


def whole(reply: Scripted, model: str = "gpt-test", *, grain: int = 4) -> bytes:
    """The body of a stream from its first byte to its last."""
    parts = [opening(reply, {"model": model}, 100), *content(reply, model, grain=grain)]
    return b"".join([*parts, closing(reply)])


def closing(reply: Scripted, prompt_tokens: int = 100) -> bytes:
    stop = STOPS.get(reply.stop, reply.stop) or ("tool_calls" if reply.calls else "stop")
    usage: dict[str, Any] = {
        "prompt_tokens": reply.input_tokens or prompt_tokens,
        "completion_tokens": max(1, sum(len(str(part)) for part in reply.parts) // 4),
    }
    if reply.cost_usd is not None:
        usage["cost"] = reply.cost_usd
    last = frame({"id": "chatcmpl-test", "choices": [], "usage": usage})
    return chunk({}, stop) + last + b"data: [DONE]\n\n"
