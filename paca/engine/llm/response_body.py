"""Reads the body of a streamed answer within its time and size limits, for every HTTP library."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import suppress

from paca.common import clock
from paca.engine.llm.http_pool import TimeLimits
from paca.engine.llm.model_errors import (
    ModelError,
    ModelLoading,
    Overloaded,
    StreamBroken,
    TimedOut,
    Unreachable,
)

# After its last event a stream should end at once. Its connection can then be used again.
DRAIN_SECONDS = 0.5
# Several times the longest answers of the largest models, including their event framing.
MAX_ANSWER_BYTES = 64 * 1024 * 1024
# Under these a proxy says that the server behind it has not answered yet.
GATEWAY_TIMEOUTS = (408, 504, 524)
GATEWAY_GAVE_UP = (
    "A proxy before the model's server gave up waiting for it (HTTP {status}). Let it wait longer, as nginx "
    "does with proxy_read_timeout."
)


class AttemptBudget:
    """What one attempt may still use: time to the first byte, between bytes and in total, and bytes."""

    def __init__(self, limits: TimeLimits) -> None:
        self._limits = limits
        self._started = clock.monotonic()
        self.begun = False
        self._received_bytes = 0

    def seconds_left(self) -> float:
        """The seconds that the next wait may take."""
        elapsed = clock.monotonic() - self._started
        wait = self._limits.gap if self.begun else self._limits.first_token - elapsed
        return max(0.0, min(wait, self._limits.total - elapsed))

    def count(self, data: bytes) -> None:
        """Count received bytes. Raises ``StreamBroken`` if the answer is longer than any model's."""
        self.begun = True
        self._received_bytes += len(data)
        # guard: model-answer-length
        if self._received_bytes > MAX_ANSWER_BYTES:
            raise StreamBroken("The model's answer is longer than 64 MiB and was cut off.")

    def with_patience(self, error: ModelError) -> ModelError:
        """The error with the time for which it is worth to ask again, as while a server loads a model."""
        restarts = isinstance(error, Unreachable) and self._limits.own_server
        if restarts or isinstance(error, ModelLoading):
            error.patience_seconds = self._limits.loading
        return error

    def refusal(self, error: ModelError, status: int) -> ModelError:
        """The error of a response with this HTTP status, for this server.

        A server in the own network may still be working on a request that its proxy gave up.
        """
        # guard: engine-no-repeat-behind-a-proxy
        if self._limits.own_server and type(error) is Overloaded and status in GATEWAY_TIMEOUTS:
            return TimedOut(GATEWAY_GAVE_UP.format(status=status))
        return self.with_patience(error)

    def timeout_error(self, address: str = "") -> ModelError:
        """The error for the time limit that ended the attempt. It names what allows more time.

        A request that the server may still be working on is not sent again blindly.
        """
        who = address or "The model's answer"
        if clock.monotonic() - self._started >= self._limits.total:
            more = "Give the agent a larger total_seconds."
            return TimedOut(f"{who}: it took longer than {self._limits.total:g} s in total. {more}")
        if not self.begun:
            more = "Give the agent a larger first_token_seconds."
            return TimedOut(
                f"{who}: it did not begin within {self._limits.first_token:g} s. {more}"
            )
        # guard: engine-no-blind-repeat
        cls = TimedOut if self._limits.own_server else StreamBroken
        more = "Give the agent a larger silence_seconds."
        return cls(f"{who} broke off: nothing came for {self._limits.gap:g} s. {more}")


def connection_errors() -> tuple[type[Exception], ...]:
    """The exceptions of a broken connection. SDKs use httpx or httpx2; neither is imported here."""
    loaded = [module for name in ("httpx", "httpx2") if (module := sys.modules.get(name))]
    kinds = [kind for module in loaded for kind in (module.HTTPError, module.StreamError)]
    return (*kinds, OSError)


async def read(body: AsyncIterator[bytes], budget: AttemptBudget) -> bytes:
    """The next bytes, or ``b""`` at the end. Raises ``StreamBroken`` for a limit or a lost connection."""
    try:
        async with asyncio.timeout(budget.seconds_left()):
            data = await anext(body, b"")
    except TimeoutError:
        raise budget.timeout_error() from None
    except connection_errors() as error:
        cause = str(error) or type(error).__name__
        # The library quotes what it could not read.
        raise StreamBroken("The connection broke in mid-answer.", said=f"({cause})") from None
    budget.count(data)
    return data


async def drain(body: AsyncIterator[bytes]) -> None:
    """Read to the end, which should come at once. Errors are ignored: the reply is complete."""
    with suppress(TimeoutError, *connection_errors()):
        async with asyncio.timeout(DRAIN_SECONDS):
            async for _ in body:
                pass
