"""Translates Anthropic's error responses to our errors."""

import json
from collections.abc import Mapping
from typing import Any

from paca.engine.llm.base import (
    ContextExceeded,
    KeyRefused,
    ModelError,
    ModelMisconfigured,
    NoCredit,
    Overloaded,
    RateLimited,
    RequestRefused,
    StreamBroken,
)
from paca.engine.llm.provider_errors import (
    BY_STATUS,
    MAX_QUOTE_CHARACTERS,
    NO_CREDIT,
    redirect_error,
    retry_after_seconds,
    sentence,
)

BY_TYPE: dict[str, type[ModelError]] = {
    "overloaded_error": Overloaded,
    "api_error": Overloaded,
    "timeout_error": Overloaded,
    "gateway_timeout_error": Overloaded,
    "rate_limit_error": RateLimited,
    "authentication_error": KeyRefused,
    "permission_error": KeyRefused,
    "billing_error": NoCredit,
    "not_found_error": ModelMisconfigured,
    "request_too_large": ContextExceeded,
    "invalid_request_error": RequestRefused,
}
TOO_LONG = ("prompt is too long", "context limit", "context window", "too many tokens")


def from_status(status: int, body: object, headers: Mapping[str, str]) -> ModelError:
    """The error for a response with another status than 200."""
    if 300 <= status < 400:
        return redirect_error(status, headers)
    message = _message(body)
    if status == 404 and not message:
        return ModelMisconfigured("There is no Messages API at this base URL (HTTP 404).")
    cls = _error_class(status, body, message)
    detail = (
        f"{sentence(cls)} The provider says: {message}"
        if message
        else f"{sentence(cls)} (HTTP {status})"
    )
    return cls(detail, retry_after_seconds=retry_after_seconds(headers) if cls.retryable else None)


def from_event(event: dict[str, Any]) -> ModelError:
    """The error for an ``error`` event in a stream."""
    error = event.get("error")
    kind = error.get("type") if isinstance(error, dict) else None
    cls = BY_TYPE.get(str(kind), StreamBroken)
    message = _message(event)
    return cls(f"{sentence(cls)} The provider says, in mid-answer: {message or kind}")


def _error_class(status: int, body: object, message: str) -> type[ModelError]:
    text = f"{message} {_error_code(body)}".lower()
    if 400 <= status < 500 and any(words in text for words in NO_CREDIT):
        return NoCredit
    if status == 400 and any(words in text for words in TOO_LONG):
        return ContextExceeded
    if status >= 500:
        return Overloaded
    return BY_STATUS.get(status, RequestRefused)


def _error(body: object) -> dict[str, Any]:
    error = body.get("error") if isinstance(body, dict) else None
    return error if isinstance(error, dict) else {}


def _message(body: object) -> str:
    message = _error(body).get("message")
    return message[:MAX_QUOTE_CHARACTERS] if isinstance(message, str) else ""


def _error_code(body: object) -> str:
    error = _error(body)
    return json.dumps([error.get("type"), error.get("details")])[:MAX_QUOTE_CHARACTERS]
