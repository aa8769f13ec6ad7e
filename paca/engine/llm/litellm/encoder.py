"""Writes a request as litellm takes it: OpenAI's chat messages, tools and parameters."""

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
# As the agent's form names them, to what litellm calls them.
SAME_NAME = ("temperature", "top_p", "top_k", "max_tokens")
# Servers of one's own take these, though OpenAI's own service would not.
OF_OWN_SERVERS = ("top_k",)
# Mistral refuses the identifiers of calls that are not of exactly this length.
ID_LENGTH = {"mistral": 9, "codestral": 9}


def encode(request: Request, provider: str, *, own_server: bool) -> dict[str, Any]:
    """All that depends on the request. The messages only ever grow at their end."""
    body: dict[str, Any] = {"messages": messages(request, ID_LENGTH.get(provider))}
    if request.tools:
        body["tools"] = [_tool(spec) for spec in request.tools]
        if not request.may_call:
            body["tool_choice"] = "none"
    return body | parameters(request.parameters, request.max_tokens, own_server=own_server)


def messages(request: Request, id_length: int | None = None) -> list[dict[str, Any]]:
    """System prompt and conversation. Reasoning is left out: no server here takes it back."""
    system = [{"role": "system", "content": request.system}] if request.system else []
    return [*system, *(m for message in request.messages for m in _message(message, id_length))]


def parameters(given: dict[str, Any], max_tokens: int, *, own_server: bool) -> dict[str, Any]:
    """The agent's parameters under litellm's names. One that a model lacks is told, not dropped."""
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
        # The budget counts against the limit; the answer needs room beside it.
        found["max_tokens"] += budget
    if effort := known.get("effort"):
        found["reasoning_effort"] = effort
    if own_server:
        _allow_what_servers_take(found)
    return found


def _allow_what_servers_take(found: dict[str, Any]) -> None:
    """litellm knows what OpenAI takes, but not what the model behind a base URL takes."""
    extra = {name: found.pop(name) for name in OF_OWN_SERVERS if name in found}
    if extra:
        found["extra_body"] = extra
    if "reasoning_effort" in found:
        found["allowed_openai_params"] = ["reasoning_effort"]


def _tool(spec: ToolSpec) -> dict[str, Any]:
    facts = {"name": spec.name, "description": spec.description, "parameters": spec.arguments}
    return {"type": "function", "function": facts}


def _message(message: Message, id_length: int | None) -> Iterator[dict[str, Any]]:
    """Results become messages of their own, right behind the calls; then what people said."""
    text = "\n\n".join(block.text for block in message.blocks if isinstance(block, Text))
    if message.role == "assistant":
        calls = [_call(b, id_length) for b in message.blocks if isinstance(b, ToolUse)]
        said = {"role": "assistant", "content": text or None}
        yield {**said, "tool_calls": calls} if calls else said
        return
    for block in message.blocks:
        if isinstance(block, ToolResult):
            output = block.output or NO_OUTPUT
            content = f"Failed: {output}" if block.failed else output
            answered = block.call_id[:id_length]
            yield {"role": "tool", "tool_call_id": answered, "content": content}
    if text:
        yield {"role": "user", "content": text}


def _call(use: ToolUse, id_length: int | None) -> dict[str, Any]:
    arguments = json.dumps(use.arguments, ensure_ascii=False, separators=(",", ":"))
    function = {"name": use.tool, "arguments": arguments}
    return {"id": use.call_id[:id_length], "type": "function", "function": function}
