"""Reads Anthropic's stream of events strictly: either a whole reply comes out, or an error."""

import json
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from paca.engine.llm import anthropic_errors
from paca.engine.llm.base import (
    Chunk,
    ContextExceeded,
    Reply,
    StopReason,
    StreamBroken,
    Text,
    TextDelta,
    Thinking,
    ThinkingDelta,
    ToolUse,
    Usage,
    UsageSeen,
)

STOPS = {
    "end_turn": StopReason.END,
    "stop_sequence": StopReason.END,
    "tool_use": StopReason.TOOLS,
    "max_tokens": StopReason.OUTPUT_LIMIT,
    "refusal": StopReason.REFUSED,
}
LONGEST_EVENT = 32 * 1024 * 1024


class EventReader:
    """Bytes in, events out: the part of the server-sent events format that is used here."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> Iterator[dict[str, Any]]:
        rest = self._rest + data
        if b"\r" in rest:
            rest = rest.replace(b"\r\n", b"\n")
        *blocks, self._rest = rest.split(b"\n\n")
        if len(self._rest) > LONGEST_EVENT:
            raise StreamBroken("The model's answer has an event without an end.")
        for block in blocks:
            lines = (line[5:] for line in block.split(b"\n") if line.startswith(b"data:"))
            payload = b"\n".join(lines)
            if payload:
                yield _event(payload)


def _event(payload: bytes) -> dict[str, Any]:
    try:
        event = json.loads(payload)
    except ValueError:
        raise StreamBroken("The model's answer has an event that is no JSON.") from None
    if not isinstance(event, dict):
        raise StreamBroken("The model's answer has an event that is no object.")
    return event


@dataclass(slots=True)
class _Block:
    """A content block while it grows."""

    kind: str
    start: dict[str, Any]
    pieces: list[str] = field(default_factory=list)
    signature: str = ""
    closed: bool = False

    @property
    def text(self) -> str:
        return "".join(self.pieces)


class Assembler:
    """Takes the events of one stream in their order; ``reply`` is set by a proper end alone."""

    def __init__(self) -> None:
        self.reply: Reply | None = None
        self._blocks: dict[int, _Block] = {}
        self._usage: dict[str, int] = {}
        self._stop: str | None = None

    def take(self, event: dict[str, Any]) -> Chunk | None:
        """What this event shows, if anything."""
        try:
            return self._take(event)
        except (KeyError, TypeError, AttributeError):
            kind = str(event.get("type"))[:40]
            raise StreamBroken(f"The model's answer has a malformed event ({kind}).") from None

    def _take(self, event: dict[str, Any]) -> Chunk | None:
        match event["type"]:
            case "content_block_delta":
                return self._grow(self._blocks[event["index"]], event["delta"])
            case "content_block_start":
                return self._begin(event["index"], event["content_block"])
            case "content_block_stop":
                self._blocks[event["index"]].closed = True
            case "message_start":
                return self._count(event["message"].get("usage"))
            case "message_delta":
                self._stop = event["delta"].get("stop_reason") or self._stop
                return self._count(event.get("usage"))
            case "message_stop":
                self.reply = self._finish()
            case "error":
                raise anthropic_errors.from_event(event)
        return None

    def _begin(self, index: int, start: dict[str, Any]) -> Chunk | None:
        if index in self._blocks or not isinstance(index, int):
            raise KeyError(index)
        block = self._blocks[index] = _Block(start["type"], start)
        return self._append(block, start["text"]) if start.get("text") else None

    def _grow(self, block: _Block, delta: dict[str, Any]) -> Chunk | None:
        match delta["type"]:
            case "text_delta":
                return self._append(block, delta["text"])
            case "thinking_delta":
                text = _storable(delta["thinking"])
                block.pieces.append(text)
                return ThinkingDelta(text) if text else None
            case "input_json_delta":
                block.pieces.append(delta["partial_json"])
            case "signature_delta":
                block.signature += delta["signature"]
        return None

    def _append(self, block: _Block, text: str) -> TextDelta | None:
        if block.kind != "text":
            raise KeyError(block.kind)
        text = _storable(text)
        block.pieces.append(text)
        return TextDelta(text) if text else None

    def _count(self, usage: dict[str, Any] | None) -> UsageSeen:
        """Counts are cumulative; an event that leaves one out leaves it as it was."""
        self._usage.update({k: v for k, v in (usage or {}).items() if isinstance(v, int)})
        return UsageSeen(self.usage)

    @property
    def usage(self) -> Usage:
        seen = self._usage.get
        return Usage(
            input=seen("input_tokens", 0),
            output=seen("output_tokens", 0),
            cache_read=seen("cache_read_input_tokens", 0),
            cache_write=seen("cache_creation_input_tokens", 0),
        )

    def _finish(self) -> Reply:
        if self._stop == "model_context_window_exceeded":
            raise ContextExceeded
        stop = STOPS.get(self._stop or "")
        if stop is None:
            raise StreamBroken(f"The model stopped for an unknown reason ({self._stop}).")
        # A call that the limit cut, or that stands in a refused reply, is never carried out.
        with_calls = stop in (StopReason.END, StopReason.TOOLS)
        blocks = tuple(
            made
            for _, block in sorted(self._blocks.items())
            if (made := _made(block, with_calls=with_calls)) is not None
        )
        return Reply(blocks, _consistent(stop, blocks), self.usage)


def _consistent(stop: StopReason, blocks: tuple[Text | Thinking | ToolUse, ...]) -> StopReason:
    calls = any(isinstance(block, ToolUse) for block in blocks)
    if stop is StopReason.TOOLS and not calls:
        raise StreamBroken("The model stopped for a tool call but made none.")
    return StopReason.TOOLS if calls else stop


def _made(block: _Block, *, with_calls: bool) -> Text | Thinking | ToolUse | None:
    """The finished block; None for what is empty or not for us."""
    if block.kind == "tool_use" and not with_calls:
        return None
    if not block.closed and with_calls:
        raise StreamBroken("The model's answer ended within a block.")
    match block.kind:
        case "text":
            return Text(block.text) if block.text.strip() else None
        case "thinking":
            return Thinking(block.text, signature=block.signature)
        case "redacted_thinking":
            return Thinking("", redacted=block.start["data"])
        case "tool_use":
            return ToolUse(uuid.uuid4().hex, _name(block), _arguments(block))
    return None


def _name(block: _Block) -> str:
    name = block.start["name"]
    if not isinstance(name, str) or not name:
        raise StreamBroken("The model called a tool without a name.")
    return name


def _arguments(block: _Block) -> dict[str, Any]:
    """The arguments as an object. Nothing at all means none were needed."""
    raw = block.text
    if not raw.strip():
        given = block.start.get("input") or {}
        return given if isinstance(given, dict) else _refuse(block)
    try:
        arguments = json.loads(raw, parse_constant=_no_number)
        raw.encode()
        if "\\u" in raw:  # half a character, escaped, parses but can be stored nowhere
            json.dumps(arguments, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return _refuse(block)
    return arguments if isinstance(arguments, dict) else _refuse(block)


def _no_number(constant: str) -> float:
    raise ValueError(constant)


def _refuse(block: _Block) -> dict[str, Any]:
    raise StreamBroken(f"The arguments of the model's call of {_name(block)} do not parse.")


def _storable(text: str) -> str:
    """Half a character (a lone surrogate) cannot be stored; it is replaced."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
