"""The errors by which a model does not answer, the same for all providers."""

import re
from collections.abc import Callable
from copy import copy
from typing import Self

from paca.common.errors import PacaError
from paca.common.text import to_storable

# The size of a window in a refusal, such as "maximum context length is 8192 tokens" and "> 200000 maximum".
WINDOW = re.compile(
    r"(?:> |(?:max(?:imum)?|context (?:size|length|window)|limit|allowed)[^.\d]{0,40}?)(\d[\d,]{2,})"
    r"(?! tokens? >)"
)


class ModelError(PacaError):
    """The model did not answer."""

    code = "model_error"
    retryable = False
    retry_after_seconds: float | None = None
    # For so long further attempts are made, whatever their number.
    patience_seconds: float = 0.0
    # Whether the provider may have worked on the request, and bill it, without an answer.
    may_be_billed = False

    def __init__(
        self,
        detail: str | None = None,
        *,
        said: str = "",
        retry_after_seconds: float | None = None,
    ) -> None:
        """``said`` has the words of the server, which the detail ends with."""
        super().__init__(detail)
        self._own_detail = self.detail
        self.said = to_storable(said)
        self.retry_after_seconds = retry_after_seconds
        self._set_detail(self.said)

    def changed(self, change: Callable[[str], str]) -> Self:
        """The same error with its words changed, those of the server too."""
        other = copy(self)
        other._own_detail, other.said = change(self._own_detail), change(self.said)
        other._set_detail(other.said)
        return other

    def without_said(self, instead: str) -> Self:
        """The same error for people who must not read the words. Programs still find them in ``said``."""
        other = copy(self)
        other._set_detail(instead)
        return other

    def _set_detail(self, end: str) -> None:
        self.detail = f"{self._own_detail} {end}".rstrip()
        self.args = (self.detail,)


class RateLimited(ModelError):
    """The provider limits the rate (429)."""

    code = "rate_limited"
    retryable = True


class Overloaded(ModelError):
    """The provider is overloaded or broken (5xx)."""

    code = "model_overloaded"
    retryable = True


class StreamBroken(ModelError):
    """The model's answer broke off before its end."""

    code = "stream_broken"
    retryable = True
    may_be_billed = True


class Unreachable(ModelError):
    """The provider could not be reached."""

    code = "model_unreachable"
    retryable = True


class EmptyReply(ModelError):
    """The model answered with nothing."""

    code = "empty_reply"
    retryable = True


class ModelLoading(Overloaded):
    """The server is still loading the model."""

    code = "model_loading"


class TimedOut(ModelError):
    """The model did not answer in time. It may still be working on the request."""

    code = "model_timed_out"
    may_be_billed = True


class ContextExceeded(ModelError):
    """The conversation is longer than the model's window."""

    code = "context_exceeded"

    @property
    def window(self) -> int | None:
        """The size of the window in tokens, if the provider's words tell it."""
        found = WINDOW.search(f"{self._own_detail} {self.said}")
        return int(found[1].replace(",", "")) if found else None


class KeyRefused(ModelError):
    """The provider refused the key."""

    code = "key_refused"


class NoCredit(KeyRefused):
    """The provider's account has no credit left, or has reached its spending limit."""

    code = "no_credit"


class RequestRefused(ModelError):
    """The provider refused the request."""

    code = "request_refused"


class ToolsUnsupported(RequestRefused):
    """The model or its server does not support tool calls."""

    code = "tools_unsupported"


class ModelMisconfigured(ModelError):
    """The agent's model settings cannot work."""

    code = "model_misconfigured"
