"""Translates the errors of OpenAI-compatible servers to our errors."""

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

QUOTA = (*NO_CREDIT, "insufficient_quota", "exceeded your current quota", "insufficient balance")
TOO_LONG = (
    "context_length_exceeded",
    "maximum context length",
    "context length",
    "context size",
    "context window",
    "prompt is too long",
    "too many tokens",
)
BY_CODE: dict[str, type[ModelError]] = {
    "rate_limit_exceeded": RateLimited,
    "rate_limit_error": RateLimited,
    "server_error": Overloaded,
    "overloaded_error": Overloaded,
    "invalid_api_key": KeyRefused,
    "context_length_exceeded": ContextExceeded,
    "insufficient_quota": NoCredit,
    "content_filter": RequestRefused,
}
NO_API = "There is no chat completions API at this base URL (HTTP 404). Most servers want /v1 at its end."


def from_status(status: int, body: object, headers: Mapping[str, str]) -> ModelError:
    """The error for a response with another status than 200."""
    if 300 <= status < 400:
        return redirect_error(status, headers)
    if isinstance(body, bytes):
        body = _parsed(body)
    message = _message(body)
    if status == 404 and not _mentions_a_model(body, message):
        return ModelMisconfigured(NO_API)
    cls = _error_class(status, body, message)
    text = sentence(cls)
    detail = f"{text} The provider says: {message}" if message else f"{text} (HTTP {status})"
    return cls(detail, retry_after_seconds=retry_after_seconds(headers) if cls.retryable else None)


def from_event(event: dict[str, Any]) -> ModelError:
    """The error for an error event in a stream."""
    error = event["error"]
    code = error.get("code") or error.get("type") if isinstance(error, dict) else None
    message = _message(event)
    cls = BY_CODE.get(str(code), StreamBroken)
    if cls is StreamBroken and str(code).isdigit():
        cls = _error_class(int(str(code)), event, message)
    return cls(f"{sentence(cls)} The provider says, in mid-answer: {message or code}")


def _error_class(status: int, body: object, message: str) -> type[ModelError]:
    text = f"{message} {_code(body)}".lower()
    if 400 <= status < 500 and any(words in text for words in QUOTA):
        return NoCredit
    if status in (400, 413, 422) and any(words in text for words in TOO_LONG):
        return ContextExceeded
    if status >= 500:
        return Overloaded
    return BY_STATUS.get(status, RequestRefused)


def _mentions_a_model(body: object, message: str) -> bool:
    return "model" in f"{message} {_code(body)}".lower()


def _message(body: object) -> str:
    """The text of an error response, in the forms of OpenAI, FastAPI and Ollama, or as a bare text."""
    found: object = body
    for _ in range(3):
        if isinstance(found, list) and found:
            found = found[0]
        if not isinstance(found, dict):
            break
        found = next(
            (found[key] for key in ("error", "message", "detail", "msg") if found.get(key)), ""
        )
    return found[:MAX_QUOTE_CHARACTERS] if isinstance(found, str) else ""


def _code(body: object) -> str:
    error = body.get("error") if isinstance(body, dict) else None
    facts = error if isinstance(error, dict) else {}
    return json.dumps([facts.get("type"), facts.get("code")])[:MAX_QUOTE_CHARACTERS]


def _parsed(body: bytes) -> object:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return {}
