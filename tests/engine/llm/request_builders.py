"""Short words for what the tests of this package do all the time."""

from typing import Any

from paca.engine.llm.base import (
    LLM,
    Chunk,
    Message,
    Reply,
    Request,
    Text,
    ToolResult,
    ToolSpec,
    ToolUse,
)

BASH = ToolSpec("bash", "Run a command.", {"type": "object", "properties": {}})


def user(*blocks: str | ToolResult) -> Message:
    return Message("user", tuple(Text(b) if isinstance(b, str) else b for b in blocks))


def assistant(*blocks: Any) -> Message:
    return Message("assistant", tuple(Text(b) if isinstance(b, str) else b for b in blocks))


def asks(*messages: Message | str, **changes: Any) -> Request:
    """A request; bare strings are the user's messages."""
    given = tuple(user(m) if isinstance(m, str) else m for m in messages)
    fields = {"model": "anthropic/claude-test", "system": "Be brief.", "tools": (BASH,), **changes}
    return Request(messages=given, **fields)


def steps(count: int) -> list[Message]:
    """A history of so many tool turns."""
    history = [user("Begin.")]
    for number in range(count):
        use = ToolUse(f"call{number}", "bash", {"command": f"echo {number}"})
        history.append(assistant(f"Step {number}.", use))
        history.append(user(ToolResult(use.call_id, f"{number}\n")))
    return history


async def chunks_of(llm: LLM, request: Request) -> list[Chunk]:
    return [chunk async for chunk in llm.stream(request)]


async def reply_of(llm: LLM, request: Request) -> Reply:
    last = (await chunks_of(llm, request))[-1]
    assert isinstance(last, Reply)
    return last
