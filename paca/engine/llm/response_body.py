"""The body of a streamed answer: read within its time limits, whichever library opened it."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import suppress

from paca.common import clock
from paca.engine.llm.base import StreamBroken
from paca.engine.llm.http_pool import TimeLimits

# After its last event a stream should end at once; then its connection can be used again.
DRAIN_SECONDS = 0.5
# Several times what the largest models say at once, with all that is around it on the line.
LONGEST_ANSWER_BYTES = 64 * 1024 * 1024


class Deadlines:
    """The limits of one attempt: to its first bytes, for each silence, for the whole, and its length."""

    def __init__(self, limits: TimeLimits) -> None:
        self._limits = limits
        self._started = clock.monotonic()
        self.begun = False
        self._came = 0

    def left(self) -> float:
        """Seconds that the next wait may take."""
        gone = clock.monotonic() - self._started
        silence = self._limits.gap if self.begun else self._limits.first_token - gone
        return max(0.0, min(silence, self._limits.total - gone))

    def count(self, data: bytes) -> None:
        """So much more has come. Raises ``StreamBroken`` once it is too much to be an answer."""
        self.begun = True
        self._came += len(data)
        # guard: model-answer-length
        if self._came > LONGEST_ANSWER_BYTES:
            raise StreamBroken("The model's answer goes on without end; it was ended at 64 MiB.")

    def passed(self) -> str:
        """Which limit it was that has passed."""
        if clock.monotonic() - self._started >= self._limits.total:
            return f"it took longer than {self._limits.total:g} s in all."
        if self.begun:
            return f"nothing came for {self._limits.gap:g} s."
        return f"it did not begin within {self._limits.first_token:g} s."


def broken_connections() -> tuple[type[Exception], ...]:
    """What a broken connection raises: SDKs stand on httpx or on httpx2, and neither is imported here."""
    loaded = [module for name in ("httpx", "httpx2") if (module := sys.modules.get(name))]
    kinds = [kind for module in loaded for kind in (module.HTTPError, module.StreamError)]
    return (*kinds, OSError)


async def read(body: AsyncIterator[bytes], deadlines: Deadlines) -> bytes:
    """The next bytes, or none at the end."""
    try:
        async with asyncio.timeout(deadlines.left()):
            data = await anext(body, b"")
    except TimeoutError:
        raise StreamBroken(f"The model's answer broke off: {deadlines.passed()}") from None
    except broken_connections() as error:
        cause = str(error) or type(error).__name__
        raise StreamBroken(f"The connection broke in mid-answer ({cause}).") from None
    deadlines.count(data)
    return data


async def drain(body: AsyncIterator[bytes]) -> None:
    """Read to the end, which is due; the reply stands whatever happens to the connection now."""
    with suppress(TimeoutError, *broken_connections()):
        async with asyncio.timeout(DRAIN_SECONDS):
            async for _ in body:
                pass


def refuse_other_than_events(content_type: str, host: str) -> None:
    """Raise unless the answer is a stream of server-sent events."""
    kind = content_type.partition(";")[0].strip()
    if kind != "text/event-stream":
        raise StreamBroken(
            f"{host} answered with {kind or 'something'} in place of a stream of events. "
            "Is the base URL right, and no sign-in page in between?"
        )
