"""The strictest form of a history: texts alone, with roles that alternate. Every server accepts it.

A server may refuse a history for reasons that nobody can list: an order of roles, a missing field, a tool
call of another model. The adapter then asks once more in this form, before anything fails. What it learned
stands in the log of the conversation for a day, so that each worker keeps to it, and a server that has been
improved gets the usual form again.
"""

import hashlib
import json
import re
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import TypeVar

from paca.engine.llm.base import (
    Block,
    HistoryForm,
    Message,
    Request,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
)
from paca.engine.llm.model_errors import ModelError, RequestRefused

# A refusal that names one of these is about a setting of the agent, and not about its history.
PARAMETER = re.compile(
    r"temperature|top_p|top_k|max_tokens|max_completion_tokens|reasoning_effort|stream_options|"
    r"budget_tokens|output_config"
)

T = TypeVar("T")


async def send(
    request: Request, *, address: str, post: Callable[[Request], Awaitable[T]]
) -> tuple[T, HistoryForm | None]:
    """Send the request by ``post``, and a history that is refused once more in the other form.

    Gives what ``post`` gave, and the form that was learned if there is a new one. Raises the ``ModelError``
    of ``post``; that of the usual form if both forms are refused.
    """
    server = _server(address, request.model)
    if request.as_text_for == server:
        with suppress(RequestRefused):
            return await post(strictest(request)), None
        # guard: engine-strictest-form-is-left
        return await post(request), HistoryForm(server, as_text=False)
    try:
        return await post(request), None
    except ModelError as refusal:
        if not _may_help(refusal, request):
            raise
        first = refusal
    try:
        return await post(strictest(request)), HistoryForm(server, as_text=True)
    except RequestRefused:
        raise first from None


def _server(address: str, model: str) -> str:
    return hashlib.sha256(f"{address} {model}".encode(errors="replace")).hexdigest()[:16]


def _may_help(refusal: ModelError, request: Request) -> bool:
    """Whether the refusal may be about the history, so that another form of it is worth a request."""
    has_history = any(message.role == "assistant" for message in request.messages)
    # guard: engine-strictest-form
    if type(refusal) is not RequestRefused or not has_history:
        return False
    return not PARAMETER.search(refusal.detail.lower())


def strictest(request: Request) -> Request:
    """The request with its system prompt, calls and results as texts, and without reasoning."""
    messages = as_text(request.messages)
    if request.system and messages:
        first = messages[0]
        messages[0] = replace(first, blocks=(Text(request.system), *first.blocks))
    return replace(request, system="", messages=tuple(messages))


def as_text(messages: tuple[Message, ...]) -> list[Message]:
    """The messages with calls and results as texts."""
    tools: dict[str, str] = {}
    found = []
    for message in messages:
        tools |= {b.call_id: b.tool for b in message.blocks if isinstance(b, ToolUse)}
        found.append(Message(message.role, tuple(_texts(message.blocks, tools))))
    return found


def _texts(blocks: tuple[Block, ...], tools: dict[str, str]) -> Iterator[Block]:
    for block in blocks:
        match block:
            case ToolUse():
                written = json.dumps(
                    {"name": block.tool, "arguments": block.arguments}, ensure_ascii=False
                )
                yield Text(f"```tool_call\n{written}\n```")
            case ToolResult():
                outcome = "failed" if block.failed else "result"
                yield Text(f"[{outcome} of {tools.get(block.call_id, 'a call')}]\n{block.text}")
            case Thinking():
                continue
            case Text():
                yield block
