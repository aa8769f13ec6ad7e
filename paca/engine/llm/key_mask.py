"""Removes the agent's key from what a model says, wherever the stream cuts it.

A model server that repeats the key would otherwise put it into the log, onto the page and into prompts.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import replace
from typing import Any, cast

from paca.engine.llm import call_recording
from paca.engine.llm.base import (
    LLM,
    Chunk,
    Reply,
    Request,
    Text,
    TextDelta,
    Thinking,
    ThinkingDelta,
    ToolUse,
)
from paca.engine.llm.credentials import secrets_of
from paca.engine.llm.provider_errors import MIN_KEY_CHARACTERS

MASK = "***"
NAME_MASK = "___"  # in the name of a tool, which has no stars


class KeyMaskingLLM:
    """Wraps an adapter. A piece of text that may be the beginning of the key waits for the next one."""

    def __init__(self, llm: LLM, key: str) -> None:
        self._llm = llm
        self._key = key

    async def stream(self, request: Request) -> AsyncIterator[Chunk]:
        """Stream the chunks with ``***`` in place of the key."""
        call_recording.add_secret(self._key)
        text, thought = _Masked(self._key), _Masked(self._key)
        chunks = cast(AsyncGenerator[Chunk, None], self._llm.stream(request))
        async with aclosing(chunks):
            async for chunk in chunks:
                if isinstance(chunk, Reply):
                    for rest in (ThinkingDelta(thought.close()), TextDelta(text.close())):
                        if rest.text:
                            yield rest
                    yield _masked_reply(chunk, self._key)
                elif isinstance(chunk, TextDelta | ThinkingDelta):
                    held = text if isinstance(chunk, TextDelta) else thought
                    if shown := held.feed(chunk.text):
                        yield replace(chunk, text=shown)
                else:
                    yield chunk


class _Masked:
    """A text that comes in pieces."""

    def __init__(self, key: str) -> None:
        self._key, self._held = key, ""

    def feed(self, piece: str) -> str:
        """What is certain to hold no part of the key."""
        text = (self._held + piece).replace(self._key, MASK)
        held = 0
        for length in range(min(len(self._key) - 1, len(text)), 0, -1):
            if self._key.startswith(text[-length:]):
                held = length
                break
        self._held = text[len(text) - held :]
        return text[: len(text) - held]

    def close(self) -> str:
        rest, self._held = self._held, ""
        return rest


def _masked_reply(reply: Reply, key: str) -> Reply:
    """The reply without the key in its blocks and notices, which may quote the server."""
    notices = tuple(
        replace(notice, text=notice.text.replace(key, MASK)) for notice in reply.notices
    )
    blocks = tuple(_masked_block(block, key) for block in reply.blocks)
    return replace(reply, blocks=blocks, notices=notices)


def _masked_block(block: Text | Thinking | ToolUse, key: str) -> Text | Thinking | ToolUse:
    match block:
        case ToolUse():
            return replace(
                block,
                tool=block.tool.replace(key, NAME_MASK),
                arguments=_without(block.arguments, key),
                problem=block.problem.replace(key, MASK),
                attached={} if _holds(block.attached, key) else block.attached,
            )
        case Thinking() if _holds([block.text, block.signature, block.redacted], key):
            # A signature of the text as it was would be refused.
            return Thinking(block.text.replace(key, MASK))
        case Thinking():
            return replace(block, attached={} if _holds(block.attached, key) else block.attached)
        case Text():
            return replace(block, text=block.text.replace(key, MASK))


def _without(value: Any, key: str) -> Any:
    """The value with the mask in its texts and names. A key may have line feeds and quotes."""
    # guard: engine-key-in-answers
    if isinstance(value, str):
        return value.replace(key, MASK)
    if isinstance(value, dict):
        return {_without(name, key): _without(entry, key) for name, entry in value.items()}
    if isinstance(value, list):
        return [_without(entry, key) for entry in value]
    return value


def _holds(value: Any, key: str) -> bool:
    return bool(_without(value, key) != value)


def masked(llm: LLM, key: str) -> LLM:
    """The adapter, whose answers hold no secret of the key. A short one may be part of any word."""
    for secret in secrets_of(key):
        if len(secret) >= MIN_KEY_CHARACTERS:
            llm = KeyMaskingLLM(llm, secret)
    return llm
