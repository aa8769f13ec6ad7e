"""The runner's watchdog of a full workspace, with processes and measurements that the tests set."""

import os

import pytest

from paca.sandbox.runner import processes
from paca.sandbox.runner.disk_usage import Usage
from paca.sandbox.runner.watchdog import Watchdog

MIB = 1 << 20
LIMITS = {"memory_mib": 256, "processes": 64, "workspace_mib": 64, "workspace_files": 1000}


class Disk:
    """A workspace whose size the test sets, and whose next measurement is always urgent."""

    enforced = False

    def __init__(self) -> None:
        self.mib = 0
        self.holders: dict[int, int] = {}

    def is_full(self) -> bool:
        return self.mib >= LIMITS["workspace_mib"]

    def is_urgent(self) -> bool:
        return True

    def measure(self):
        yield Usage(self.mib * MIB, 1)


class Calls:
    """Running calls, each named as its only process; records which were ended."""

    def __init__(self) -> None:
        self.running = self.all = {}
        self.ended: list[str] = []

    def kill(self, call: str, cause: str, *, at_once: bool) -> None:
        assert (cause, at_once) == ("disk_full", True)
        self.ended.append(call)


class Sandbox:
    """A watchdog, its clock, and the processes that it sees: the call of each, by pid."""

    def __init__(self, monkeypatch) -> None:
        self.living: dict[int, str] = {}
        self.disk, self.calls, self.now = Disk(), Calls(), 0.0
        descriptor = os.open("/", os.O_RDONLY)
        monkeypatch.setattr(processes, "command_pids", lambda: list(self.living))
        monkeypatch.setattr(processes, "living_processes", lambda: dict(self.living))
        monkeypatch.setattr(processes, "bytes_written", lambda pid: 0)
        monkeypatch.setattr(processes, "cpu_ticks", lambda pid: int(self.now * 100))
        monkeypatch.setattr(
            "paca.sandbox.runner.watchdog.find_owners",
            lambda living, calls: {pid: (call,) for pid, call in living.items()},
        )
        monkeypatch.setattr("time.monotonic", lambda: self.now)
        self.watchdog = Watchdog(
            self.calls, LIMITS, disk=self.disk, disk_fd=descriptor, memory=None
        )

    def measure(self, mib: int) -> list[str]:
        """One measurement, a second after the last; gives the calls that were ended so far."""
        self.disk.mib = mib
        self.now += 1
        self.watchdog.tick(self.now)
        return self.calls.ended

    def begin(self, pid: int, call: str) -> None:
        self.living[pid] = call
        self.calls.running[call] = call


@pytest.fixture
def sandbox(monkeypatch):
    return Sandbox(monkeypatch)


def test_what_an_ended_call_stores_until_its_processes_are_gone_ends_no_other_call(sandbox):
    sandbox.begin(10, "writer")
    assert sandbox.measure(10) == []
    assert sandbox.measure(200) == ["writer"]
    assert sandbox.measure(300) == ["writer"]  # its signal has not reached it yet
    del sandbox.living[10]
    sandbox.calls.running.pop("writer")
    sandbox.begin(20, "cleaner")
    assert sandbox.measure(400) == ["writer"]
    assert sandbox.measure(400) == ["writer"]
    assert sandbox.measure(500) == ["writer", "cleaner"]  # this one writes itself


def test_processes_that_cannot_be_ended_excuse_another_writer_for_seconds_only(sandbox):
    sandbox.begin(10, "stuck")
    sandbox.measure(10)
    assert sandbox.measure(200) == ["stuck"]
    for second in range(1, 6):
        assert sandbox.measure(200 + 10 * second) == ["stuck"]
    sandbox.measure(300)
    assert sandbox.measure(400) == ["stuck", "stuck"]
