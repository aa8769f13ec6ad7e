"""Assembles a reply from OpenAI's chunks, strictly: the result is a whole reply or an error.

The reply is complete only at the end of the stream, since the last chunks may have the usage.
"""

from collections.abc import Iterator
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
from paca.engine.llm.model_errors import Overloaded, StreamBroken
from paca.engine.llm.openai import attachments
from paca.engine.llm.openai.errors import reports_error
from paca.engine.llm.openai.reasoning_tags import Piece, ReasoningTags
from paca.engine.llm.openai.tool_calls import ToolCallAssembler
from paca.engine.llm.provider_errors import from_event

STOPS = {
    "stop": StopReason.END,
    "eos": StopReason.END,
    "end": StopReason.END,
    "done": StopReason.END,
    "complete": StopReason.END,
    "end_turn": StopReason.END,
    "stop_sequence": StopReason.END,
    "tool_calls": StopReason.TOOLS,
    "tool_call": StopReason.TOOLS,
    "function_call": StopReason.TOOLS,
    "tool_use": StopReason.TOOLS,
    "length": StopReason.OUTPUT_LIMIT,
    "max_tokens": StopReason.OUTPUT_LIMIT,
    "max_output_tokens": StopReason.OUTPUT_LIMIT,
    "model_length": StopReason.OUTPUT_LIMIT,
    "content_filter": StopReason.REFUSED,
    "refusal": StopReason.REFUSED,
    "safety": StopReason.REFUSED,
    "recitation": StopReason.REFUSED,
    "prohibited_content": StopReason.REFUSED,
    "sensitive": StopReason.REFUSED,
}
# Reasons that say that the answer is not whole.
UNKNOWN_STOP = "The model stopped for an unknown reason."
BROKEN = {
    "insufficient_system_resource": Overloaded,
    "error": StreamBroken,
    "abort": StreamBroken,
    "aborted": StreamBroken,
    "cancelled": StreamBroken,
    "network_error": StreamBroken,
    "malformed_function_call": StreamBroken,
}
REASONING = ("reasoning_content", "reasoning")
CHARACTERS_PER_TOKEN = 4
# A server that reports far fewer tokens than this part of the estimate has read a part of the request.
READ_PART, LEAST_ESTIMATE = 0.4, 3000


class ReplyAssembler:
    """Takes the chunks of one stream in order. ``request_length`` is in characters.

    ``family`` is that of the model. If the server reports no usage, it is estimated and marked so.
    """

    def __init__(self, request_length: int = 0, *, family: str = "") -> None:
        self._request_length = request_length
        self._family = family
        self._text: list[str] = []
        self._thinking: list[str] = []
        self._thinking_field = ""
        self._attached: dict[str, Any] = {}
        self._tags = ReasoningTags()
        self._calls = ToolCallAssembler()
        self._usage: Usage | None = None
        self._finish: str | None = None
        self._refused = False

    def take(self, event: dict[str, Any]) -> list[Chunk]:
        """The chunks that result from this event.

        Raises ``StreamBroken`` if the event is malformed, and the ``ModelError`` that an event reports.
        """
        if reports_error(event):
            raise from_event(event, has_begun=self._has_begun)
        try:
            return list(self._take(event))
        except (KeyError, TypeError, AttributeError, IndexError):
            raise StreamBroken("The model's answer has a malformed event.") from None

    @property
    def _has_begun(self) -> bool:
        return bool(self._text or self._thinking or self._calls)

    def _take(self, event: dict[str, Any]) -> Iterator[Chunk]:
        reported = event.get("usage") or (event.get("x_groq") or {}).get("usage")
        if reported and (counted := usage_of(reported)):
            self._usage = counted
            yield UsageSeen(counted)
        for choice in event.get("choices") or []:
            if choice.get("index") not in (None, 0):
                continue
            if reports_error({**choice, "choices": None, "message": None}):
                raise from_event(choice, has_begun=self._has_begun)
            # Only one of the two: a message beside deltas repeats all of their content.
            yield from self._add_delta(
                choice.get("delta" if "delta" in choice else "message") or {}
            )
            self._finish = _reason(choice) or self._finish

    def _add_delta(self, delta: dict[str, Any]) -> Iterator[Chunk]:
        attachments.merge(self._attached, attachments.of_reply(delta, without=REASONING))
        field = next((name for name in REASONING if delta.get(name)), "")
        if field:
            self._thinking_field = field
            yield from self._think(delta[field])
        text, thought = _content_of(delta.get("content"))
        yield from self._think(thought)
        for piece in self._tags.feed(to_encodable(text)):
            yield from self._add_piece(piece)
        if refusal := _content_of(delta.get("refusal"))[0]:
            self._refused = True
            yield self._say(refusal)
        for call in delta.get("tool_calls") or []:
            self._calls.take(call)
        if legacy := delta.get("function_call"):
            self._calls.take({"index": 0, "function": legacy})

    def _add_piece(self, piece: Piece) -> Iterator[Chunk]:
        if piece.ends_reasoning:
            self._thinking += self._text
            self._text = []
        if piece.is_reasoning:
            yield from self._think(piece.text)
        elif piece.text:
            yield self._say(piece.text)

    def _say(self, text: str) -> TextDelta:
        self._text.append(to_encodable(text))
        return TextDelta(self._text[-1])

    def _think(self, text: str) -> Iterator[ThinkingDelta]:
        if text:
            self._thinking.append(to_encodable(text))
            yield ThinkingDelta(self._thinking[-1])

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

    def close(self) -> list[Chunk]:
        """The text that was held back in case that it began a tag, at the end of the stream."""
        return [chunk for piece in self._tags.close() for chunk in self._add_piece(piece)]

    def finish(self, *, has_end_mark: bool = False) -> Reply:
        """The reply, after ``close``. ``has_end_mark``: the server said that this is the end.

        Raises ``StreamBroken`` if the reply is not complete.
        """
        stop, notices = self._stop(has_end_mark)
        blocks = self._blocks()
        notices += self._usage_notices()
        # A call in a reply that was cut or refused is never run.
        if self._calls and stop in (StopReason.END, StopReason.TOOLS):
            calls = self._calls.finish(self._family)
            return Reply((*blocks, *calls), StopReason.TOOLS, self.usage, notices)
        if stop is StopReason.TOOLS:
            raise StreamBroken("The model stopped for a tool call but made none.")
        return Reply(blocks, stop, self.usage, notices)

    def _blocks(self) -> tuple[Text | Thinking | ToolUse, ...]:
        blocks: list[Text | Thinking | ToolUse] = []
        fields = dict(self._attached)
        if self._thinking_field and "reasoning_details" not in fields:
            fields[attachments.TEXT_FIELD] = self._thinking_field
        attached = attachments.storable(self._family, fields)
        if (thinking := "".join(self._thinking)) or attached:
            blocks.append(Thinking(thinking, attached=attached))
        if (text := "".join(self._text)).strip():
            blocks.append(Text(text))
        return tuple(blocks)

    def _stop(self, has_end_mark: bool) -> tuple[StopReason, tuple[Notice, ...]]:
        # Some services write the reasons in capital letters.
        reason = None if self._finish is None else self._finish.lower()
        stop = STOPS.get(reason or "")
        if stop is not None:
            refused = self._refused and stop is StopReason.END
            return StopReason.REFUSED if refused else stop, ()
        if reason is None:
            # guard: engine-end-mark
            if not (has_end_mark and self._has_begun):
                raise StreamBroken("The model's answer ended without its end mark.")
            return StopReason.REFUSED if self._refused else StopReason.END, ()
        named = f"({to_encodable(reason)[:40]})"
        if reason in BROKEN or self._calls or not "".join(self._text).strip():
            raise BROKEN.get(reason, StreamBroken)(UNKNOWN_STOP, said=named)
        notice = f"{UNKNOWN_STOP} {named} Its answer was taken as whole."
        return StopReason.END, (Notice("unknown_stop", notice),)

    def _usage_notices(self) -> tuple[Notice, ...]:
        """A notice if the server has read only a part of the request, as Ollama does by default."""
        estimate = self._request_length // CHARACTERS_PER_TOKEN
        if self._usage is None or estimate < LEAST_ESTIMATE:
            return ()
        read = self._usage.input + self._usage.cache_read + self._usage.cache_write
        # guard: engine-request-read-in-part
        if read == 0 or read > estimate * READ_PART:
            return ()
        text = (
            f"The model server has read only {read:,} tokens of a request of about {estimate:,}, so the "
            "model did not see the rest. Give its context a larger size: OLLAMA_CONTEXT_LENGTH for Ollama, "
            "--ctx-size for llama.cpp, --max-model-len for vLLM."
        )
        return (Notice("request_read_in_part", text),)


def _content_of(content: Any) -> tuple[str, str]:
    """The text and the reasoning of a content, which some servers send as a list of parts."""
    if isinstance(content, list):
        texts = [part["text"] for part in content if part.get("type") == "text"]
        thoughts = [_thought(part) for part in content if part.get("type") == "thinking"]
        return "".join(texts), "".join(thoughts)
    if content is not None and not isinstance(content, str):
        raise TypeError(content)
    return content or "", ""


def _thought(part: dict[str, Any]) -> str:
    thought = part["thinking"]
    return thought if isinstance(thought, str) else _content_of(thought)[0]


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
        reported_usd=strict_parsing.cost_usd(reported),
    )
