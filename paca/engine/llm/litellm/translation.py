"""A request in the form that litellm takes, and litellm's pieces in the form of OpenAI's dialect."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

from paca.engine.llm import plain_history
from paca.engine.llm.base import Request
from paca.engine.llm.model_errors import ModelMisconfigured, StreamBroken, ToolsUnsupported
from paca.engine.llm.openai.encoder import Encoder
from paca.engine.llm.openai.server_form import ServerForm
from paca.engine.llm.providers import Provider

FORM = ServerForm(asks_usage=False)
# Reasons of providers, in the words that ``openai/stream.py`` knows.
REASONS = {
    "guardrail_intervened": "content_filter",
    "content_filtered": "content_filter",
    "error_toxic": "content_filter",
    "model_context_window_exceeded": "length",
    "malformed_model_output": "error",
    "malformed_tool_use": "error",
    "timeout": "error",
}
NO_TOOLS = "This model does not support tool calls. Switch Tool calls as text on for this agent."
T = TypeVar("T")


def openai_body(request: Request, *, provider: str, model: str, family: str) -> dict[str, Any]:
    """The request as OpenAI's dialect has it. Raises ``ModelMisconfigured`` for an unknown parameter."""
    encoder = Encoder(Provider(provider), model, own_address=False, family=family)
    found: dict[str, Any] = json.loads(encoder.encode(request, FORM))
    return found


def without_calls(request: Request) -> Request:
    """The request without tools and with calls as texts, for providers that cannot forbid a call."""
    return replace(request, tools=(), messages=tuple(plain_history.as_text(request.messages)))


def optional_parameters(provider: str, model: str, body: dict[str, Any]) -> dict[str, Any]:
    """The parameters and tools of a body in the provider's form, by litellm.

    Raises ``ModelMisconfigured`` for one that the model does not take; ``ToolsUnsupported`` if that is the tools.
    """
    utils: Any = importlib.import_module("litellm.utils")
    given = {k: v for k, v in body.items() if k not in ("model", "stream", "messages")}
    try:
        found: dict[str, Any] = utils.get_optional_params(
            model=model, custom_llm_provider=provider, **given
        )
    except Exception as error:  # noqa: BLE001 - litellm raises errors of many kinds
        words = str(getattr(error, "message", "") or error).partition("To drop")[0]
        if "'tools'" in words:
            raise ToolsUnsupported(NO_TOOLS) from None
        raise ModelMisconfigured(f"This model does not take these parameters: {words.strip()[:300]}") from None  # fmt: skip
    found.pop("stream", None)
    return found


def translated(translate: Callable[[], T]) -> T:
    """The result of a translation by litellm. Raises ``StreamBroken`` if the event is malformed."""
    try:
        return translate()
    except Exception:  # noqa: BLE001 - litellm raises errors of many kinds
        raise StreamBroken("The model's answer has a malformed event.") from None


def event(
    delta: dict[str, Any], *, reason: str | None = None, usage: dict[str, Any] | None = None
) -> dict[str, Any]:
    """An event of OpenAI's dialect. ``reason`` is the provider's own."""
    known = None if reason is None else REASONS.get(reason.lower(), reason)
    choice = {"index": 0, "delta": delta, "finish_reason": known}
    return {"choices": [choice], **({"usage": usage} if usage else {})}
