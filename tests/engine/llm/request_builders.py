"""Builders of messages and requests for the tests of this package."""

from typing import Any

from paca.engine.llm.base import (
    LLM,
    Chunk,
    Image,
    Message,
    Reply,
    Request,
    Text,
    ToolResult,
    ToolSpec,
    ToolUse,
)

GOOD_IMAGE, BAD_IMAGE = "iVBORw0KGgoAAAANSUhEUgAAAAIAAAAD", "iVBORw0KGgpkYXRh"
BASH = ToolSpec("bash", "Run a command.", {"type": "object", "properties": {}})


def user_message(*blocks: str | ToolResult) -> Message:
    return Message("user", tuple(Text(b) if isinstance(b, str) else b for b in blocks))


def assistant_message(*blocks: Any) -> Message:
    return Message("assistant", tuple(Text(b) if isinstance(b, str) else b for b in blocks))


def request_with(*messages: Message | str, **changes: Any) -> Request:
    """A request with these messages; a string is a message of the user."""
    given = tuple(user_message(m) if isinstance(m, str) else m for m in messages)
    fields = {"model": "anthropic/claude-test", "system": "Be brief.", "tools": (BASH,), **changes}
    return Request(messages=given, **fields)


def tool_steps(count: int) -> list[Message]:
    """A history with this number of steps, each with one tool call."""
    history = [user_message("Begin.")]
    for number in range(count):
        use = ToolUse(f"call{number}", "bash", {"command": f"echo {number}"})
        history.append(assistant_message(f"Step {number}.", use))
        history.append(user_message(ToolResult(use.call_id, f"{number}\n")))
    return history


def history_with_images(count: int, data: str) -> list[Message]:
    """A history with this number of steps, each of which gives a PNG with this data in base64."""
    history = [user_message("Draw.")]
    for number in range(count):
        history.append(assistant_message(ToolUse(f"c{number}", "bash", {})))
        image = Image("image/png", data)
        result = ToolResult(f"c{number}", "[image 1: PNG]", images=(image,))
        history.append(user_message(result))
    return history


async def chunks_of(llm: LLM, request: Request) -> list[Chunk]:
    return [chunk async for chunk in llm.stream(request)]


async def reply_of(llm: LLM, request: Request) -> Reply:
    last = (await chunks_of(llm, request))[-1]
    assert isinstance(last, Reply)
    return last
