"""Makes a history fit into the model's window: old tool results are left out of the request.

What is left out is an event of the log, so that each later request has the same bytes. The newest step
keeps its results.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from paca.engine.context.measuring import CHARACTERS_PER_TOKEN, size_of
from paca.engine.llm.base import Message, ToolResult, ToolUse

# A result that is shorter than the note about it is kept.
LEAST_CHARACTERS = 300
# Their results are words of people, which no second call gets again.
KEPT_TOOLS = ("ask_person", "propose_plan")
# How much of the window, or of the history if the window is unknown, is filled after a trim. A trim makes the
# provider read the rest anew at the full price, so a few deep ones cost less than many small ones.
KEPT_PART = 0.25
NOTE = (
    "[This result of {tool} ({length:,} characters) was left out, so that the conversation fits into the "
    "model's window. Call the tool again if you need it.]"
)


def estimate_tokens(messages: Iterable[Message]) -> int:
    """The tokens of the messages, at four characters a token."""
    return size_of(messages).total // CHARACTERS_PER_TOKEN


def results_to_leave_out(
    messages: tuple[Message, ...], *, window: int | None, keep: int = 1
) -> int:
    """How many tool results, counted from the oldest, to leave out; 0 if that would free nothing.

    ``window`` is the model's window in tokens, or None if it is unknown. The newest ``keep`` results stay,
    and all of the newest step.
    """
    total = size_of(messages).total
    target = KEPT_PART * min(total, total if window is None else window * CHARACTERS_PER_TOKEN)
    results, tools = _old_results(messages, keep), _tools_of(messages)
    freed = count = 0
    for number, result in enumerate(results, 1):
        if total - freed <= target:
            break
        if _can_be_left_out(result, tools):
            freed += len(result.output) - len(NOTE)
            count = number
    return count


def leave_out(messages: tuple[Message, ...], count: int) -> tuple[Message, ...]:
    """The messages with notes in place of the oldest ``count`` tool results."""
    tools = _tools_of(messages)
    trimmed = []
    for message in messages:
        results = sum(isinstance(block, ToolResult) for block in message.blocks)
        trimmed.append(_without(message, count, tools) if results and count > 0 else message)
        count -= results
    return tuple(trimmed)


def _without(message: Message, count: int, tools: dict[str, str]) -> Message:
    blocks = []
    for block in message.blocks:
        if isinstance(block, ToolResult):
            if count > 0 and _can_be_left_out(block, tools):
                tool = tools.get(block.call_id, "a tool")
                note = NOTE.format(tool=tool, length=len(block.output))
                block = replace(block, output=note, images=())
            count -= 1
        blocks.append(block)
    return replace(message, blocks=tuple(blocks))


def _tools_of(messages: Iterable[Message]) -> dict[str, str]:
    """The name of the tool of each call, by its id."""
    blocks = (block for message in messages for block in message.blocks)
    return {block.call_id: block.tool for block in blocks if isinstance(block, ToolUse)}


def _can_be_left_out(result: ToolResult, tools: dict[str, str]) -> bool:
    # guard: context-keeps-answers-of-people
    if tools.get(result.call_id) in KEPT_TOOLS:
        return False
    return len(result.output) >= LEAST_CHARACTERS or bool(result.images)


def _old_results(messages: tuple[Message, ...], keep: int) -> list[ToolResult]:
    """All results but the newest ``keep``, and those of the newest step, which the model has not answered yet."""
    by_message = [
        [block for block in message.blocks if isinstance(block, ToolResult)] for message in messages
    ]
    # guard: engine-newest-results-are-kept
    steps = [results for results in by_message if results][:-1]
    old = [result for results in steps for result in results]
    newest = sum(map(len, by_message)) - len(old)
    return old[: max(0, len(old) - max(0, keep - newest))]
