"""Assembles a reply from Anthropic's events, strictly: the result is a whole reply or an error."""

import json
import uuid
from dataclasses import dataclass, field
from typing import Any

from paca.common.text import to_encodable
from paca.engine.llm import strict_parsing
from paca.engine.llm.base import (
    Chunk,
    Notice,
    Reply,
    StopReason,
    Text,
    TextDelta,
    Thinking,
    ThinkingDelta,
    ToolUse,
    Usage,
    UsageSeen,
)
from paca.engine.llm.model_errors import ContextExceeded, StreamBroken
from paca.engine.llm.provider_errors import from_event

STOPS = {
    "end_turn": StopReason.END,
    "stop_sequence": StopReason.END,
    "tool_use": StopReason.TOOLS,
    "max_tokens": StopReason.OUTPUT_LIMIT,
    "refusal": StopReason.REFUSED,
}
UNKNOWN_STOP = "The model stopped for an unknown reason."
MALFORMED_EVENT = "The model's answer has a malformed event."


@dataclass(slots=True)
class _PartialBlock:
    """A content block that is not complete yet."""

    kind: str
    start: dict[str, Any]
    pieces: list[str] = field(default_factory=list)
    signature: str = ""
    closed: bool = False

    @property
    def text(self) -> str:
        return "".join(self.pieces)


class ReplyAssembler:
    """Takes the events of one stream in order. ``reply`` is set only by a proper end."""

    def __init__(self) -> None:
        self.reply: Reply | None = None
        self._blocks: dict[int, _PartialBlock] = {}
        self._usage: dict[str, int] = {}
        self._reported_usd: float | None = None  # only a gateway reports it
        self._stop: str | None = None

    def take(self, event: dict[str, Any]) -> list[Chunk]:
        """The chunks that result from this event.

        Raises ``StreamBroken`` if the event is malformed, and the ``ModelError`` that an event reports.
        """
        if event.get("error"):
            raise from_event(event, has_begun=bool(self._blocks))
        try:
            if event.get("type") == "message":
                return self._take_whole(event)
            chunk = self._take(event)
            return [] if chunk is None else [chunk]
        except (KeyError, TypeError, AttributeError):
            kind = str(event.get("type"))[:40]
            raise StreamBroken(MALFORMED_EVENT, said=f"({kind})") from None

    def _take(self, event: dict[str, Any]) -> Chunk | None:
        match event["type"]:
            case "content_block_delta":
                return self._add_delta(self._blocks[event["index"]], event["delta"])
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
        return None

    def _take_whole(self, message: dict[str, Any]) -> list[Chunk]:
        """Take a whole message, which some gateways send where a stream was asked for."""
        chunks: list[Chunk | None] = [self._count(message.get("usage"))]
        for index, start in enumerate(message["content"]):
            chunks.append(self._begin(index, start))
            block = self._blocks[index]
            if start["type"] == "thinking":
                chunks.append(
                    self._add_delta(
                        block, {"type": "thinking_delta", "thinking": start["thinking"]}
                    )
                )
                block.signature = start.get("signature") or ""
            block.closed = True
        self._stop = message.get("stop_reason")
        self.reply = self._finish()
        return [chunk for chunk in chunks if chunk is not None]

    def _begin(self, index: int, start: dict[str, Any]) -> Chunk | None:
        if index in self._blocks or not isinstance(index, int):
            raise KeyError(index)
        block = self._blocks[index] = _PartialBlock(start["type"], start)
        return self._add_text(block, start["text"]) if start.get("text") else None

    def _add_delta(self, block: _PartialBlock, delta: dict[str, Any]) -> Chunk | None:
        match delta["type"]:
            case "text_delta":
                return self._add_text(block, delta["text"])
            case "thinking_delta":
                text = to_encodable(delta["thinking"])
                block.pieces.append(text)
                return ThinkingDelta(text) if text else None
            case "input_json_delta":
                block.pieces.append(delta["partial_json"])
            case "signature_delta":
                block.signature += delta["signature"]
        return None

    def _add_text(self, block: _PartialBlock, text: str) -> TextDelta | None:
        if block.kind != "text":
            raise KeyError(block.kind)
        text = to_encodable(text)
        block.pieces.append(text)
        return TextDelta(text) if text else None

    def _count(self, usage: dict[str, Any] | None) -> UsageSeen:
        """Update the usage. Counts are cumulative; a missing count is unchanged."""
        for name, reported in (usage or {}).items():
            if (count := strict_parsing.token_count(reported)) is not None:
                self._usage[name] = count
        if (cost := strict_parsing.cost_usd(usage or {})) is not None:
            self._reported_usd = cost
        return UsageSeen(self.usage)

    @property
    def usage(self) -> Usage:
        count = self._usage.get
        return Usage(
            input=count("input_tokens", 0),
            output=count("output_tokens", 0),
            cache_read=count("cache_read_input_tokens", 0),
            cache_write=count("cache_creation_input_tokens", 0),
            reported_usd=self._reported_usd,
        )

    def _finish(self) -> Reply:
        stop, notices = self._stop_and_notices()
        # A call in a reply that was cut or refused is never run.
        with_calls = stop in (StopReason.END, StopReason.TOOLS)
        blocks = tuple(
            finished
            for _, block in sorted(self._blocks.items())
            if (finished := _finished_block(block, with_calls=with_calls)) is not None
        )
        if notices and not _is_whole_text(blocks):
            raise StreamBroken(UNKNOWN_STOP, said=self._named_stop())
        return Reply(blocks, _stop_reason(stop, blocks), self.usage, notices)

    def _stop_and_notices(self) -> tuple[StopReason, tuple[Notice, ...]]:
        """The stop reason. An unknown one is a notice, if the text is whole."""
        reason = (self._stop or "").lower()
        if reason == "model_context_window_exceeded":
            raise ContextExceeded
        if not reason:
            if not self._blocks:
                raise StreamBroken("The model's answer ended without a stop reason.")
            return StopReason.END, ()  # the end mark alone ends the answer
        if stop := STOPS.get(reason):
            return stop, ()
        notice = f"{UNKNOWN_STOP} {self._named_stop()} Its answer was taken as whole."
        return StopReason.END, (Notice("unknown_stop", notice),)

    def _named_stop(self) -> str:
        return f"({to_encodable((self._stop or '').lower())[:40]})"


def _is_whole_text(blocks: tuple[Text | Thinking | ToolUse, ...]) -> bool:
    kinds = {type(block) for block in blocks}
    return Text in kinds and ToolUse not in kinds


def _stop_reason(stop: StopReason, blocks: tuple[Text | Thinking | ToolUse, ...]) -> StopReason:
    calls = any(isinstance(block, ToolUse) for block in blocks)
    if stop is StopReason.TOOLS and not calls:
        raise StreamBroken("The model stopped for a tool call but made none.")
    return StopReason.TOOLS if calls else stop


def _finished_block(block: _PartialBlock, *, with_calls: bool) -> Text | Thinking | ToolUse | None:
    """The finished block; None for an empty one or a type that is not used here."""
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
            return _tool_use(block)
    return None


def _name(block: _PartialBlock) -> str:
    return strict_parsing.tool_name(block.start["name"])


def _tool_use(block: _PartialBlock) -> ToolUse:
    """The call. Arguments that cannot be read are a problem of the call."""
    given = block.start.get("input")
    raw = block.text if block.text.strip() else json.dumps(given) if given else ""
    arguments, problem = strict_parsing.arguments_or_problem(raw)
    return ToolUse(uuid.uuid4().hex, _name(block), arguments, problem)
