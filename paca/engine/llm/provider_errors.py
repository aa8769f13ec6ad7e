"""Errors that all providers share: network failures, HTTP status codes and their texts."""

import email.utils
import socket
import ssl
import time
from collections.abc import Iterator, Mapping

from paca.engine.llm.base import (
    ContextExceeded,
    KeyRefused,
    ModelError,
    ModelMisconfigured,
    NoCredit,
    Overloaded,
    RateLimited,
    Unreachable,
)

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
MIN_KEY_CHARACTERS = 8  # a shorter key is no secret, and may be part of any word
MAX_QUOTE_CHARACTERS = 500

TEXT_BY_TYPE: dict[type[BaseException], str] = {
    socket.gaierror: "its name cannot be resolved (DNS). Check the base URL and the network.",
    ssl.SSLError: "the TLS connection failed ({reason}).",
    ConnectionRefusedError: "nothing listens there (connection refused).",
    ConnectionResetError: "the connection was reset.",
}
# Exceptions of the HTTP library by name, so that the library need not be imported.
INVALID_ADDRESS_ERRORS = {
    "UnsupportedProtocol": "the base URL is not a valid http or https address.",
    "LocalProtocolError": "the base URL or the key has characters that cannot be sent.",
}
TEXT_BY_NAME = {
    **INVALID_ADDRESS_ERRORS,
    "ConnectTimeout": "the connection timed out.",
    "RemoteProtocolError": "it does not speak HTTP, or closed the connection without an answer.",
}


def redirect_error(status: int, headers: Mapping[str, str]) -> ModelError:
    """The error for a redirect."""
    return ModelMisconfigured(
        f"The base URL answers with a redirect (HTTP {status}) to "
        f"{headers.get('location', 'somewhere else')[:200]}. It is not followed: set the final address."
    )


def from_transport(error: BaseException, address: str) -> ModelError:
    """The error for a connection that failed before the answer began."""
    found = list(causes(error))
    misconfigured = any(type(cause).__name__ in INVALID_ADDRESS_ERRORS for cause in found)
    cls = ModelMisconfigured if misconfigured else Unreachable
    return cls(f"{address} could not be reached: {_describe(found)}")


def retry_after_seconds(headers: Mapping[str, str]) -> float | None:
    """The seconds of a Retry-After header, which holds seconds or a date; None if it is missing or invalid."""
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


def without_key(error: ModelError, key: str) -> ModelError:
    """The error without the key in its text. Some gateways repeat the key in their answer."""
    detail = error.detail.replace(key, "***") if len(key) >= MIN_KEY_CHARACTERS else error.detail
    return type(error)(detail, retry_after_seconds=error.retry_after_seconds)


def sentence(cls: type[ModelError]) -> str:
    """The sentence for this class of error."""
    if cls is ModelMisconfigured:
        return "The provider does not know this model."
    return (cls.__doc__ or "").strip().partition("\n")[0]


def _describe(chain: list[BaseException]) -> str:
    """The text for the first known exception among the causes, else the text of the innermost one."""
    for cause in chain:
        for kind, words in TEXT_BY_TYPE.items():
            if isinstance(cause, kind):
                return words.format(reason=getattr(cause, "verify_message", "") or cause)
    names = {type(cause).__name__ for cause in chain}
    for name, words in TEXT_BY_NAME.items():
        if name in names:
            return words
    return str(chain[-1]) or type(chain[-1]).__name__


def causes(error: BaseException) -> Iterator[BaseException]:
    """The error and its causes, the innermost last."""
    yield error
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from causes(inner)
    following = error.__cause__ or error.__context__
    if following is not None:
        yield from causes(following)
