"""The rules of messages that every provider accepts: roles alternate, and each call has one result."""

from __future__ import annotations

from paca.engine.context.platform_texts import NO_RESULT
from paca.engine.llm.base import Block, Message, Thinking, ToolResult, ToolUse


def needs_user_message(messages: tuple[Message, ...]) -> bool:
    """Whether the next message is a user's."""
    return not messages or messages[-1].role == "assistant"


def without_lone_thoughts(reply: tuple[Block, ...]) -> tuple[Block, ...]:
    """The reply, or nothing if it has only thoughts: providers refuse a message without text or calls."""
    return () if all(isinstance(block, Thinking) for block in reply) else reply


def results_of(reply: tuple[Block, ...], results: tuple[ToolResult, ...]) -> tuple[Block, ...]:
    """One result for each call of the reply, in the order of the calls."""
    known = {result.call_id: result for result in results}
    # guard: history-each-call-has-a-result
    return tuple(
        known.get(block.call_id, ToolResult(block.call_id, NO_RESULT, failed=True))
        for block in reply
        if isinstance(block, ToolUse)
    )


def append_user(closed: tuple[Message, ...], blocks: tuple[Block, ...]) -> tuple[Message, ...]:
    """The messages with these blocks of a user, in one message with those before it."""
    if needs_user_message(closed):
        return (*closed, Message("user", blocks))
    return (*closed[:-1], Message("user", (*closed[-1].blocks, *blocks)))
