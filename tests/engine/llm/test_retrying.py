"""Retries: announced before their wait, limited, and with the usage of every attempt."""

import asyncio
from dataclasses import replace

import pytest

from paca.engine.llm import retrying
from paca.engine.llm.base import Reply, StopReason, Usage
from paca.engine.llm.model_errors import (
    EmptyReply,
    KeyRefused,
    ModelError,
    ModelLoading,
    Overloaded,
    RateLimited,
    StreamBroken,
    TimedOut,
)
from paca.engine.llm.retrying import Answered, AttemptFailed, Retrying, Streamed
from tests.engine.llm.request_builders import request_with
from tests.support.model_script import Scripted, calls, fails, says, thinks
from tests.support.scripted_llm import ScriptedLLM

pytestmark = pytest.mark.anyio


class Clock:
    """A clock whose waits take no time and are recorded."""

    def __init__(self) -> None:
        self.waits: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        await asyncio.sleep(0)


async def steps_of(llm, clock, *, retries=3, jitter=1.0):
    """All steps up to the answer or the error, and the error."""
    steps: list[retrying.AttemptStep] = []
    stream = retrying.stream_with_retries(
        llm, request_with("Hi"), retries=retries, sleep=clock.sleep, jitter=lambda: jitter
    )
    try:
        async with stream as stream:
            async for step in stream:
                steps.append(step)
    except ModelError as error:
        return steps, error
    return steps, None


def kinds(steps):
    return [type(step) for step in steps if not isinstance(step, Streamed)]


async def test_retrying_makes_one_attempt_for_a_good_answer():
    clock = Clock()
    steps, error = await steps_of(ScriptedLLM([thinks("Hm.") + says("Hello.")]), clock)
    assert (kinds(steps), error, clock.waits) == ([Answered], None, [])
    assert steps[-1].reply.text == "Hello."
    assert steps[-1].attempt.outcome == "done"
    assert steps[-1].attempt.usage == Usage(input=10, output=5)
    assert {step.attempt for step in steps[:-1]} == {1}


async def test_retrying_reports_a_failed_attempt_before_the_next_begins():
    llm = ScriptedLLM([fails("cut"), says("Hello.")])
    steps, _ = await steps_of(llm, Clock())
    assert kinds(steps) == [AttemptFailed, Retrying, Answered]
    failed = next(step for step in steps if isinstance(step, AttemptFailed))
    assert failed.attempt.text == "Let me look at that for you first."
    assert (failed.attempt.shown, failed.attempt.outcome) == (True, "failed")
    assert failed.attempt.usage.input == 10  # seen at the start, paid although it was cut
    retry = next(step for step in steps if isinstance(step, Retrying))
    assert (retry.attempt, retry.code, retry.cause) == (1, "stream_broken", failed.error.detail)
    assert steps[-1].attempt.number == 2
    assert llm.requests[0] == llm.requests[1]


@pytest.mark.parametrize(
    ("error", "estimated"),
    [(TimedOut(), True), (StreamBroken(), True), (Overloaded(), False), (KeyRefused(), False)],
)
async def test_usage_of_a_request_that_was_never_answered_is_unknown(error, estimated):
    """A provider that refuses bills nothing. One that was left before it answered may."""
    steps, _ = await steps_of(ScriptedLLM([error]), Clock(), retries=0)
    assert steps[0].attempt.usage == Usage(estimated=estimated)
    stopped = retrying.Attempt(1, sent=True)
    assert (stopped.outcome, stopped.usage) == ("cancelled", Usage(estimated=True))
    assert retrying.Attempt(1).usage == Usage()  # stopped before its request was sent


async def test_retrying_announces_a_retry_before_its_wait():
    clock = Clock()
    llm = ScriptedLLM([Overloaded(), says("Hello.")])
    async with retrying.stream_with_retries(
        llm, request_with("Hi"), retries=1, sleep=clock.sleep
    ) as stream:
        async for step in stream:
            if isinstance(step, Retrying):
                assert clock.waits == []
    assert len(clock.waits) == 1


async def test_retrying_doubles_its_waits_and_adds_jitter():
    for jitter, expected in ((1.0, [1, 2, 4, 8]), (0.0, [0.5, 1, 2, 4])):
        clock = Clock()
        await steps_of(ScriptedLLM([Overloaded()] * 5), clock, retries=4, jitter=jitter)
        assert clock.waits == expected


async def test_retrying_waits_at_most_half_a_minute_unless_the_provider_asks():
    clock = Clock()
    await steps_of(ScriptedLLM([Overloaded()] * 11), clock, retries=10)
    assert max(clock.waits) == retrying.MAX_WAIT_SECONDS


async def test_retrying_waits_as_long_as_the_provider_asks():
    clock = Clock()
    limited = RateLimited(retry_after_seconds=20)
    steps, error = await steps_of(ScriptedLLM([limited, limited, says("Hello.")]), clock)
    assert error is None
    assert all(20 <= wait <= 22 for wait in clock.waits)
    assert [s.wait_seconds for s in steps if isinstance(s, Retrying)] == clock.waits


async def test_retrying_gives_up_if_the_provider_asks_for_hours():
    clock = Clock()
    steps, error = await steps_of(ScriptedLLM([RateLimited(retry_after_seconds=7200)]), clock)
    assert (kinds(steps), clock.waits) == ([AttemptFailed], [])
    assert isinstance(error, RateLimited)


@pytest.mark.parametrize("retries", [0, 1, 3])
async def test_retrying_raises_the_last_error(retries):
    clock = Clock()
    errors = [Overloaded(str(number)) for number in range(retries + 1)]
    steps, error = await steps_of(ScriptedLLM(errors), clock, retries=retries)
    assert error is errors[-1]
    assert kinds(steps).count(AttemptFailed) == retries + 1
    assert len(clock.waits) == retries


async def test_retrying_raises_a_permanent_error_at_once():
    clock = Clock()
    steps, error = await steps_of(ScriptedLLM([KeyRefused()]), clock)
    assert isinstance(error, KeyRefused)
    assert (kinds(steps), clock.waits) == ([AttemptFailed], [])


@pytest.mark.parametrize("empty", [Scripted(), says("  \n")])
async def test_retrying_repeats_after_an_empty_reply(empty):
    steps, error = await steps_of(ScriptedLLM([empty, empty, says("Hello.")]), Clock())
    assert error is None
    assert [s.code for s in steps if isinstance(s, Retrying)] == ["empty_reply"] * 2


@pytest.mark.parametrize("stop", ["max_tokens", "refusal"])
async def test_retrying_accepts_a_cut_or_refused_reply_without_text(stop):
    steps, error = await steps_of(ScriptedLLM([Scripted(stop=stop)]), Clock())
    assert (kinds(steps), error) == ([Answered], None)


async def test_retrying_ends_repeated_empty_replies_with_their_error():
    _, error = await steps_of(ScriptedLLM([Scripted()] * 4), Clock())
    assert isinstance(error, EmptyReply)


async def test_retrying_accepts_a_reply_of_calls_only():
    steps, _ = await steps_of(ScriptedLLM([calls(bash="ls")]), Clock())
    assert steps[-1].reply.stop is StopReason.TOOLS


async def test_retrying_counts_a_stream_without_a_reply_as_broken():
    class Ends:
        async def stream(self, request):
            return
            yield

    _, error = await steps_of(Ends(), Clock(), retries=0)
    assert isinstance(error, StreamBroken)


async def test_retrying_closes_the_stream_of_a_cancelled_call_and_keeps_its_usage():
    llm = ScriptedLLM([says("Hello there.")], hold=asyncio.Event())
    stream = retrying.stream_with_retries(llm, request_with("Hi"), retries=3)

    async def consume() -> None:
        async with stream:
            async for _ in stream:
                pass

    task = asyncio.create_task(consume())
    await llm.streaming.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert llm.closed == 1
    assert (stream.attempt.outcome, stream.attempt.usage.input) == ("cancelled", 10)
    assert stream.attempt.text == "Hello "


async def test_retrying_closes_the_stream_after_an_error_of_the_caller():
    llm = ScriptedLLM([says("Hello there.")])

    async def stumble() -> None:
        async with retrying.stream_with_retries(llm, request_with("Hi"), retries=3) as stream:
            async for _ in stream:
                raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await stumble()
    assert llm.closed == 1


async def test_retrying_makes_no_attempt_after_a_cancelled_wait():
    llm = ScriptedLLM([Overloaded(), says("never")])
    waiting = asyncio.Event()

    async def sleep(seconds: float) -> None:
        waiting.set()
        await asyncio.Event().wait()

    stream = retrying.stream_with_retries(llm, request_with("Hi"), retries=3, sleep=sleep)

    async def consume() -> None:
        async with stream:
            async for _ in stream:
                pass

    task = asyncio.create_task(consume())
    await waiting.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(llm.requests) == 1
    # The failed attempt was recorded when it failed; the attempt after it was cancelled.
    assert (stream.attempt.number, stream.attempt.outcome) == (2, "cancelled")
    assert stream.attempt.usage == Usage()


async def test_retrying_handles_faults_over_real_http(server, llm):
    """T-33 and T-65 for one request: each fault is reported and the answer is whole."""
    faults = ("429", "529", "503", "reset", "cut", "cuttool", "midover", "html")
    server.script([*(replace(fails(kind), retry_after="0") for kind in faults), calls(bash="ls")])
    steps, error = await steps_of(llm, Clock(), retries=len(faults))
    assert error is None
    assert [type(s) for s in steps].count(Retrying) == len(faults)
    assert isinstance(steps[-1].reply, Reply)
    assert len(steps[-1].reply.calls) == 1
    assert len({request.raw for request in server.requests}) == 1
    assert server.wait_until_idle()


def loading(seconds):
    error = ModelLoading("Loading model")
    error.patience_seconds = seconds
    return error


async def test_retrying_waits_for_a_model_that_loads_however_many_attempts_that_takes():
    clock = Clock()
    replies = [*(loading(300) for _ in range(20)), says("Hello.")]
    steps, error = await steps_of(ScriptedLLM(replies), clock, retries=3)
    assert error is None
    assert kinds(steps)[-1] is Answered
    assert max(clock.waits) == 10


async def test_retrying_gives_up_a_model_that_never_loads():
    clock = Clock()
    _, error = await steps_of(ScriptedLLM([loading(60) for _ in range(50)]), clock, retries=3)
    assert isinstance(error, ModelLoading)
    assert 60 <= sum(clock.waits) <= 70
