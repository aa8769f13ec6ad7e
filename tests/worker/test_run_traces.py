"""Traces of a run: stored beside it, in their order, and dropped before they could hold it up."""

import asyncio
from typing import Any
from uuid import uuid4

import pytest

from paca.common import best_effort
from paca.conversations import known_secrets
from paca.engine.llm import call_recording
from paca.worker import run_traces
from paca.worker.run_traces import MAX_WAITING, RunTraces
from tests.conversations.traced_calls import ended_call

pytestmark = pytest.mark.anyio


class SlowDatabase:
    """A database whose calls wait until they are let go; then it gives what they were asked to store."""

    def __init__(self) -> None:
        self.go = asyncio.Event()
        self.stored: list[Any] = []

    async def call(
        self, function: Any, conversation_id: Any, agent: Any, call: Any, known: Any
    ) -> Any:
        await self.go.wait()
        self.stored.append(call)
        return known


def one_call(traces: RunTraces) -> Any:
    """A call that is recorded and has ended."""
    call = ended_call(b"{}")
    traces.begin(call.usage.call_id)
    assert call_recording.current() is not None
    traces.end(call.usage, call.attempt)
    assert call_recording.current() is None
    return call


async def test_slow_database_holds_no_call_up_and_further_traces_are_dropped() -> None:
    database = SlowDatabase()
    traces = RunTraces(uuid4(), uuid4(), database)  # type: ignore[arg-type]
    before = best_effort.failures["trace"]
    made = [one_call(traces) for _ in range(MAX_WAITING + 3)]
    assert best_effort.failures["trace"] == before + 3
    database.go.set()
    await traces.close()
    assert [each.usage for each in database.stored] == [each.usage for each in made[:MAX_WAITING]]


async def test_run_waits_for_its_traces_no_longer_than_a_moment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(run_traces, "CLOSE_SECONDS", 0.01)
    database = SlowDatabase()
    traces = RunTraces(uuid4(), uuid4(), database)  # type: ignore[arg-type]
    one_call(traces)
    await traces.close()
    assert not database.stored


async def test_call_that_was_not_begun_is_not_traced() -> None:
    database = SlowDatabase()
    database.go.set()
    traces = RunTraces(uuid4(), uuid4(), database)  # type: ignore[arg-type]
    call = ended_call(b"{}")
    traces.end(call.usage, call.attempt)
    await traces.close()
    assert not database.stored


def test_secrets_of_the_installation_are_known(settings: Any) -> None:
    settings.METRICS_TOKEN = "metrics-token-1234"
    settings.REDIS_URL = "redis://me:redis-password@host:6379/0"
    found = known_secrets.of_installation()
    assert {settings.SECRET_KEY, *settings.ENCRYPTION_KEY} <= found
    assert {"metrics-token-1234", "redis-password"} <= found
