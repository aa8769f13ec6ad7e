"""The one place where a model call is tried again: broken attempts are told, discarded and booked.

    async with retrying.ask(llm, request, retries=3) as asking:
        async for step in asking:
            match step:
                case Streamed(attempt=number, delta=delta): ...
                case AttemptFailed(attempt=attempt): ...  # book it; drop what it streamed
                case Retrying(wait_seconds=wait, cause=cause): ...  # shown before the wait begins
                case Answered(reply=reply, attempt=attempt): ...  # the last step

When nothing helps, the last ``ModelError`` is raised. After a cancellation (or an error of the
caller) ``asking.attempt`` still holds the attempt that was under way, so that it can be booked.
"""

import asyncio
import random
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self, cast

from paca.common import clock
from paca.engine.llm.base import (
    LLM,
    Chunk,
    EmptyReply,
    ModelError,
    Reply,
    Request,
    StopReason,
    StreamBroken,
    TextDelta,
    ThinkingDelta,
    Usage,
    UsageSeen,
)

FIRST_WAIT_SECONDS = 1.0
LONGEST_WAIT_SECONDS = 30.0
# A provider that asks for more than this is not waited for: the run pauses, visibly.
LONGEST_RETRY_AFTER_SECONDS = 120.0


@dataclass(slots=True)
class Attempt:
    """One try as far as it got. ``shown``: a piece of it has been streamed to people."""

    number: int
    usage: Usage = field(default_factory=Usage)
    pieces: list[str] = field(default_factory=list)
    shown: bool = False
    seconds: float = 0.0
    error: ModelError | None = None
    done: bool = False

    @property
    def text(self) -> str:
        """The answer's text as far as it was streamed."""
        return "".join(self.pieces)

    @property
    def outcome(self) -> str:
        """As in ``agent.usage.recorded``; neither done nor failed means cancelled."""
        if self.done:
            return "done"
        return "failed" if self.error else "cancelled"


@dataclass(frozen=True, slots=True)
class Streamed:
    """A piece of the reply; worth nothing unless its attempt is answered."""

    attempt: int
    delta: TextDelta | ThinkingDelta


@dataclass(frozen=True, slots=True)
class AttemptFailed:
    """The attempt is over. What it streamed is discarded; what it used is booked."""

    attempt: Attempt
    error: ModelError


@dataclass(frozen=True, slots=True)
class Retrying:
    """Attempt ``attempt`` failed; the next begins in ``wait_seconds``. Given before the wait."""

    attempt: int
    wait_seconds: float
    cause: str
    code: str


@dataclass(frozen=True, slots=True)
class Answered:
    """The whole reply, of this attempt."""

    attempt: Attempt
    reply: Reply


Step = Streamed | AttemptFailed | Retrying | Answered
Sleep = Callable[[float], Awaitable[None]]


class Asking:
    """One question to a model, over all its attempts. Leaving the ``async with`` closes the stream."""

    def __init__(
        self, llm: LLM, request: Request, *, retries: int, sleep: Sleep, chance: Callable[[], float]
    ) -> None:
        self.attempt = Attempt(number=1)
        self._llm = llm
        self._request = request
        self._retries = retries
        self._sleep = sleep
        self._chance = chance
        self._steps = self._run()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._steps.aclose()

    def __aiter__(self) -> AsyncIterator[Step]:
        return self._steps

    async def _run(self) -> AsyncGenerator[Step, None]:
        while True:
            attempt = self.attempt
            started = clock.monotonic()
            try:
                async with aclosing(self._stream()) as steps:
                    async for step in steps:
                        yield step
                return
            except ModelError as error:
                failure = attempt.error = error
            finally:
                attempt.seconds = clock.monotonic() - started
            yield AttemptFailed(attempt, failure)
            wait = self._wait_after(failure, attempt.number)
            if wait is None:
                raise failure
            # Whoever ends the wait finds the attempt that never came, and not the last one again.
            self.attempt = Attempt(attempt.number + 1)
            yield Retrying(attempt.number, wait, failure.detail, failure.code)
            await self._sleep(wait)

    async def _stream(self) -> AsyncGenerator[Step, None]:
        """One attempt: its pieces, then its answer."""
        attempt = self.attempt
        started = clock.monotonic()
        chunks = cast(AsyncGenerator[Chunk, None], self._llm.stream(self._request))
        async with aclosing(chunks):
            async for chunk in chunks:
                if isinstance(chunk, TextDelta | ThinkingDelta):
                    attempt.shown = True
                    if isinstance(chunk, TextDelta):
                        attempt.pieces.append(chunk.text)
                    yield Streamed(attempt.number, chunk)
                elif isinstance(chunk, UsageSeen):
                    attempt.usage = chunk.usage
                else:
                    attempt.usage = chunk.usage
                    _refuse_if_empty(chunk)
                    attempt.done = True
                    attempt.seconds = clock.monotonic() - started
                    yield Answered(attempt, chunk)
                    return
        raise StreamBroken("The model's answer ended without its end mark.")

    def _wait_after(self, error: ModelError, number: int) -> float | None:
        """Seconds until the next attempt, or None when there is none."""
        if not error.retryable or number > self._retries:
            return None
        asked = error.retry_after_seconds
        if asked is None:
            # Between half and all of a wait that doubles: many runs that failed at the same
            # moment must not come back at the same moment.
            most = min(FIRST_WAIT_SECONDS * 2.0 ** (number - 1), LONGEST_WAIT_SECONDS)
            return most * (0.5 + self._chance() / 2)
        if asked > LONGEST_RETRY_AFTER_SECONDS:
            return None
        return asked + min(1.0, 0.1 + asked / 10) * self._chance()


def ask(
    llm: LLM,
    request: Request,
    *,
    retries: int,
    sleep: Sleep = asyncio.sleep,
    chance: Callable[[], float] = random.random,
) -> Asking:
    """Ask the model, with up to ``retries`` further attempts after the first."""
    return Asking(llm, request, retries=retries, sleep=sleep, chance=chance)


def _refuse_if_empty(reply: Reply) -> None:
    """An end without words or calls is no answer. At the output limit it is: the caller goes on."""
    if reply.stop in (StopReason.END, StopReason.TOOLS) and not (reply.calls or reply.text.strip()):
        raise EmptyReply
