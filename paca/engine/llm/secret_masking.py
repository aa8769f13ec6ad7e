"""Removes secrets from what a model is asked and from what it says, wherever the stream cuts it.

A provider reads all that a model is asked. A server that repeats the agent's key would otherwise put it into the log,
onto the page and into prompts.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import replace
from typing import cast

from paca.common.secret_removal import MASK, SecretMask, is_long_enough
from paca.engine.llm import call_recording
from paca.engine.llm.base import (
    LLM,
    Block,
    Chunk,
    Message,
    Reply,
    Request,
    Text,
    TextDelta,
    Thinking,
    ThinkingDelta,
    ToolResult,
    ToolUse,
)
from paca.engine.llm.credentials import secrets_of

NAME_MASK = "___"  # in the name of a tool, which has no stars


class MaskingLLM:
    """Wraps an adapter. A piece of text that may be the beginning of a secret waits for the next one.

    The history of a conversation grows from request to request, so what was masked before is kept.
    """

    def __init__(self, llm: LLM, mask: SecretMask, *, keys: tuple[str, ...] = ()) -> None:
        """``keys`` are the secrets that the adapter itself sends, which a trace leaves out too."""
        self._llm, self._mask, self._keys = llm, mask, keys
        self._given: tuple[Message, ...] = ()
        self._masked: tuple[Message, ...] = ()

    async def stream(self, request: Request) -> AsyncIterator[Chunk]:
        """Stream the chunks with ``***`` in place of each secret, for a request without secrets."""
        for key in self._keys:
            call_recording.add_secret(key)
        text, thought = self._mask.stream(), self._mask.stream()
        chunks = cast(AsyncGenerator[Chunk, None], self._llm.stream(self._request(request)))
        async with aclosing(chunks):
            async for chunk in chunks:
                if isinstance(chunk, Reply):
                    for rest in (ThinkingDelta(thought.close()), TextDelta(text.close())):
                        if rest.text:
                            yield rest
                    yield masked_reply(chunk, self._mask)
                elif isinstance(chunk, TextDelta | ThinkingDelta):
                    held = text if isinstance(chunk, TextDelta) else thought
                    if shown := held.feed(chunk.text):
                        yield replace(chunk, text=shown)
                else:
                    yield chunk

    def _request(self, request: Request) -> Request:
        """The request without secrets; the same one if it has none."""
        messages = self._messages(request.messages)
        tools = tuple(
            replace(
                tool,
                description=self._mask.text(tool.description),
                arguments=self._mask.value(tool.arguments),
            )
            for tool in request.tools
        )
        # guard: requests-hold-no-secret
        return replace(
            request, system=self._mask.text(request.system), messages=messages, tools=tools
        )

    def _messages(self, messages: tuple[Message, ...]) -> tuple[Message, ...]:
        known = 0
        while (
            known < min(len(messages), len(self._given)) and messages[known] is self._given[known]
        ):
            known += 1
        new = tuple(masked_message(each, self._mask) for each in messages[known:])
        self._given, self._masked = messages, (*self._masked[:known], *new)
        return self._masked


def masked_message(message: Message, mask: SecretMask) -> Message:
    """The message without secrets; the same one if it has none. A thought with one is left out: its signature is void."""
    blocks = [_masked_block(block, mask) for block in message.blocks]
    if all(one is other for one, other in zip(blocks, message.blocks, strict=True)):
        return message
    kept = [
        one
        for one, other in zip(blocks, message.blocks, strict=True)
        if one is other or not isinstance(one, Thinking)
    ]
    return replace(message, blocks=tuple(kept))


def masked_reply(reply: Reply, mask: SecretMask) -> Reply:
    """The reply without secrets in its blocks and notices, which may quote the server."""
    notices = tuple(replace(notice, text=mask.text(notice.text)) for notice in reply.notices)
    blocks = tuple(_masked_block(block, mask) for block in reply.blocks)
    return replace(
        reply, blocks=cast(tuple[Text | Thinking | ToolUse, ...], blocks), notices=notices
    )


def _masked_block(block: Block, mask: SecretMask) -> Block:
    # guard: engine-key-in-answers
    if not _holds_any(block, mask):
        return block
    match block:
        case Text():
            return Text(mask.text(block.text))
        case Thinking():
            # A signature of the text as it was would be refused.
            return Thinking(mask.text(block.text))
        case ToolResult():
            return replace(block, output=mask.text(block.output))
        case ToolUse():
            return replace(
                block,
                tool=mask.text(block.tool).replace(MASK, NAME_MASK),
                arguments=mask.value(block.arguments),
                problem=mask.text(block.problem),
                attached={} if _holds(block.attached, mask) else block.attached,
            )


def _holds_any(block: Block, mask: SecretMask) -> bool:
    match block:
        case Text():
            return _holds(block.text, mask)
        case Thinking():
            return _holds([block.text, block.signature, block.redacted, block.attached], mask)
        case ToolResult():
            return _holds(block.output, mask)
        case ToolUse():
            return _holds([block.tool, block.arguments, block.problem, block.attached], mask)


def _holds(value: object, mask: SecretMask) -> bool:
    return bool(mask.value(value) != value)


def masked(llm: LLM, key: str, mask: SecretMask | None = None) -> LLM:
    """The adapter, which neither reads nor says a secret of ``mask`` or of the key. A short one may be part of any word."""
    keys = tuple(secret for secret in secrets_of(key) if is_long_enough(secret))
    whole = (mask or SecretMask()).with_secrets(keys)
    return MaskingLLM(llm, whole, keys=keys) if whole else llm
