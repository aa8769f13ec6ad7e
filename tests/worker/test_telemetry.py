"""The exporter of spans beside a slow or full queue."""

import asyncio
from typing import Any
from uuid import uuid4

import pytest

from paca.common.best_effort import failures
from paca.conversations.telemetry import turn_ends
from paca.worker import telemetry
from paca.worker.telemetry import MAX_WAITING, TelemetryExporter

pytestmark = pytest.mark.anyio


class StuckDatabase:
    """A database that never answers."""

    async def call(self, *_: Any, **__: Any) -> Any:
        await asyncio.Event().wait()


async def test_turns_beyond_the_queue_are_dropped_and_the_end_is_not_held_up(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.OTEL_EXPORTER_OTLP_ENDPOINT = "http://127.0.0.1:1"
    monkeypatch.setattr(telemetry, "FLUSH_SECONDS", 0.01)
    before = failures["telemetry"]
    async with TelemetryExporter(StuckDatabase()) as exporter:  # type: ignore[arg-type]
        for number in range(MAX_WAITING + 5):
            exporter._on_turn_ended(uuid4(), number)
        assert failures["telemetry"] == before + 5
        assert len(turn_ends._listeners) == 1
    assert turn_ends._listeners == []
    assert failures["telemetry"] > before + 5


class DribblingCollector:
    """A collector whose answer never ends."""

    async def post(self, *_: Any, **__: Any) -> Any:
        await asyncio.Event().wait()


async def test_answer_that_never_ends_has_a_time_limit(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.OTEL_EXPORTER_OTLP_ENDPOINT = "http://127.0.0.1:1"
    monkeypatch.setattr(telemetry, "REQUEST_SECONDS", 0.01)
    sending = telemetry._send(b"{}", DribblingCollector(), seconds=1)  # type: ignore[arg-type]
    assert await asyncio.wait_for(sending, 600) == ("TimeoutError", 1)
