"""Streams a model's reply and retries failed attempts. No other code retries a model call.

    async with retrying.stream_with_retries(llm, request, retries=3) as stream:
        async for step in stream:
            match step:
                case Streamed(attempt=number, delta=delta): ...
                case HistoryForm(): ...  # keep it for the next requests
                case AttemptFailed(attempt=attempt): ...  # record its usage; discard its text
                case Retrying(wait_seconds=wait, cause=cause): ...  # comes before the wait
                case Answered(reply=reply, attempt=attempt): ...  # the last step

After the last attempt its ``ModelError`` is raised. After a cancellation, or an error of the
caller, ``stream.attempt`` is the attempt that was running, so that its usage can be recorded.
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
    HistoryForm,
    Reply,
    Request,
    StopReason,
    TextDelta,
    ThinkingDelta,
    Usage,
    UsageSeen,
)
from paca.engine.llm.model_errors import EmptyReply, ModelError, StreamBroken

FIRST_WAIT_SECONDS = 1.0
MAX_WAIT_SECONDS = 30.0
MAX_PATIENT_WAIT_SECONDS = 10.0  # while a server loads its model
# If the provider asks for a longer wait, there is no retry and the run pauses.
MAX_RETRY_AFTER_SECONDS = 120.0


@dataclass(slots=True)
class Attempt:
    """One attempt, as far as it came. ``shown``: people have seen a piece of it.

    ``sent``: the request may have left. ``reported``: what the provider reported, or an estimate of the adapter.
    ``first_token_seconds``: from its start to the first piece of text or reasoning.
    """

    number: int
    sent: bool = False
    reported: Usage | None = None
    pieces: list[str] = field(default_factory=list)
    shown: bool = False
    seconds: float = 0.0
    error: ModelError | None = None
    done: bool = False
    request: Request | None = None
    reply: Reply | None = None
    first_token_seconds: float | None = None

    @property
    def text(self) -> str:
        """The text that was streamed so far."""
        return "".join(self.pieces)

    @property
    def usage(self) -> Usage:
        """The usage so far; an unknown one if the provider may bill a request of which it reported nothing."""
        if self.reported is not None:
            return self.reported
        # guard: engine-usage-of-an-unanswered-request-is-unknown
        return Usage(estimated=self.sent and (self.error is None or self.error.may_be_billed))

    @property
    def outcome(self) -> str:
        """The outcome as in ``agent.usage.recorded``: done, failed or cancelled."""
        if self.done:
            return "done"
        return "failed" if self.error else "cancelled"


@dataclass(frozen=True, slots=True)
class Streamed:
    """A piece of the reply. It counts only if the attempt ends with ``Answered``."""

    attempt: int
    delta: TextDelta | ThinkingDelta


@dataclass(frozen=True, slots=True)
class AttemptFailed:
    """The attempt has failed. Its text is discarded, its usage is recorded."""

    attempt: Attempt
    error: ModelError


@dataclass(frozen=True, slots=True)
class Retrying:
    """Attempt ``attempt`` failed and the next begins in ``wait_seconds``. This comes before the wait."""

    attempt: int
    wait_seconds: float
    cause: str
    code: str


@dataclass(frozen=True, slots=True)
class Answered:
    """The attempt ended with this whole reply."""

    attempt: Attempt
    reply: Reply


AttemptStep = Streamed | HistoryForm | AttemptFailed | Retrying | Answered
Sleep = Callable[[float], Awaitable[None]]


class RetryingStream:
    """The stream of one request over all its attempts. Leaving ``async with`` closes the connection.

    The caller may replace ``request`` during ``Retrying``; the next attempt sends the new one.
    """

    def __init__(
        self, llm: LLM, request: Request, *, retries: int, sleep: Sleep, jitter: Callable[[], float]
    ) -> None:
        self.attempt = Attempt(number=1)
        self._llm = llm
        self.request = request
        self._retries = retries
        self._sleep = sleep
        self._jitter = jitter
        self._waited_seconds = 0.0
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

    def __aiter__(self) -> AsyncIterator[AttemptStep]:
        return self._steps

    async def _run(self) -> AsyncGenerator[AttemptStep, None]:
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
            # If the wait is cancelled, ``attempt`` is the one to come and not the failed one again.
            self.attempt = Attempt(attempt.number + 1)
            yield Retrying(attempt.number, wait, failure.detail, failure.code)
            await self._sleep(wait)
            self._waited_seconds += wait

    async def _stream(self) -> AsyncGenerator[AttemptStep, None]:
        """One attempt: its pieces, then its reply. Raises ``ModelError``."""
        attempt = self.attempt
        started = clock.monotonic()
        attempt.sent, attempt.request = True, self.request
        chunks = cast(AsyncGenerator[Chunk, None], self._llm.stream(self.request))
        async with aclosing(chunks):
            async for chunk in chunks:
                if isinstance(chunk, TextDelta | ThinkingDelta):
                    if not attempt.shown:
                        attempt.first_token_seconds = clock.monotonic() - started
                    attempt.shown = True
                    if isinstance(chunk, TextDelta):
                        attempt.pieces.append(chunk.text)
                    yield Streamed(attempt.number, chunk)
                elif isinstance(chunk, UsageSeen):
                    attempt.reported = chunk.usage
                elif isinstance(chunk, HistoryForm):
                    yield chunk
                else:
                    attempt.reported = chunk.usage
                    # guard: engine-empty-reply
                    _refuse_if_empty(chunk)
                    attempt.done, attempt.reply = True, chunk
                    attempt.seconds = clock.monotonic() - started
                    yield Answered(attempt, chunk)
                    return
        raise StreamBroken("The model's answer ended without its end mark.")

    def _is_patient(self, error: ModelError) -> bool:
        """Whether the error passes with time, such as the loading of a model, and there is time left."""
        # guard: engine-patience-while-loading
        return self._waited_seconds < error.patience_seconds

    def _wait_after(self, error: ModelError, number: int) -> float | None:
        """The seconds until the next attempt, or None if there is none."""
        if not error.retryable:
            return None
        if number > self._retries and not self._is_patient(error):
            return None
        requested = error.retry_after_seconds
        if requested is None:
            # The wait doubles with each attempt. Half of it is random, so that runs which failed
            # at the same moment do not retry at the same moment.
            longest = MAX_PATIENT_WAIT_SECONDS if error.patience_seconds else MAX_WAIT_SECONDS
            most = min(FIRST_WAIT_SECONDS * 2.0 ** min(number - 1, 30), longest)
            return most * (0.5 + self._jitter() / 2)
        # guard: engine-longest-retry-wait
        if requested > MAX_RETRY_AFTER_SECONDS:
            return None
        return requested + min(1.0, 0.1 + requested / 10) * self._jitter()


def stream_with_retries(
    llm: LLM,
    request: Request,
    *,
    retries: int,
    sleep: Sleep = asyncio.sleep,
    jitter: Callable[[], float] = random.random,
) -> RetryingStream:
    """Ask the model, with up to ``retries`` further attempts after the first.

    ``sleep`` waits between attempts. ``jitter`` (a number from 0 to 1) is for tests.
    """
    return RetryingStream(llm, request, retries=retries, sleep=sleep, jitter=jitter)


def _refuse_if_empty(reply: Reply) -> None:
    """Raise ``EmptyReply`` for a reply without text, calls and reasoning, unless it was cut."""
    has_content = reply.calls or reply.text.strip() or reply.reasoning.strip()
    if reply.stop in (StopReason.END, StopReason.TOOLS) and not has_content:
        raise EmptyReply
