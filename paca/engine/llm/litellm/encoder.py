"""Encodes a request for litellm: OpenAI's chat messages, tools and parameters."""

import json
from collections.abc import Iterator
from typing import Any

from paca.engine.llm.base import (
    Message,
    ModelMisconfigured,
    Request,
    Text,
    ToolResult,
    ToolSpec,
    ToolUse,
)

NO_OUTPUT = "(no output)"
# The parameters that litellm calls by the same names.
SAME_NAME = ("temperature", "top_p", "top_k", "max_tokens")
# Parameters that self-hosted servers accept and OpenAI's service refuses.
SELF_HOSTED_ONLY = ("top_k",)
# Mistral refuses call ids of any other length.
CALL_ID_LENGTH = {"mistral": 9, "codestral": 9}


def encode(request: Request, provider: str, *, self_hosted: bool) -> dict[str, Any]:
    """The fields of the body that depend on the request. Messages only grow at their end.

    Raises ``ModelMisconfigured`` for an unknown parameter.
    """
    body: dict[str, Any] = {"messages": messages(request, CALL_ID_LENGTH.get(provider))}
    if request.tools:
        body["tools"] = [_tool(spec) for spec in request.tools]
        if not request.may_call:
            body["tool_choice"] = "none"
    return body | parameters(request.parameters, request.max_tokens, self_hosted=self_hosted)


def messages(request: Request, id_length: int | None = None) -> list[dict[str, Any]]:
    """The system prompt and the messages, without reasoning, which no server here accepts."""
    system = [{"role": "system", "content": request.system}] if request.system else []
    return [*system, *(m for message in request.messages for m in _message(message, id_length))]


def parameters(given: dict[str, Any], max_tokens: int, *, self_hosted: bool) -> dict[str, Any]:
    """The agent's parameters under litellm's names.

    Raises ``ModelMisconfigured`` for an unknown parameter. It is not dropped silently.
    """
    unknown = given.keys() - {*SAME_NAME, "thinking_budget", "effort"}
    if unknown:
        raise ModelMisconfigured(
            f"The model's parameters may not set {', '.join(sorted(unknown))}."
        )
    known = {name: value for name, value in given.items() if value is not None}
    found: dict[str, Any] = {"max_tokens": max_tokens}
    found |= {name: known[name] for name in SAME_NAME if name in known}
    if budget := known.get("thinking_budget"):
        found["thinking"] = {"type": "enabled", "budget_tokens": budget}
        # The budget counts against max_tokens, so it is added for the answer.
        found["max_tokens"] += budget
    if effort := known.get("effort"):
        found["reasoning_effort"] = effort
    if self_hosted:
        _allow_extra_parameters(found)
    return found


def _allow_extra_parameters(found: dict[str, Any]) -> None:
    """Pass parameters through litellm, which knows OpenAI's models but not those of other servers."""
    extra = {name: found.pop(name) for name in SELF_HOSTED_ONLY if name in found}
    if extra:
        found["extra_body"] = extra
    if "reasoning_effort" in found:
        found["allowed_openai_params"] = ["reasoning_effort"]


def _tool(spec: ToolSpec) -> dict[str, Any]:
    facts = {"name": spec.name, "description": spec.description, "parameters": spec.arguments}
    return {"type": "function", "function": facts}


def _message(message: Message, id_length: int | None) -> Iterator[dict[str, Any]]:
    """The messages in OpenAI's form: each result is one, right after the calls, then the text."""
    text = "\n\n".join(block.text for block in message.blocks if isinstance(block, Text))
    if message.role == "assistant":
        calls = [_call(b, id_length) for b in message.blocks if isinstance(b, ToolUse)]
        encoded = {"role": "assistant", "content": text or None}
        yield {**encoded, "tool_calls": calls} if calls else encoded
        return
    for block in message.blocks:
        if isinstance(block, ToolResult):
            output = block.output or NO_OUTPUT
            content = f"Failed: {output}" if block.failed else output
            call_id = block.call_id[:id_length]
            yield {"role": "tool", "tool_call_id": call_id, "content": content}
    if text:
        yield {"role": "user", "content": text}


def _call(use: ToolUse, id_length: int | None) -> dict[str, Any]:
    arguments = json.dumps(use.arguments, ensure_ascii=False, separators=(",", ":"))
    function = {"name": use.tool, "arguments": arguments}
    return {"id": use.call_id[:id_length], "type": "function", "function": function}
