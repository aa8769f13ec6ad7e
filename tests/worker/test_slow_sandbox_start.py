"""A sandbox that starts slowly: the log tells the phase it is in, and an error says where the time went."""

import asyncio
from collections import defaultdict
from uuid import uuid4

import pytest

from paca import events
from paca.engine.context.history import History
from paca.engine.workspace import SandboxUnavailable
from paca.sandbox import start_phases
from paca.sandbox.base import SandboxSpec
from paca.worker.sandboxes import run_sandbox
from paca.worker.sandboxes.run_sandbox import RunSandbox
from tests.support.fake_clock import FakeClock


class RecordingLog:
    """Takes the events of a run's log."""

    history = History()

    def __init__(self) -> None:
        self.phases: list[str] = []
        self.told: dict[str, asyncio.Event] = defaultdict(asyncio.Event)

    async def commit(self, *entries: events.Event) -> None:
        for each in entries:
            assert isinstance(each, events.SandboxProgressed)
            self.phases.append(each.phase)
            self.told[each.phase].set()


class SlowManager:
    """Its backend answers after 30 seconds, and fails 9 seconds later. The clock is the test's."""

    def __init__(self, log: RecordingLog, clock: FakeClock) -> None:
        self.log, self.clock = log, clock

    async def choose_backend(self, _files_backend: str = "") -> None:
        await self._take("check", 30)
        start_phases.enter("create")
        await self._take("create", 9)
        raise SandboxUnavailable("Docker refused: no space left.")

    async def _take(self, phase: str, seconds: float) -> None:
        self.clock.advance(seconds)
        await self.log.told[phase].wait()


def open_slowly(monkeypatch) -> tuple[list[str], str]:
    """The phases that were told during the start, and its error."""
    monkeypatch.setattr(run_sandbox, "LOOK_SECONDS", 0)
    log = RecordingLog()
    with FakeClock() as clock:
        manager = SlowManager(log, clock)
        sandbox = RunSandbox(SandboxSpec(uuid4()), "", manager=manager, log=log, database=None)
        with pytest.raises(SandboxUnavailable) as failed:
            asyncio.run(sandbox.workspace())
    return log.phases, failed.value.detail


def test_slow_start_of_a_sandbox_is_told_by_phase_and_in_its_error(monkeypatch):
    phases, error = open_slowly(monkeypatch)
    assert phases == ["check", "create"]
    assert error == (
        "Docker refused: no space left."
        " 39.0 s went by: asking the backend 30.0 s, creating it 9.0 s."
    )


def test_phases_of_a_start_add_up_and_a_phase_may_come_again():
    with FakeClock() as clock, start_phases.measure() as phases:
        clock.advance(1)
        for phase, seconds in (("create", 2), ("queue", 3), ("create", 4), ("start", 5)):
            start_phases.enter(phase)
            clock.advance(seconds)
        assert phases.total == 15
        assert phases.end() == {"check": 1, "create": 6, "queue": 3, "start": 5}
    start_phases.enter("create")  # nothing is measured now
    assert phases.phase == "start"
