"""Puts a summary in place of the messages before it, at a boundary of whole pairs of call and result."""

from __future__ import annotations

from collections.abc import Sequence

from paca import events
from paca.engine.llm.base import Message, Text, ToolResult, mark_as_data

BEGIN = "[A summary of what came before. What people asked in it still counts.]"


def is_boundary(closed: Sequence[Message], count: int) -> bool:
    """Whether the first ``count`` messages can be replaced: no result after them belongs to their calls."""
    if count == len(closed):
        return True
    return not any(isinstance(block, ToolResult) for block in closed[count].blocks)


def count_of(closed: Sequence[Message], ends: Sequence[int], upto_seq: int) -> int:
    """How many messages an event that replaces the log up to ``upto_seq`` replaces."""
    count = sum(1 for end in ends if end <= upto_seq)
    # A log that no worker has written may name any number.
    # guard: history-replaces-whole-pairs
    while count and not is_boundary(closed, count):
        count -= 1
    return count


def replace_beginning(
    closed: tuple[Message, ...], ends: tuple[int, ...], event: events.ContextCompacted
) -> tuple[tuple[Message, ...], tuple[int, ...]]:
    """The messages and their ends with the summary in place of those up to ``upto_seq``."""
    count = count_of(closed, ends, event.upto_seq)
    if count == 0:
        return closed, ends
    summary = Text(format_summary(event.summary, event.carried))
    kept = closed[count:]
    if kept and kept[0].role == "user":
        first = Message("user", (summary, *kept[0].blocks))
        return (first, *kept[1:]), ends[count:]
    return (Message("user", (summary,)), *kept), (ends[count - 1], *ends[count:])


def format_summary(summary: str, carried: str) -> str:
    """The text that stands in place of what came before."""
    # A model has written it of data, and may have been talked into anything.
    # guard: summaries-keep-the-mark
    marked = mark_as_data(summary.strip(), "summary") if summary.strip() else ""
    return "\n\n".join(part for part in (BEGIN, marked, carried.strip()) if part)
