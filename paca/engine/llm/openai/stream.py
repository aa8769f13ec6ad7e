"""Assembles a reply from OpenAI's chunks, strictly: the result is a whole reply or an error.

The reply is complete only at the end of the stream, since the last chunks may have the usage.
"""

from collections.abc import Iterator
from typing import Any

from paca.common.text import to_encodable
from paca.engine.llm import strict_parsing
from paca.engine.llm.base import (
    Chunk,
    Overloaded,
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
from paca.engine.llm.openai import errors
from paca.engine.llm.openai.tool_calls import ToolCallAssembler

STOPS = {
    "stop": StopReason.END,
    "eos": StopReason.END,
    "end_turn": StopReason.END,
    "stop_sequence": StopReason.END,
    "tool_calls": StopReason.TOOLS,
    "function_call": StopReason.TOOLS,
    "tool_use": StopReason.TOOLS,
    "length": StopReason.OUTPUT_LIMIT,
    "max_tokens": StopReason.OUTPUT_LIMIT,
    "content_filter": StopReason.REFUSED,
    "refusal": StopReason.REFUSED,
}
ERROR_BY_STOP = {"insufficient_system_resource": Overloaded}
REASONING = ("reasoning_content", "reasoning")
CHARACTERS_PER_TOKEN = 4


class ReplyAssembler:
    """Takes the chunks of one stream in order. ``request_length`` is in characters.

    If the server reports no usage, it is estimated and marked as an estimate.
    """

    def __init__(self, request_length: int = 0) -> None:
        self._request_length = request_length
        self._text: list[str] = []
        self._thinking: list[str] = []
        self._calls = ToolCallAssembler()
        self._usage: Usage | None = None
        self._finish: str | None = None
        self._refused = False

    @property
    def finished(self) -> bool:
        """Whether a stop reason has come."""
        return self._finish is not None

    def take(self, event: dict[str, Any]) -> list[Chunk]:
        """The chunks that result from this event.

        Raises ``StreamBroken`` if the event is malformed, and the ``ModelError`` that an event reports.
        """
        if event.get("error"):
            raise errors.from_event(event)
        try:
            return list(self._take(event))
        except (KeyError, TypeError, AttributeError, IndexError):
            raise StreamBroken("The model's answer has a malformed event.") from None

    def _take(self, event: dict[str, Any]) -> Iterator[Chunk]:
        reported = event.get("usage") or (event.get("x_groq") or {}).get("usage")
        if reported and (counted := usage_of(reported)):
            self._usage = counted
            yield UsageSeen(counted)
        for choice in event.get("choices") or []:
            if choice.get("index") not in (None, 0):
                continue
            # Only one of the two: a message beside deltas repeats all of their content.
            yield from self._add_delta(
                choice.get("delta" if "delta" in choice else "message") or {}
            )
            self._finish = _reason(choice) or self._finish

    def _add_delta(self, delta: dict[str, Any]) -> Iterator[Chunk]:
        thought = next((delta[name] for name in REASONING if delta.get(name)), "")
        if thought:
            self._thinking.append(to_encodable(thought))
            yield ThinkingDelta(self._thinking[-1])
        for name in ("content", "refusal"):
            if text := _text_of(delta.get(name)):
                self._refused |= name == "refusal"
                self._text.append(to_encodable(text))
                yield TextDelta(self._text[-1])
        for piece in delta.get("tool_calls") or []:
            self._calls.take(piece)
        if legacy := delta.get("function_call"):
            self._calls.take({"index": 0, "function": legacy})

    @property
    def usage(self) -> Usage:
        """The usage that the server reported, or an estimate from the text so far."""
        if self._usage is not None:
            return self._usage
        length = sum(map(len, self._text)) + sum(map(len, self._thinking))
        return Usage(
            input=self._request_length // CHARACTERS_PER_TOKEN,
            output=length // CHARACTERS_PER_TOKEN,
            estimated=True,
        )

    def finish(self) -> Reply:
        """The reply, at the end of the stream. Raises ``StreamBroken`` if it is not complete."""
        stop = self._stop()
        blocks: list[Text | Thinking | ToolUse] = []
        if thinking := "".join(self._thinking):
            blocks.append(Thinking(thinking))
        if (text := "".join(self._text)).strip():
            blocks.append(Text(text))
        # A call in a reply that was cut or refused is never run.
        if self._calls and stop in (StopReason.END, StopReason.TOOLS):
            return Reply((*blocks, *self._calls.finish()), StopReason.TOOLS, self.usage)
        if stop is StopReason.TOOLS:
            raise StreamBroken("The model stopped for a tool call but made none.")
        return Reply(tuple(blocks), stop, self.usage)

    def _stop(self) -> StopReason:
        if self._finish is None:
            raise StreamBroken("The model's answer ended without its end mark.")
        stop = STOPS.get(self._finish)
        if stop is None:
            kind = ERROR_BY_STOP.get(self._finish, StreamBroken)
            raise kind(f"The model stopped for an unknown reason ({str(self._finish)[:40]}).")
        return StopReason.REFUSED if self._refused and stop is StopReason.END else stop


def _text_of(content: Any) -> str:
    """The text of a content, which some servers send as a list of parts."""
    if isinstance(content, list):
        return "".join(part["text"] for part in content if part.get("type") == "text")
    if content is not None and not isinstance(content, str):
        raise TypeError(content)
    return content or ""


def _reason(choice: dict[str, Any]) -> str | None:
    reason: str | None = choice.get("finish_reason")
    if not isinstance(reason, str | None):
        raise TypeError(reason)
    return reason


def usage_of(reported: dict[str, Any]) -> Usage | None:
    """The usage that the server reports. Its prompt tokens include those read from a cache.

    None if the values are no counts; the usage is then estimated.
    """
    details = reported.get("prompt_tokens_details") or {}
    prompt = strict_parsing.token_count(reported.get("prompt_tokens") or 0)
    completion = strict_parsing.token_count(reported.get("completion_tokens") or 0)
    read = strict_parsing.token_count(
        details.get("cached_tokens") or reported.get("prompt_cache_hit_tokens") or 0
    )
    written = strict_parsing.token_count(details.get("cache_write_tokens") or 0)
    if prompt is None or completion is None or read is None or written is None:
        return None
    return Usage(
        input=max(0, prompt - read - written),
        output=completion,
        cache_read=read,
        cache_write=written,
    )
