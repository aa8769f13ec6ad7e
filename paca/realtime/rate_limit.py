"""Limits how many frames a second a socket's client may send."""

from paca.common import clock
from paca.common.errors import PacaError

FRAMES_PER_SECOND = 20


class RateLimited(PacaError):
    """At most 20 frames a second; this one was not carried out. Send it again in a moment."""

    code = "rate_limited"
    status = 429


class TokenBucket:
    """A bucket of 20 tokens that is refilled with 20 tokens a second."""

    def __init__(self) -> None:
        self._tokens = float(FRAMES_PER_SECOND)
        self._refilled_at = clock.monotonic()

    def take(self) -> None:
        """Take one token. Raises ``RateLimited`` if the bucket is empty."""
        now = clock.monotonic()
        refill = (now - self._refilled_at) * FRAMES_PER_SECOND
        self._tokens = min(self._tokens + refill, float(FRAMES_PER_SECOND))
        self._refilled_at = now
        if self._tokens < 1:
            raise RateLimited
        self._tokens -= 1
