"""Errors that all providers share: network failures, HTTP status codes and their texts."""

import email.utils
import re
import socket
import ssl
import time
from collections.abc import Iterator, Mapping
from typing import Any

from paca.engine.llm.address_check import AddressRefused
from paca.engine.llm.model_errors import (
    ContextExceeded,
    KeyRefused,
    ModelError,
    ModelLoading,
    ModelMisconfigured,
    NoCredit,
    Overloaded,
    RateLimited,
    RequestRefused,
    StreamBroken,
    ToolsUnsupported,
    Unreachable,
)
from paca.engine.llm.provider_words import codes_of, is_page, words_of
from paca.engine.llm.strict_parsing import TEXT_BODY

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
BY_CODE: dict[str, type[ModelError]] = {
    "rate_limit_exceeded": RateLimited,
    "rate_limit_error": RateLimited,
    "too_many_requests": RateLimited,
    "resource_exhausted": RateLimited,
    "server_error": Overloaded,
    "internal_server_error": Overloaded,
    "api_error": Overloaded,
    "overloaded_error": Overloaded,
    "timeout_error": Overloaded,
    "gateway_timeout_error": Overloaded,
    "service_unavailable": Overloaded,
    "unavailable": Overloaded,
    "engine_overloaded_error": Overloaded,
    "invalid_api_key": KeyRefused,
    "authentication_error": KeyRefused,
    "invalid_authentication_error": KeyRefused,
    "permission_error": KeyRefused,
    "unauthenticated": KeyRefused,
    "context_length_exceeded": ContextExceeded,
    "exceed_context_size_error": ContextExceeded,
    "request_too_large": ContextExceeded,
    "insufficient_quota": NoCredit,
    "insufficient_balance": NoCredit,
    "exceeded_current_quota_error": NoCredit,
    "billing_error": NoCredit,
    "model_not_found": ModelMisconfigured,
    "not_found_error": ModelMisconfigured,
    "content_filter": RequestRefused,
    "invalid_request_error": RequestRefused,
    "invalid_argument": RequestRefused,
    "badrequesterror": RequestRefused,
}
NO_CREDIT = (
    "credit balance", "spend limit", "spend_limit", "billing", "insufficient_quota", "not enough credit",
    "exceeded your current quota", "insufficient balance", "insufficient account balance", "out of credit",
    "insufficient credit", "insufficient funds", "balance is insufficient",
)  # fmt: skip
TOO_LONG = (
    "context_length_exceeded", "maximum context length", "context length", "context size",
    "context window", "context limit", "prompt is too long", "input is too long", "too many tokens",
    "prompt too long", "exceed_context", "exceeds the maximum number of tokens", "max_model_len",
    "maximum number of input tokens", "longer than the maximum", "exceeds the limit of tokens",
    "reduce the length of the messages", "token limit exceeded", "exceeds the model's maximum",
    "maximum prompt length", "too large for model", "max tokens exceeded", "kv cache",
)  # fmt: skip
LOADING = ("loading model", "model is loading", "currently loading", "still loading", "is being loaded",
           "loading the model", "warming up", "model not ready", "model is not ready", "cold start")  # fmt: skip
NO_TOOLS = re.compile(
    r"(does not|doesn't|do not|not) (yet )?support(ed)?( \w+)? (tools?|tool[ -]?(use|calls?|calling|choice)|function[ -]?call\w*)"
    r"|(tools?|tool[ _-]?(use|calls?|calling|choice)|function[ -]?call\w*)[`'\"]? (\w+ )?(is|are) (not|un)[ -]?(yet )?support"
    r"|support for (tool|function)|auto.? tool choice requires|support tool use|tool-call-parser"
    r"|requires? --jinja|--jinja flag"
)
# A template that refuses the order of roles is the request's fault, whatever the status says.
TEMPLATE = re.compile(
    r"roles must alternate|conversation roles|jinja|chat template|raise_exception|unexpected role"
    r"|expected last role|role .{0,30}(must|should|not)|system role not supported|after role"
)
BY_WORDS: tuple[tuple[type[ModelError], tuple[str, ...]], ...] = (
    (KeyRefused, ("api key", "api_key", "apikey", "unauthorized", "authentication", "invalid token", "access denied")),
    (RateLimited, ("rate limit", "too many requests", "quota exceeded", "requests per minute")),
    (Overloaded, ("overloaded", "capacity", "try again", "temporarily", "timeout", "timed out",
                  "internal server error", "internal error", "unavailable", "busy", "bad gateway")),
    (ModelMisconfigured, ("model not found", "unknown model", "no such model", "model does not exist")),
    (RequestRefused, ("invalid", "unsupported", "not supported", "must be", "required", "malformed", "unexpected")),
)  # fmt: skip
# Some services tell a rate limit in the words of a used-up quota.
SHORT_QUOTA = re.compile(r"per[ _-]?(minute|second)|retry in|retrydelay|try again in")
NO_STREAM = (
    "The server answered with a page for browsers in place of a stream of events. "
    "Is the base URL right, and no sign-in page in between?"
)
MIN_KEY_CHARACTERS = 8  # a shorter key is no secret, and may be part of any word

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


def from_status(
    status: int, body: object, headers: Mapping[str, str], *, no_service: str
) -> ModelError:
    """The error for a response with another status than 200, in the provider's words.

    ``no_service`` is the text for a path that the server does not have.
    """
    if 300 <= status < 400:
        return redirect_error(status, headers)
    words, codes = words_of(body), codes_of(body)
    if status == 404 and not _is_about_model(body, f"{words} {codes}".lower()):
        return ModelMisconfigured(no_service)
    cls = error_class(status, words, codes)
    text = sentence(cls)
    retry_after = retry_after_seconds(headers) if cls.retryable else None
    said = f"The provider says: {words}" if words else f"(HTTP {status})"
    return cls(text, said=said, retry_after_seconds=retry_after)


def from_event(event: dict[str, Any], *, has_begun: bool) -> ModelError:
    """The error that a body or an event reports under the status 200.

    ``has_begun``: after a part of the answer. A stream that broke is tried again. An error before it
    began is not, unless its code or words say that this helps.
    """
    words, codes = words_of(event), codes_of(event)
    if is_page(event.get("error")):
        return StreamBroken(NO_STREAM, said=f"The page says: {words}")
    status = next((int(code) for code in codes if code.isdigit() and 400 <= int(code) < 600), None)
    cls = (
        _class_by_words(None, words.lower())
        or (error_class(status, words, codes) if status else None)
        or next((BY_CODE[code] for code in codes if code in BY_CODE), None)
        or _class_by_hints(words.lower())
        or (StreamBroken if has_begun or event.get("object") == TEXT_BODY else RequestRefused)
    )
    when = "in mid-answer" if has_begun else "in place of an answer"
    said = words or ", ".join(codes) or "an error without a text"
    return cls(sentence(cls), said=f"The provider says, {when}: {said}")


def _is_about_model(body: object, text: str) -> bool:
    """Whether a 404 is about the model, and not about the path."""
    return not is_page(body) and ("model" in text or _class_by_words(404, text) is not None)


def error_class(status: int, words: str, codes: list[str]) -> type[ModelError]:
    """The class of an error with this HTTP status, words and codes."""
    text = f"{words} {' '.join(codes)}".lower()
    if by_words := _class_by_words(status, text):
        return by_words
    if status >= 500:
        return RequestRefused if status == 501 else Overloaded
    if status == 400 and ("api key not valid" in text or "invalid api key" in text):
        return KeyRefused
    return BY_STATUS.get(status, RequestRefused)


def _class_by_words(status: int | None, text: str) -> type[ModelError] | None:
    """The class that the words tell surely; ``status`` is None for an error under the status 200."""
    if (status is None or 400 <= status < 500) and any(words in text for words in NO_CREDIT):
        return RateLimited if status == 429 and SHORT_QUOTA.search(text) else NoCredit
    if status not in (401, 403, 404, 429) and any(words in text for words in TOO_LONG):
        return ContextExceeded
    if status not in (401, 403, 429) and NO_TOOLS.search(text):
        return ToolsUnsupported
    if status in (None, 409, 425, 429, 500, 502, 503) and any(words in text for words in LOADING):
        return ModelLoading
    if status not in (401, 403, 404, 429) and TEMPLATE.search(text):
        return RequestRefused
    return None


def _class_by_hints(text: str) -> type[ModelError] | None:
    """The class that the words suggest, for an error without a status and a known code."""
    return next((cls for cls, hints in BY_WORDS if any(hint in text for hint in hints)), None)


def redirect_error(status: int, headers: Mapping[str, str]) -> ModelError:
    """The error for a redirect."""
    return ModelMisconfigured(
        f"The base URL answers with a redirect (HTTP {status}). It is not followed: set the final address.",
        said=f"The redirect leads to {headers.get('location', 'no address')[:200]}",
    )


def from_transport(error: BaseException, address: str) -> ModelError:
    """The error for a connection that failed before the answer began."""
    found = list(causes(error))
    misconfigured = any(
        type(cause).__name__ in INVALID_ADDRESS_ERRORS or isinstance(cause, AddressRefused)
        for cause in found
    )
    cls = ModelMisconfigured if misconfigured else Unreachable
    notes = (note for cause in found for note in getattr(cause, "__notes__", ()))
    proxy = next((f" {note}" for note in notes if "proxy" in note), "")
    return cls(f"{address} could not be reached{proxy}: {_describe(found)}")


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
    return error.changed(lambda text: without_key_text(text, key))


def without_key_text(text: str, key: str) -> str:
    """The text with ``***`` in place of the key. A short key is no secret."""
    return text.replace(key, "***") if len(key) >= MIN_KEY_CHARACTERS else text


def sentence(cls: type[ModelError]) -> str:
    """The sentence for this class of error."""
    if cls is ModelMisconfigured:
        return "The provider does not know this model."
    return (cls.__doc__ or "").strip().partition("\n")[0]


def _describe(chain: list[BaseException]) -> str:
    """The text for the first known exception among the causes, else the text of the innermost one."""
    for cause in chain:
        if isinstance(cause, AddressRefused):
            return str(cause)
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
