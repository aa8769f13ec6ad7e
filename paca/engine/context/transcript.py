"""A conversation as text, for the model that summarises it: in parts that fit, at whole pairs of call and result."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from paca.engine.llm.base import Block, Message, Text, ToolResult, ToolUse, mark_as_data
from paca.engine.tools.formatting import truncate_middle

MAX_RESULT_CHARACTERS = 1_500
MAX_ARGUMENT_CHARACTERS = 600
MAX_PARTS = 6
LEFT_OUT = "[{count} older steps are left out here.]"


def parts_of(messages: Sequence[Message], *, characters: int) -> list[str]:
    """The conversation in the fewest parts of at most so many characters each, the oldest first.

    The model has to read all of them, so there are six at most: steps before those are left out.
    """
    units = [shorten(unit, characters) for unit in _units(messages)]
    parts: list[str] = []
    count = 0  # units that are in parts
    for unit in reversed(units):
        if parts and len(parts[-1]) + len(unit) + 2 <= characters:
            parts[-1] = f"{unit}\n\n{parts[-1]}"
        elif len(parts) < MAX_PARTS:
            parts.append(unit)
        else:
            break
        count += 1
    if count < len(units):
        note = LEFT_OUT.format(count=len(units) - count)
        parts[-1] = shorten(f"{note}\n\n{parts[-1]}", characters)
    return parts[::-1]


def shorten(text: str, characters: int) -> str:
    """The text, with its middle left out if it is longer than so many characters."""
    if len(text) <= characters:
        return text
    note = f"\n[... {len(text) - characters:,} characters left out ...]\n"
    kept = max(0, characters - len(note))
    head = kept * 2 // 3
    return f"{text[:head]}{note}{text[len(text) - (kept - head) :]}"[: max(0, characters)]


def _units(messages: Iterable[Message]) -> list[str]:
    """A text for each reply with the message that follows it, so that no pair is torn apart."""
    units: list[list[str]] = []
    tools: dict[str, str] = {}
    for message in messages:
        if message.role == "assistant" or not units:
            units.append([])
        tools |= {
            block.call_id: block.tool for block in message.blocks if isinstance(block, ToolUse)
        }
        units[-1] += [line for block in message.blocks if (line := _line(block, message, tools))]
    return ["\n".join(lines) for lines in units if lines]


def _line(block: Block, message: Message, tools: dict[str, str]) -> str:
    match block:
        case Text(text):
            return f"{'User' if message.role == 'user' else 'Agent'}: {text}"
        case ToolUse(tool=tool, arguments=arguments):
            shown = shorten(json.dumps(arguments, ensure_ascii=False), MAX_ARGUMENT_CHARACTERS)
            return f"Agent calls {tool} {shown}"
        case ToolResult():
            tool = tools.get(block.call_id, "a tool")
            output, _ = truncate_middle(block.output, MAX_RESULT_CHARACTERS)
            text = mark_as_data(output, block.source) if block.source else output
            return f"{'Failure' if block.failed else 'Result'} of {tool}: {text}"
    return ""
