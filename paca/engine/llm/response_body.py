"""Reads the body of a streamed answer within its time and size limits, for every HTTP library."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import suppress

from paca.common import clock
from paca.engine.llm.base import StreamBroken
from paca.engine.llm.http_pool import TimeLimits

# After its last event a stream should end at once. Its connection can then be used again.
DRAIN_SECONDS = 0.5
# Several times the longest answers of the largest models, including their event framing.
MAX_ANSWER_BYTES = 64 * 1024 * 1024


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

    def timeout_text(self) -> str:
        """The time limit that ended the attempt, as the end of a sentence."""
        if clock.monotonic() - self._started >= self._limits.total:
            return f"it took longer than {self._limits.total:g} s in total."
        if self.begun:
            return f"nothing came for {self._limits.gap:g} s."
        return f"it did not begin within {self._limits.first_token:g} s."


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
        raise StreamBroken(f"The model's answer broke off: {budget.timeout_text()}") from None
    except connection_errors() as error:
        cause = str(error) or type(error).__name__
        raise StreamBroken(f"The connection broke in mid-answer ({cause}).") from None
    budget.count(data)
    return data


async def drain(body: AsyncIterator[bytes]) -> None:
    """Read to the end, which should come at once. Errors are ignored: the reply is complete."""
    with suppress(TimeoutError, *connection_errors()):
        async with asyncio.timeout(DRAIN_SECONDS):
            async for _ in body:
                pass
