"""Reads OpenAI's stream of chunks strictly: either a whole reply comes out, or an error.

The reply is made when the stream is over, of all its chunks; the last ones may bring the usage.
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
from paca.engine.llm.litellm import errors
from paca.engine.llm.litellm.tool_calls import Calls

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
BROKEN_OFF = {"insufficient_system_resource": Overloaded}
REASONING = ("reasoning_content", "reasoning")
CHARACTERS_A_TOKEN = 4


class Assembler:
    """Takes the chunks of one stream in their order. ``asked`` is the request's length in characters.

    A server that tells no usage is estimated, and the estimate says that it is one.
    """

    def __init__(self, asked: int = 0) -> None:
        self._asked = asked
        self._text: list[str] = []
        self._thinking: list[str] = []
        self._calls = Calls()
        self._usage: Usage | None = None
        self._finish: str | None = None
        self._refused = False

    @property
    def finished(self) -> bool:
        """Whether the model said that, and why, it has stopped."""
        return self._finish is not None

    def take(self, event: dict[str, Any]) -> list[Chunk]:
        """What this chunk shows."""
        if event.get("error"):
            raise errors.from_event(event)
        try:
            return list(self._take(event))
        except (KeyError, TypeError, AttributeError, IndexError):
            raise StreamBroken("The model's answer has a malformed event.") from None

    def _take(self, event: dict[str, Any]) -> Iterator[Chunk]:
        told = event.get("usage") or (event.get("x_groq") or {}).get("usage")
        if told and (counted := usage_of(told)):
            self._usage = counted
            yield UsageSeen(counted)
        for choice in event.get("choices") or []:
            if choice.get("index") not in (None, 0):
                continue
            # Not both: a message beside the deltas says all of it again, calls too.
            yield from self._grow(choice.get("delta" if "delta" in choice else "message") or {})
            self._finish = _reason(choice) or self._finish

    def _grow(self, delta: dict[str, Any]) -> Iterator[Chunk]:
        thought = next((delta[name] for name in REASONING if delta.get(name)), "")
        if thought:
            self._thinking.append(to_encodable(thought))
            yield ThinkingDelta(self._thinking[-1])
        for name in ("content", "refusal"):
            if words := _words(delta.get(name)):
                self._refused |= name == "refusal"
                self._text.append(to_encodable(words))
                yield TextDelta(self._text[-1])
        for piece in delta.get("tool_calls") or []:
            self._calls.take(piece)
        if legacy := delta.get("function_call"):
            self._calls.take({"index": 0, "function": legacy})

    @property
    def usage(self) -> Usage:
        """As the server told it, or an estimate of what there is so far."""
        if self._usage is not None:
            return self._usage
        said = sum(map(len, self._text)) + sum(map(len, self._thinking))
        return Usage(
            input=self._asked // CHARACTERS_A_TOKEN,
            output=said // CHARACTERS_A_TOKEN,
            estimated=True,
        )

    def finish(self) -> Reply:
        """The reply, once the stream has ended as it should."""
        stop = self._stop()
        blocks: list[Text | Thinking | ToolUse] = []
        if thinking := "".join(self._thinking):
            blocks.append(Thinking(thinking))
        if (text := "".join(self._text)).strip():
            blocks.append(Text(text))
        # A call that the limit cut, or that stands in a refused reply, is never carried out.
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
            kind = BROKEN_OFF.get(self._finish, StreamBroken)
            raise kind(f"The model stopped for an unknown reason ({str(self._finish)[:40]}).")
        return StopReason.REFUSED if self._refused and stop is StopReason.END else stop


def _words(content: Any) -> str:
    """Text, which some servers send as a list of parts."""
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


def usage_of(told: dict[str, Any]) -> Usage | None:
    """Tokens as the server counts them; what was read from a cache is a part of its prompt.

    None if these are no counts: it is then estimated, as where nothing is told.
    """
    details = told.get("prompt_tokens_details") or {}
    prompt = strict_parsing.tokens(told.get("prompt_tokens") or 0)
    completion = strict_parsing.tokens(told.get("completion_tokens") or 0)
    read = strict_parsing.tokens(
        details.get("cached_tokens") or told.get("prompt_cache_hit_tokens") or 0
    )
    written = strict_parsing.tokens(details.get("cache_write_tokens") or 0)
    if prompt is None or completion is None or read is None or written is None:
        return None
    return Usage(
        input=max(0, prompt - read - written),
        output=completion,
        cache_read=read,
        cache_write=written,
    )
