"""Writes a request in the words of Anthropic's Messages API; the prefix stays the same byte for byte."""

import json
import re
from collections.abc import Iterable
from typing import Any

from paca.common.text import to_utf8
from paca.engine.llm.base import (
    Block,
    Message,
    ModelMisconfigured,
    Request,
    Text,
    Thinking,
    ToolResult,
    ToolSpec,
    ToolUse,
)

CACHED = {"type": "ephemeral"}
OURS = frozenset({"model", "messages", "system", "tools", "tool_choice", "stream"})
# These think unless told otherwise, and keep it to themselves unless asked: what they say between
# tool calls is a part of it, so that without this the page would stay silent for minutes.
THINKS_BY_ITSELF = re.compile(r"claude-(fable|mythos|opus|sonnet|haiku)-5(-\d)?$")
NO_OUTPUT = "(no output)"


class Encoder:
    """Encodes the requests of one run. Messages sent before are not encoded again."""

    def __init__(self) -> None:
        self._done: list[tuple[Message, bytes]] = []
        self._forgotten: tuple[Message, int] | None = None

    def encode(self, request: Request) -> bytes:
        head = _dumps(self._head(request))
        messages = b",".join(self._messages(request.messages))
        return head[:-1] + b',"messages":[' + messages + b"]}"

    def forget_thinking(self, request: Request) -> bool:
        """Leave out the thinking of these messages from now on; False if there is none to leave out.

        A provider takes back only what the same model, asked with the same words, has thought.
        After a change of model or a shortened history it refuses the whole request.
        """
        skip = self._skipped(request.messages)
        if not any(_thinks(message) for message in request.messages[skip:]):
            return False
        self._forgotten = (request.messages[0], len(request.messages))
        self._done.clear()
        return True

    def _head(self, request: Request) -> dict[str, Any]:
        """Everything but the messages, in a fixed order."""
        name = request.model.partition("/")[2] or request.model
        head: dict[str, Any] = {"model": name, "max_tokens": request.max_tokens, "stream": True}
        if request.tools:
            head["tools"] = _tools(request.tools)
            if not request.may_call:
                head["tool_choice"] = {"type": "none"}
        if request.system:
            head["system"] = [{"type": "text", "text": request.system, "cache_control": CACHED}]
        if THINKS_BY_ITSELF.match(name):
            head["thinking"] = {"type": "adaptive", "display": "summarized"}
        return head | _parameters(request.parameters, request.max_tokens)

    def _messages(self, messages: tuple[Message, ...]) -> Iterable[bytes]:
        """Each message as JSON; the last two of the user end in a cache mark."""
        users = [n for n, message in enumerate(messages) if message.role == "user"]
        marked = set(users[-2:])
        skip = self._skipped(messages)
        for number, message in enumerate(messages):
            if number in marked:
                yield _dumps(_message(message, mark=True, thinking=number >= skip))
                continue
            known = self._done[number] if number < len(self._done) else None
            if known is None or known[0] is not message:
                # The marks wander with the end, so what stands before them is final.
                del self._done[number:]
                known = (message, _dumps(_message(message, mark=False, thinking=number >= skip)))
                if number == len(self._done):
                    self._done.append(known)
            yield known[1]

    def _skipped(self, messages: tuple[Message, ...]) -> int:
        """Thinking below this index is left out."""
        if self._forgotten is None or self._forgotten[0] != messages[0]:
            return 0
        return self._forgotten[1]


def _tools(tools: tuple[ToolSpec, ...]) -> list[dict[str, Any]]:
    specs: list[dict[str, Any]] = [
        {"name": tool.name, "description": tool.description, "input_schema": tool.arguments}
        for tool in tools
    ]
    specs[-1]["cache_control"] = CACHED
    return specs


def _parameters(given: dict[str, Any], max_tokens: int) -> dict[str, Any]:
    """The agent's parameters: the provider's own names, and two shorter ones of ours."""
    taken = OURS & given.keys()
    if taken:
        raise ModelMisconfigured(f"The model's parameters may not set {', '.join(sorted(taken))}.")
    parameters = {name: value for name, value in given.items() if value is not None}
    budget = parameters.pop("thinking_budget", None)
    if budget:
        parameters["thinking"] = {"type": "enabled", "budget_tokens": budget}
        # The budget counts against the limit; the answer needs room beside it.
        parameters["max_tokens"] = parameters.get("max_tokens", max_tokens) + budget
    effort = parameters.pop("effort", None)
    if effort:
        parameters["output_config"] = {**parameters.get("output_config", {}), "effort": effort}
    return parameters


def _message(message: Message, *, mark: bool, thinking: bool) -> dict[str, Any]:
    blocks = [b for block in message.blocks if (b := _block(block, thinking=thinking)) is not None]
    if mark and blocks:
        blocks[-1]["cache_control"] = CACHED
    return {"role": message.role, "content": blocks}


def _block(block: Block, *, thinking: bool) -> dict[str, Any] | None:
    match block:
        case Text(text):
            return {"type": "text", "text": text}
        case ToolUse(call_id, tool, arguments):
            return {"type": "tool_use", "id": call_id, "name": tool, "input": arguments}
        case ToolResult(call_id, output, failed):
            result = {"type": "tool_result", "tool_use_id": call_id, "content": output or NO_OUTPUT}
            return {**result, "is_error": True} if failed else result
        case Thinking():
            return _thinking(block) if thinking else None


def _thinking(block: Thinking) -> dict[str, Any] | None:
    if block.redacted:
        return {"type": "redacted_thinking", "data": block.redacted}
    if block.signature:
        return {"type": "thinking", "thinking": block.text, "signature": block.signature}
    return None  # of another provider, which does not sign; this one would refuse it


def _thinks(message: Message) -> bool:
    return any(isinstance(block, Thinking) for block in message.blocks)


def _dumps(value: Any) -> bytes:
    return to_utf8(json.dumps(value, ensure_ascii=False, separators=(",", ":")))
