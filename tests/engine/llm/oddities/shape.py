"""A shape, and short builders of the bytes of both dialects."""

import json
from dataclasses import dataclass
from typing import Any, Literal

from paca.engine.llm.model_errors import ModelError

DONE = b"data: [DONE]\n\n"
LS = {"command": "ls"}


@dataclass(frozen=True, kw_only=True)
class Shape:
    """The bytes of an answer, and what must come of it. None: the rule says nothing about it.

    ``words`` must be in the error's text. ``calls`` are pairs of a tool and its arguments.
    """

    body: bytes
    dialect: Literal["openai", "anthropic"] = "openai"
    status: int = 200
    label: str = "text/event-stream"
    text: str | None = None
    thinking: str | None = None
    calls: tuple[tuple[str, dict[str, Any]], ...] | None = None
    notice: str | None = None
    stop: str | None = None
    error: type[ModelError] | None = None
    words: str = ""
    retried: bool | None = None


def sse(*events: Any, end: bytes = DONE) -> bytes:
    """A stream of OpenAI's dialect."""
    return b"".join(f"data: {json.dumps(event)}\n\n".encode() for event in events) + end


def delta(finish: str | None = None, **facts: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": facts, "finish_reason": finish}]}


def says(*pieces: str, finish: str | None = "stop", end: bytes = DONE) -> bytes:
    """A stream with these pieces of text."""
    last = [] if finish is None else [delta(finish)]
    return sse(*(delta(content=piece) for piece in pieces), *last, end=end)


def calling(arguments: Any, finish: str | None = "tool_calls", **more: Any) -> bytes:
    """A stream with one call of ``bash``. Arguments that are no text go out as they are."""
    call = {"index": 0, "id": "a", "function": {"name": "bash", "arguments": arguments}, **more}
    last = [] if finish is None else [delta(finish)]
    return sse(delta(tool_calls=[call]), *last)


def whole(finish: str | None = "stop", **message: Any) -> dict[str, Any]:
    """A ``chat.completion``."""
    answer = {"role": "assistant", **message}
    usage = {"prompt_tokens": 5, "completion_tokens": 6}
    choice = {"index": 0, "message": answer, "finish_reason": finish}
    return {"object": "chat.completion", "choices": [choice], "usage": usage}


def as_json(value: Any) -> bytes:
    return json.dumps(value).encode()


def event(kind: str, **facts: Any) -> bytes:
    """An event of Anthropic's dialect."""
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **facts})}\n\n".encode()


def block(start: dict[str, Any], *deltas: dict[str, Any], index: int = 0) -> bytes:
    """A content block of Anthropic's dialect."""
    return b"".join(
        [
            event("content_block_start", index=index, content_block=start),
            *(event("content_block_delta", index=index, delta=each) for each in deltas),
            event("content_block_stop", index=index),
        ]
    )


def claude_says(text: str, reason: str | None = "end_turn") -> bytes:
    """A stream of Anthropic's dialect with this text."""
    words = block({"type": "text", "text": ""}, {"type": "text_delta", "text": text})
    return BEGIN + words + claude_ends(reason)


def claude_calls(*pieces: str) -> bytes:
    """A stream of Anthropic's dialect with one call of ``bash``."""
    start = {"type": "tool_use", "id": "t", "name": "bash", "input": {}}
    deltas = ({"type": "input_json_delta", "partial_json": piece} for piece in pieces)
    return BEGIN + block(start, *deltas) + claude_ends("tool_use")


def claude_ends(reason: str | None) -> bytes:
    return event("message_delta", delta={"stop_reason": reason}, usage={}) + event("message_stop")


BEGIN = event("message_start", message={"usage": {"input_tokens": 5, "output_tokens": 1}})
