"""What a provider or the network says went wrong, in our words."""

import email.utils
import json
import socket
import ssl
import time
from collections.abc import Iterator, Mapping
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
    Unreachable,
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
BY_STATUS: dict[int, type[ModelError]] = {
    401: KeyRefused,
    402: NoCredit,
    403: KeyRefused,
    404: ModelMisconfigured,
    408: Overloaded,
    413: ContextExceeded,
    425: Overloaded,
    429: RateLimited,
}
NO_CREDIT = ("credit balance", "spend limit", "spend_limit", "billing")
TOO_LONG = ("prompt is too long", "context limit", "context window", "too many tokens")
LONGEST_QUOTE = 500

WORDS_FOR: dict[type[BaseException], str] = {
    socket.gaierror: "its name cannot be resolved (DNS). Check the base URL and the network.",
    ssl.SSLError: "the TLS connection failed ({reason}).",
    ConnectionRefusedError: "nothing listens there (connection refused).",
    ConnectionResetError: "the connection was reset.",
}
# Exceptions of the HTTP library, by name: it is not imported for the sake of these.
NOT_AN_ADDRESS = {
    "UnsupportedProtocol": "the base URL is not a valid http or https address.",
    "LocalProtocolError": "the base URL or the key has characters that cannot be sent.",
}
WORDS_FOR_NAMED = {
    **NOT_AN_ADDRESS,
    "ConnectTimeout": "no connection came about in time.",
    "RemoteProtocolError": "it does not speak HTTP, or closed the connection without an answer.",
}


def from_status(status: int, body: object, headers: Mapping[str, str]) -> ModelError:
    """The error of an answer that is not 200."""
    if 300 <= status < 400:
        return ModelMisconfigured(
            f"The base URL answers with a redirect (HTTP {status}) to "
            f"{headers.get('location', 'somewhere else')[:200]}. It is not followed: set the final address."
        )
    said = _message(body)
    if status == 404 and not said:
        return ModelMisconfigured("There is no Messages API at this base URL (HTTP 404).")
    cls = _class_of(status, body, said)
    detail = (
        f"{_sentence(cls)} The provider says: {said}"
        if said
        else f"{_sentence(cls)} (HTTP {status})"
    )
    return cls(detail, retry_after_seconds=retry_after(headers) if cls.retryable else None)


def from_event(event: dict[str, Any]) -> ModelError:
    """The error of an ``error`` event in a stream that began well."""
    error = event.get("error")
    kind = error.get("type") if isinstance(error, dict) else None
    cls = BY_TYPE.get(str(kind), StreamBroken)
    said = _message(event)
    return cls(f"{_sentence(cls)} The provider says, in mid-answer: {said or kind}")


def from_transport(error: BaseException, address: str) -> ModelError:
    """The error of a connection that could not be made or did not hold until the answer began."""
    causes = list(_causes(error))
    misconfigured = any(type(cause).__name__ in NOT_AN_ADDRESS for cause in causes)
    cls = ModelMisconfigured if misconfigured else Unreachable
    return cls(f"{address} could not be reached: {_in_words(causes)}")


def retry_after(headers: Mapping[str, str]) -> float | None:
    """The seconds of a Retry-After header, which holds seconds or a date; None if it holds neither."""
    value = headers.get("retry-after", "").strip()
    if not value:
        return None
    try:
        seconds = float(value)
    except ValueError:
        parsed = email.utils.parsedate_tz(value)
        if parsed is None:
            return None
        seconds = email.utils.mktime_tz(parsed) - time.time()
    return max(0.0, seconds) if seconds == seconds and seconds < float("inf") else None


def _class_of(status: int, body: object, said: str) -> type[ModelError]:
    text = f"{said} {_error_code(body)}".lower()
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
    return message[:LONGEST_QUOTE] if isinstance(message, str) else ""


def _error_code(body: object) -> str:
    error = _error(body)
    return json.dumps([error.get("type"), error.get("details")])[:LONGEST_QUOTE]


def _sentence(cls: type[ModelError]) -> str:
    if cls is ModelMisconfigured:
        return "The provider does not know this model."
    return (cls.__doc__ or "").strip().partition("\n")[0]


def _in_words(causes: list[BaseException]) -> str:
    """The cause, as far as there are words for one of the exceptions; else what the innermost says."""
    for cause in causes:
        for kind, words in WORDS_FOR.items():
            if isinstance(cause, kind):
                return words.format(reason=getattr(cause, "verify_message", "") or cause)
    names = {type(cause).__name__ for cause in causes}
    for name, words in WORDS_FOR_NAMED.items():
        if name in names:
            return words
    return str(causes[-1]) or type(causes[-1]).__name__


def _causes(error: BaseException) -> Iterator[BaseException]:
    yield error
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _causes(inner)
    following = error.__cause__ or error.__context__
    if following is not None:
        yield from _causes(following)
