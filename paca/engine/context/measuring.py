"""Measures the next request: what fills it, and how many tokens that is by the provider's last count."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from paca import events
from paca.engine.llm.base import Message, Text, ToolResult, ToolUse

CHARACTERS_PER_TOKEN = 4
# The tokens a character that are believed. Some servers count only the part of a request that is new to them.
LEAST_RATIO, MOST_RATIO = 1 / 10, 2.0

# What an image takes of a window, as if it were text: about 1,600 tokens at most.
IMAGE_CHARACTERS = 6_400


@dataclass(frozen=True, slots=True)
class Sizes:
    """The characters of messages: those of tool results, and those of all the rest."""

    texts: int = 0
    results: int = 0

    @property
    def total(self) -> int:
        return self.texts + self.results

    def __add__(self, other: Sizes) -> Sizes:
        return Sizes(self.texts + other.texts, self.results + other.results)


def size_of(messages: Iterable[Message]) -> Sizes:
    """The characters of the messages."""
    texts = results = 0
    for message in messages:
        for block in message.blocks:
            if isinstance(block, ToolResult):
                results += len(block.output) + IMAGE_CHARACTERS * len(block.images)
            else:
                texts += _length(block)
    return Sizes(texts, results)


def _length(block: object) -> int:
    match block:
        case Text(text):
            return len(text)
        case ToolUse(arguments=arguments):
            return len(json.dumps(arguments))
    return 0


@dataclass(frozen=True, slots=True)
class Measured:
    """What is known about the first ``messages`` closed messages of a history, which were a request.

    ``tokens`` is the provider's count for it, with the system prompt and the tools; 0 if it is unknown or
    the messages were changed since. ``ratio`` is the number of tokens a character.
    """

    messages: int = 0
    sizes: Sizes = Sizes()
    tokens: int = 0
    ratio: float = 1 / CHARACTERS_PER_TOKEN

    def after_request(self, closed: tuple[Message, ...], usage: events.UsageRecorded) -> Measured:
        """What is known after this usage of a request with the ``closed`` messages."""
        sizes = self.sizes + size_of(closed[self.messages :])
        found = replace(self, messages=len(closed), sizes=sizes, tokens=0)
        tokens = sum(each or 0 for each in (usage.input, usage.cache_read, usage.cache_write))
        ratio = tokens / usage.request_characters if usage.request_characters else 0
        # guard: context-implausible-count
        if not LEAST_RATIO <= ratio <= MOST_RATIO:
            return found
        return replace(found, tokens=tokens, ratio=ratio)

    def after_rewrite(self) -> Measured:
        """What is known after messages were shortened or replaced."""
        return Measured(ratio=self.ratio)


@dataclass(frozen=True, slots=True)
class Overhead:
    """The characters that each request begins with: the system prompt and the tools."""

    system: int
    tools: int


@dataclass(frozen=True, slots=True)
class RequestSize:
    """The size of a request: ``used`` tokens, and the characters of its parts."""

    used: int
    overhead: Overhead
    sizes: Sizes
    ratio: float

    @property
    def characters(self) -> int:
        return self.overhead.system + self.overhead.tools + self.sizes.total

    @property
    def overhead_tokens(self) -> int:
        """The tokens of the system prompt and the tools."""
        return int((self.overhead.system + self.overhead.tools) * self.ratio)

    def characters_of(self, tokens: float) -> int:
        """The characters that are so many tokens."""
        return int(tokens / self.ratio)

    def counted(self, tokens: int) -> RequestSize:
        """The same request with the provider's count of its tokens, if that can be believed."""
        plausible = LEAST_RATIO <= tokens / (self.characters or 1) <= MOST_RATIO
        return replace(self, used=tokens) if plausible else self

    def as_context(self, window: int | None) -> dict[str, Any]:
        """The size as people see it: tokens used, the window in tokens or null, and the parts."""
        share = self.used / (self.characters or 1)
        parts = {
            "system": self.overhead.system,
            "tools": self.overhead.tools,
            "messages": self.sizes.texts,
            "results": self.sizes.results,
        }
        scaled = {name: round(characters * share) for name, characters in parts.items()}
        return {"used": self.used, "window": window, "parts": scaled}


def request_size(
    messages: tuple[Message, ...], measured: Measured, overhead: Overhead
) -> RequestSize:
    """The size of a request with these messages, whose beginning was ``measured``."""
    new = size_of(messages[measured.messages :])
    sizes = measured.sizes + new
    if measured.tokens:
        used = measured.tokens + new.total * measured.ratio
    else:
        used = (overhead.system + overhead.tools + sizes.total) * measured.ratio
    return RequestSize(int(used), overhead, sizes, measured.ratio)
