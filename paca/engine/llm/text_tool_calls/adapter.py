"""Tool calls as text, for models without native tool calls.

The system prompt describes the tools, and the model writes its calls into its answer. The class
wraps any adapter; for the loop, its replies are like those of a model with native tool calls.
"""

import json
import uuid
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import replace
from typing import cast

from paca.engine.llm import plain_history, strict_parsing
from paca.engine.llm.base import (
    LLM,
    Chunk,
    Reply,
    Request,
    StopReason,
    Text,
    TextDelta,
    ToolSpec,
    ToolUse,
)
from paca.engine.llm.text_tool_calls import parser

INSTRUCTIONS = """\
You have tools. To use one, end your answer with a block like this, and write nothing after it:

```tool_call
{"name": "NAME", "arguments": {"ARGUMENT": "VALUE"}}
```

Several blocks, one under the other, are several calls. The results come with the next message; do \
not make them up. To show such a block without running it, quote it with > at the beginning of each line.

The tools:
"""


class TextCallingLLM:
    """Wraps an adapter, and turns tool calls into text and back."""

    def __init__(self, llm: LLM) -> None:
        self._llm = llm

    async def stream(self, request: Request) -> AsyncIterator[Chunk]:
        """Stream the text, except a part at its end that may become a tool call."""
        names = {spec.name for spec in request.tools}
        text_so_far, shown = "", 0
        chunks = cast(AsyncGenerator[Chunk, None], self._llm.stream(as_text_request(request)))
        async with aclosing(chunks):
            async for chunk in chunks:
                match chunk:
                    case TextDelta(text):
                        text_so_far += text
                        streamable = parser.streamable_length(text_so_far, names)
                        if streamable > shown:
                            yield TextDelta(text_so_far[shown:streamable])
                            shown = streamable
                    case Reply():
                        reply = parse_calls(chunk, names, may_call=request.may_call)
                        if rest := reply.text[shown:]:
                            yield TextDelta(rest)
                        yield reply
                    case _:
                        yield chunk


def as_text_request(request: Request) -> Request:
    """The request without tools. Tools, calls and results are written as text."""
    system = "\n\n".join(part for part in (request.system, describe_tools(request.tools)) if part)
    return replace(
        request, system=system, tools=(), messages=tuple(plain_history.as_text(request.messages))
    )


def parse_calls(reply: Reply, tools: set[str], *, may_call: bool = True) -> Reply:
    """The reply with the calls that its text ends with. A reply with native calls is left unchanged."""
    if reply.calls:
        return reply
    text, calls = parser.split_calls(reply.text, tools)
    if reply.stop is StopReason.OUTPUT_LIMIT:
        # A call that was cut is never run. Its beginning is dropped, or the model would continue it.
        return _with_text(reply, reply.text[: parser.streamable_length(reply.text, tools)])
    if reply.stop is not StopReason.END or not calls or not may_call:
        return reply
    made = tuple(
        ToolUse(uuid.uuid4().hex, strict_parsing.tool_name(call.tool), call.arguments)
        for call in calls
    )
    spoken = _with_text(reply, text)
    return replace(spoken, blocks=(*spoken.blocks, *made), stop=StopReason.TOOLS)


def _with_text(reply: Reply, text: str) -> Reply:
    others = tuple(block for block in reply.blocks if not isinstance(block, Text))
    blocks = (Text(text),) if text.strip() else ()
    return replace(reply, blocks=(*others, *blocks))


def describe_tools(tools: tuple[ToolSpec, ...]) -> str:
    """The tools as the system prompt tells them, with how to call them; empty if there are none."""
    if not tools:
        return ""
    return INSTRUCTIONS + "\n".join(
        f"- {spec.name}: {spec.description}\n  Arguments, as a JSON schema: {json.dumps(spec.arguments)}"
        for spec in tools
    )
