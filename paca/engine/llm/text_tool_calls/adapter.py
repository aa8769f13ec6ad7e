"""Lets a model without tool calls of its own use tools: they are described to it, and it writes.

Around any adapter: above it, everything is as with a model that makes its calls itself.
"""

import json
import uuid
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import replace
from typing import cast

from paca.engine.llm import strict_parsing
from paca.engine.llm.base import (
    LLM,
    Block,
    Chunk,
    Message,
    Reply,
    Request,
    StopReason,
    Text,
    TextDelta,
    ToolResult,
    ToolSpec,
    ToolUse,
)
from paca.engine.llm.text_tool_calls import parser

HOW = """\
You have tools. To use one, end your answer with a block like this, and write nothing after it:

```tool_call
{"name": "NAME", "arguments": {"ARGUMENT": "VALUE"}}
```

Several blocks, one under the other, are several calls. The results come with the next message; do \
not make them up. To show such a block without running it, quote it with > at the beginning of each line.

The tools:
"""


class TextCallingLLM:
    """An adapter for which tools are words."""

    def __init__(self, llm: LLM) -> None:
        self._llm = llm

    async def stream(self, request: Request) -> AsyncIterator[Chunk]:
        """Stream the words as they come, and hold back what may become a call."""
        names = {spec.name for spec in request.tools}
        said, shown = "", 0
        chunks = cast(AsyncGenerator[Chunk, None], self._llm.stream(as_words(request)))
        async with aclosing(chunks):
            async for chunk in chunks:
                match chunk:
                    case TextDelta(text):
                        said += text
                        upto = parser.streamable_length(said, names)
                        if upto > shown:
                            yield TextDelta(said[shown:upto])
                            shown = upto
                    case Reply():
                        reply = with_calls(chunk, names, may_call=request.may_call)
                        if rest := reply.text[shown:]:
                            yield TextDelta(rest)
                        yield reply
                    case _:
                        yield chunk


def as_words(request: Request) -> Request:
    """The request without tools: they, the calls and the results are text."""
    system = "\n\n".join(part for part in (request.system, _described(request.tools)) if part)
    return replace(request, system=system, tools=(), messages=tuple(_spelled(request.messages)))


def with_calls(reply: Reply, tools: set[str], *, may_call: bool = True) -> Reply:
    """The reply with the calls it was written with. Calls the model made itself stand alone."""
    if reply.calls:
        return reply
    words, calls = parser.split(reply.text, tools)
    if reply.stop is StopReason.OUTPUT_LIMIT:
        # What the limit cut is never a call, and half of one is nothing to go on from.
        return _with_words(reply, reply.text[: parser.streamable_length(reply.text, tools)])
    if reply.stop is not StopReason.END or not calls or not may_call:
        return reply
    made = tuple(
        ToolUse(uuid.uuid4().hex, strict_parsing.tool_name(call.tool), call.arguments)
        for call in calls
    )
    spoken = _with_words(reply, words)
    return replace(spoken, blocks=(*spoken.blocks, *made), stop=StopReason.TOOLS)


def _with_words(reply: Reply, words: str) -> Reply:
    others = tuple(block for block in reply.blocks if not isinstance(block, Text))
    text = (Text(words),) if words.strip() else ()
    return replace(reply, blocks=(*others, *text))


def _described(tools: tuple[ToolSpec, ...]) -> str:
    if not tools:
        return ""
    return HOW + "\n".join(
        f"- {spec.name}: {spec.description}\n  Arguments, as a JSON schema: {json.dumps(spec.arguments)}"
        for spec in tools
    )


def _spelled(messages: tuple[Message, ...]) -> list[Message]:
    tools: dict[str, str] = {}
    found = []
    for message in messages:
        tools |= {b.call_id: b.tool for b in message.blocks if isinstance(b, ToolUse)}
        blocks = tuple(_as_text(block, tools) for block in message.blocks)
        found.append(Message(message.role, blocks))
    return found


def _as_text(block: Block, tools: dict[str, str]) -> Block:
    match block:
        case ToolUse():
            written = json.dumps(
                {"name": block.tool, "arguments": block.arguments}, ensure_ascii=False
            )
            return Text(f"```tool_call\n{written}\n```")
        case ToolResult():
            outcome = "failed" if block.failed else "result"
            return Text(f"[{outcome} of {tools.get(block.call_id, 'a call')}]\n{block.output}")
    return block
