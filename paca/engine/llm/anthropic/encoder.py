"""Encodes requests for Anthropic's Messages API. The bytes of the prefix never change, for its cache."""

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from paca.engine.llm.base import (
    Block,
    Image,
    Message,
    Request,
    Text,
    Thinking,
    ToolResult,
    ToolSpec,
    ToolUse,
)
from paca.engine.llm.encoded_tools import ToolsEncoder, object_to_json, to_json
from paca.engine.llm.model_errors import ModelError, ModelMisconfigured
from paca.engine.llm.seen_images import SeenImages, without_images

CACHE_CONTROL = {"type": "ephemeral"}
RESERVED_PARAMETERS = frozenset({"model", "messages", "system", "tools", "tool_choice", "stream"})
# These models think by default and show it only on request. Their text between tool calls is part
# of their thinking: without the request the page would show nothing for minutes.
THINKS_BY_DEFAULT = re.compile(r"claude-(fable|mythos|opus|sonnet|haiku)-5(-\d)?$")
NO_OUTPUT = "(no output)"
# Models of this dialect that see images in results. Others get the line that names each image.
CAN_SEE = re.compile(r"(?:.*\.)?claude-")


class Encoder:
    """Encodes the requests of one run. It keeps the bytes of what it has encoded before."""

    def __init__(self) -> None:
        self._encoded: list[tuple[Message, bytes]] = []
        self._encoded_head: tuple[Request, bytes] | None = None
        self._thinking_dropped: tuple[Message, int] | None = None
        self._images = SeenImages()

    def encode(self, request: Request) -> bytes:
        """The body of the request as JSON. Raises ``ModelMisconfigured`` for a reserved parameter."""
        head = self._head_bytes(request)
        messages = b",".join(self._messages(self._seen(request)))
        return head[:-1] + b',"messages":[' + messages + b"]}"

    def drop_thinking(self, request: Request) -> bool:
        """Leave out the thinking of these messages from now on; False if they have none.

        A provider accepts only thinking of the same model after the same messages. After a change
        of the model, or a shortened history, it refuses the whole request.
        """
        skip = self._first_with_thinking(request.messages)
        if not any(_has_thinking(message) for message in request.messages[skip:]):
            return False
        self._thinking_dropped = (request.messages[0], len(request.messages))
        self._encoded.clear()
        return True

    def drop_images(self, request: Request, refusal: ModelError) -> bool:
        """Leave out the images of these messages from now on; False if they are not what was refused."""
        messages = request.messages
        return self._sees(request) and self._images.drop_refused(messages, refusal)

    def _seen(self, request: Request) -> tuple[Message, ...]:
        """The messages with the images that the model gets."""
        messages = request.messages
        return self._images.of(messages) if self._sees(request) else without_images(messages)

    def _sees(self, request: Request) -> bool:
        return CAN_SEE.match(_name(request)) is not None

    def _head_bytes(self, request: Request) -> bytes:
        """The head as JSON, which stays the same for the whole run."""
        if self._encoded_head is None or not request.has_head_of(self._encoded_head[0]):
            self._encoded_head = replace(request, messages=()), object_to_json(self._head(request))
        return self._encoded_head[1]

    def _head(self, request: Request) -> dict[str, Any]:
        """All fields except the messages, in a fixed order."""
        name = _name(request)
        head: dict[str, Any] = {"model": name, "max_tokens": request.max_tokens, "stream": True}
        if request.tools:
            head["tools"] = TOOLS.encode(request.tools)
            if not request.may_call:
                head["tool_choice"] = {"type": "none"}
        if request.system:
            head["system"] = [
                {"type": "text", "text": request.system, "cache_control": CACHE_CONTROL}
            ]
        if THINKS_BY_DEFAULT.match(name):
            head["thinking"] = {"type": "adaptive", "display": "summarized"}
        return head | _parameters(request.parameters, request.max_tokens)

    def _messages(self, messages: tuple[Message, ...]) -> Iterable[bytes]:
        """Each message as JSON. The last two messages of the user get a cache mark."""
        users = [n for n, message in enumerate(messages) if message.role == "user"]
        marked = set(users[-2:])
        skip = self._first_with_thinking(messages)
        for number, message in enumerate(messages):
            if number in marked:
                yield to_json(_message(message, mark=True, thinking=number >= skip))
                continue
            known = self._encoded[number] if number < len(self._encoded) else None
            if known is None or known[0] is not message:
                # The marks move with the end of the history, so the messages before them do not change.
                del self._encoded[number:]
                known = (message, to_json(_message(message, mark=False, thinking=number >= skip)))
                if number == len(self._encoded):
                    self._encoded.append(known)
            yield known[1]

    def _first_with_thinking(self, messages: tuple[Message, ...]) -> int:
        """The index of the first message whose thinking is sent."""
        if self._thinking_dropped is None or self._thinking_dropped[0] != messages[0]:
            return 0
        return self._thinking_dropped[1]


def _name(request: Request) -> str:
    """The model's name without that of its provider."""
    return request.model.partition("/")[2] or request.model


def _tools(tools: tuple[ToolSpec, ...]) -> list[dict[str, Any]]:
    specs: list[dict[str, Any]] = [
        {"name": tool.name, "description": tool.description, "input_schema": tool.arguments}
        for tool in tools
    ]
    specs[-1]["cache_control"] = CACHE_CONTROL
    return specs


TOOLS = ToolsEncoder(_tools)


def _parameters(given: dict[str, Any], max_tokens: int) -> dict[str, Any]:
    """The agent's parameters in the provider's form. ``thinking_budget`` and ``effort`` are our names.

    Raises ``ModelMisconfigured`` for a reserved parameter.
    """
    reserved = RESERVED_PARAMETERS & given.keys()
    if reserved:
        raise ModelMisconfigured(
            f"The model's parameters may not set {', '.join(sorted(reserved))}."
        )
    parameters = {name: value for name, value in given.items() if value is not None}
    budget = parameters.pop("thinking_budget", None)
    if budget:
        parameters["thinking"] = {"type": "enabled", "budget_tokens": budget}
        # The budget counts against max_tokens, so it is added for the answer.
        parameters["max_tokens"] = parameters.get("max_tokens", max_tokens) + budget
    effort = parameters.pop("effort", None)
    if effort:
        parameters["output_config"] = {**parameters.get("output_config", {}), "effort": effort}
    return parameters


def _message(message: Message, *, mark: bool, thinking: bool) -> dict[str, Any]:
    blocks = [b for block in message.blocks if (b := _block(block, thinking=thinking)) is not None]
    if mark and blocks:
        blocks[-1]["cache_control"] = CACHE_CONTROL
    return {"role": message.role, "content": blocks}


def _block(block: Block, *, thinking: bool) -> dict[str, Any] | None:
    match block:
        case Text(text):
            return {"type": "text", "text": text}
        case ToolUse(call_id, tool, arguments):
            return {"type": "tool_use", "id": call_id, "name": tool, "input": arguments}
        case ToolResult():
            content: Any = block.text or NO_OUTPUT
            if block.images:
                content = [{"type": "text", "text": content}, *map(_image, block.images)]
            result = {"type": "tool_result", "tool_use_id": block.call_id, "content": content}
            return {**result, "is_error": True} if block.failed else result
        case Thinking():
            return _thinking(block) if thinking else None


def _image(image: Image) -> dict[str, Any]:
    source = {"type": "base64", "media_type": image.kind, "data": image.data}
    return {"type": "image", "source": source}


def _thinking(block: Thinking) -> dict[str, Any] | None:
    if block.redacted:
        return {"type": "redacted_thinking", "data": block.redacted}
    if block.signature:
        return {"type": "thinking", "thinking": block.text, "signature": block.signature}
    return None  # unsigned thinking of another provider, which this one refuses


def _has_thinking(message: Message) -> bool:
    return any(isinstance(block, Thinking) for block in message.blocks)
