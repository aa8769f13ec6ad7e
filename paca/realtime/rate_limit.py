"""How often a socket may speak."""

from paca.common import clock
from paca.common.errors import PacaError

FRAMES_A_SECOND = 20


class TooFast(PacaError):
    """At most 20 frames a second; this one was not carried out. Send it again in a moment."""

    code = "rate_limited"
    status = 429


class Allowance:
    """A bucket of 20 that fills up at 20 a second."""

    def __init__(self) -> None:
        self._left = float(FRAMES_A_SECOND)
        self._since = clock.monotonic()

    def spend(self) -> None:
        """Take one. Raises ``TooFast`` when the bucket is empty."""
        now = clock.monotonic()
        earned = (now - self._since) * FRAMES_A_SECOND
        self._left, self._since = min(self._left + earned, float(FRAMES_A_SECOND)), now
        if self._left < 1:
            raise TooFast
        self._left -= 1
