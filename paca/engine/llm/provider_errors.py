"""What every provider's failures have in common: the network's, the words, and the status codes."""

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
SHORTEST_KEY = 8  # what is shorter is no secret, and may be part of any word
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


def redirected(status: int, headers: Mapping[str, str]) -> ModelError:
    """The error of an answer that points elsewhere."""
    return ModelMisconfigured(
        f"The base URL answers with a redirect (HTTP {status}) to "
        f"{headers.get('location', 'somewhere else')[:200]}. It is not followed: set the final address."
    )


def from_transport(error: BaseException, address: str) -> ModelError:
    """The error of a connection that could not be made or did not hold until the answer began."""
    found = list(causes(error))
    misconfigured = any(type(cause).__name__ in NOT_AN_ADDRESS for cause in found)
    cls = ModelMisconfigured if misconfigured else Unreachable
    return cls(f"{address} could not be reached: {_in_words(found)}")


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


def without_key(error: ModelError, key: str) -> ModelError:
    """Some gateways repeat the key in their refusal."""
    detail = error.detail.replace(key, "***") if len(key) >= SHORTEST_KEY else error.detail
    return type(error)(detail, retry_after_seconds=error.retry_after_seconds)


def sentence(cls: type[ModelError]) -> str:
    """What this kind of error is, in one sentence."""
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


def causes(error: BaseException) -> Iterator[BaseException]:
    """The error and all that led to it, the innermost last."""
    yield error
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from causes(inner)
    following = error.__cause__ or error.__context__
    if following is not None:
        yield from causes(following)
