"""Reads Anthropic's stream of events strictly: either a whole reply comes out, or an error."""

import uuid
from dataclasses import dataclass, field
from typing import Any

from paca.common.text import to_encodable
from paca.engine.llm import strict_parsing
from paca.engine.llm.anthropic import errors
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
                raise errors.from_event(event)
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
                text = to_encodable(delta["thinking"])
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
        text = to_encodable(text)
        block.pieces.append(text)
        return TextDelta(text) if text else None

    def _count(self, usage: dict[str, Any] | None) -> UsageSeen:
        """Counts are cumulative; an event that leaves one out leaves it as it was."""
        for name, told in (usage or {}).items():
            if (count := strict_parsing.tokens(told)) is not None:
                self._usage[name] = count
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
    return strict_parsing.tool_name(block.start["name"])


def _arguments(block: _Block) -> dict[str, Any]:
    """The arguments as an object. Nothing at all means none were needed."""
    if not block.text.strip():
        given = block.start.get("input") or {}
        return given if isinstance(given, dict) else strict_parsing.refuse(_name(block))
    return strict_parsing.arguments(block.text, _name(block))
