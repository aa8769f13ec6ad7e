"""Checks memory, processes and disk space regularly, and ends the call that uses too much."""

from __future__ import annotations

import os
import time

from paca.sandbox.runner import processes
from paca.sandbox.runner.call_table import CallTable
from paca.sandbox.runner.disk_limit import GROWTH_SLACK_BYTES, DiskLimit
from paca.sandbox.runner.disk_usage import CountedUsage, QuotaUsage
from paca.sandbox.runner.memory_usage import MemoryUsage
from paca.sandbox.runner.ownership import find_owners
from paca.sandbox.runner.signals import SIGKILL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from paca.sandbox.runner.disk_usage import Usage

BUSY_SECONDS = 0.1
IDLE_SECONDS = 1.0
SLICE_SECONDS = 0.005  # the runner's time for one slice of a measurement of the workspace
MAX_CROWDED_CHECKS = 10  # many processes for a moment (make -j) are no fork bomb
MAX_FULL_CHECKS = 3  # a command may notice a full workspace itself, and clean up
MIN_FREE_BYTES = 256 << 20
MAX_SETTLING_SECONDS = 5.0  # processes that cannot be ended excuse the others no longer


class Watchdog:
    """Enforces the limits of the sandbox that the kernel does not.

    ``disk``: measures the workspace. ``disk_fd``: a descriptor on the host's disk that stores it. ``memory``: measures
    the memory, unless the kernel limits it.
    """

    def __init__(
        self,
        calls: CallTable,
        limits: dict[str, Any],
        *,
        disk: QuotaUsage | CountedUsage,
        disk_fd: int,
        memory: MemoryUsage | None,
    ) -> None:
        self._calls = calls
        self._memory_limit = limits["memory_mib"] << 20
        self._processes = limits["processes"]
        self._disk_limit = DiskLimit(limits["workspace_mib"] << 20, limits["workspace_files"])
        self._disk = disk
        self._disk_fd = disk_fd
        self._memory = memory
        self._due = 0.0
        self._crowded_checks = 0
        self._full_checks = 0
        self._ending: set[int] = set()  # the processes that were ended last for a full disk
        self._settling_until = 0.0  # on the clock of ``time.monotonic``; 0 if no process was ended
        self._measuring: Iterator[Usage | None] | None = None
        self._measuring_since = 0.0
        self._measure_due = 0.0
        self._ticks_before: dict[int, int] = {}
        self._asked: list[Callable[[Usage], None]] = []  # for the next measurement
        self._answering: list[Callable[[Usage], None]] = []  # when the running one is complete

    def tick(self, now: float) -> float | None:
        """Check if it is time. Gives the seconds until the next check, or None if there is nothing to do."""
        if now >= self._due:
            alive = processes.command_pids()
            if alive:
                self._check(alive)
                self._due = now + (BUSY_SECONDS if self._calls.running else IDLE_SECONDS)
            elif self._measuring is None and not self._asked:
                self._crowded_checks = 0
                return None
            self._begin_measuring(now)
        if self._measuring is not None:
            self._continue_measuring(self._measuring)
        if self._measuring is None:
            return max(self._due - now, SLICE_SECONDS)
        return 0.0 if self._disk.is_urgent() else SLICE_SECONDS

    def request_usage(self, answer: Callable[[Usage], None]) -> None:
        """Measure the workspace anew, and call ``answer`` with the usage."""
        self._asked.append(answer)
        self._due = 0.0

    def forget_requests(self) -> None:
        """Answer nobody who has asked for the usage, because the worker is gone."""
        self._asked, self._answering = [], []

    def relieve_process_limit(self) -> None:
        """End the call with the most processes, because no process can be started any more."""
        self._end_largest(dict.fromkeys(processes.command_pids(), 1), "too_many_processes")

    def _check(self, alive: list[int]) -> None:
        if len(alive) >= self._processes - 4:
            self._crowded_checks += 1
            if self._crowded_checks >= MAX_CROWDED_CHECKS or not self._calls.running:
                self._end_largest(dict.fromkeys(alive, 1), "too_many_processes")
                self._crowded_checks = 0
        else:
            self._crowded_checks = 0
        if self._memory is not None and self._memory.quick_total(alive) > self._memory_limit:
            total, held = self._memory.measure(alive)
            if total > self._memory_limit:
                self._end_largest(held, "out_of_memory")

    def _end_largest(self, weight: dict[int, int], cause: str) -> set[int]:
        """End the call whose processes have the highest sum of ``weight``; gives its processes.

        If they belong to no call, only these processes are killed.
        """
        if not weight:
            return set()
        shares: dict[str, int] = {}
        owners = dict.fromkeys(weight, "") | self._owners()
        for pid in weight:
            shares[owners[pid]] = shares.get(owners[pid], 0) + weight[pid]
        largest = max(shares, key=lambda owner: shares[owner])
        ended = {pid for pid, owner in owners.items() if owner == largest}
        call = self._calls.running.get(largest)
        if call is not None:
            self._calls.kill(call, cause, at_once=True)
        elif known := self._calls.all.get(largest):
            self._calls.tree(known).kill()
        else:
            ended &= weight.keys()
            processes.send_signal(ended, SIGKILL)
        return ended

    def _owners(self) -> dict[int, str]:
        """The call of each process; empty for one of no call. The newest counts where it may be one of several."""
        living = processes.living_processes()
        found = find_owners(living, self._calls.all.values())
        return {pid: (found.get(pid) or ("",))[-1] for pid in living}

    def _begin_measuring(self, now: float) -> None:
        if self._measuring is not None:
            return
        if self._asked or now >= self._measure_due or self._disk.is_urgent():
            self._measuring, self._measuring_since = self._disk.measure(), now
            self._ending &= processes.living_processes().keys() if self._ending else set()
            self._answering, self._asked = self._asked, []

    def _continue_measuring(self, steps: Iterator[Usage | None]) -> None:
        """Measure the workspace for one slice of time, and check the result when it is complete."""
        end = time.monotonic() + SLICE_SECONDS
        for usage in steps:
            if usage is not None:
                now = time.monotonic()
                self._measuring = None
                self._measure_due = now + max(0.2, 10 * (now - self._measuring_since))
                self._check_disk(usage)
                answering, self._answering = self._answering, []
                for answer in answering:
                    answer(usage)
            elif time.monotonic() > end:
                return

    def _check_disk(self, usage: Usage) -> None:
        self._full_checks = self._full_checks + 1 if self._disk.is_full() else 0
        too_large = self._full_checks >= MAX_FULL_CHECKS
        if not self._disk.enforced:
            too_large = self._disk_limit.is_passed(usage, time.monotonic())
        active = self._active_processes()
        if self._settling_until:
            # What was stored until the processes of a call were gone is no fault of the others: the first
            # measurement that began without them is the new base.
            if not self._ending or time.monotonic() > self._settling_until:
                self._settling_until = 0.0
        elif too_large or self._free_bytes() < MIN_FREE_BYTES:
            self._ending = self._end_writer(active, certain=too_large)
            if self._ending:
                self._settling_until = time.monotonic() + MAX_SETTLING_SECONDS

    def _active_processes(self) -> dict[int, int]:
        """The processes that have run since the last measurement, with the processor time of each."""
        before = self._ticks_before
        self._ticks_before = {pid: processes.cpu_ticks(pid) for pid in processes.command_pids()}
        spent = {pid: ticks - before.get(pid, 0) for pid, ticks in self._ticks_before.items()}
        return {pid: ticks for pid, ticks in spent.items() if ticks > 0}

    def _end_writer(self, active: dict[int, int], *, certain: bool) -> set[int]:
        """End the call that has written or holds most; gives its processes, which are none if it ended no call.

        If none has and it is ``certain`` that one stores too much, one of the active processes makes files
        or space in another way. Others on the machine may have filled its disk.
        """
        held = self._disk.holders
        written = {
            pid: (processes.bytes_written(pid) or 0) + held.get(pid, 0)
            for pid in {*active, *held} or self._ticks_before
        }
        if max(written.values(), default=0) <= GROWTH_SLACK_BYTES:
            if self._disk.enforced or not certain:
                return set()
            written = active or dict.fromkeys(self._ticks_before, 1)
        return self._end_largest(written, "disk_full")

    def _free_bytes(self) -> int:
        found = os.fstatvfs(self._disk_fd)
        return found.f_bavail * found.f_frsize
