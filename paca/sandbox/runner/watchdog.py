"""Checks memory, processes and disk space regularly, and ends the call that uses too much."""

from __future__ import annotations

import os
import time

from paca.sandbox.runner import processes
from paca.sandbox.runner.call_table import CallTable
from paca.sandbox.runner.ownership import find_owners
from paca.sandbox.runner.signals import SIGKILL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

BUSY_SECONDS = 0.1
IDLE_SECONDS = 1.0
SLICE_SECONDS = 0.005  # the runner's time for one slice of a scan of the workspace
MAX_CROWDED_CHECKS = 10  # many processes for a moment (make -j) are no fork bomb
GROWTH_SLACK_BYTES = 1 << 20
# Deleted files that are still open fill the host's disk, but no scan finds them.
MIN_FREE_BYTES = 256 << 20


class Watchdog:
    """Enforces the limits of the sandbox that the kernel does not.

    ``in_memory``: the paths of file systems in memory. ``has_cgroup``: the kernel limits the memory.
    """

    def __init__(
        self,
        calls: CallTable,
        limits: dict[str, Any],
        *,
        root: str,
        in_memory: list[str],
        has_cgroup: bool,
    ) -> None:
        self._calls = calls
        self._memory = limits["memory_mib"] << 20
        self._processes = limits["processes"]
        self._disk = limits["workspace_mib"] << 20
        self._root = root
        self._in_memory = in_memory
        self._has_cgroup = has_cgroup
        self._due = 0.0
        self._crowded_checks = 0
        self._disk_scan: Iterator[int] | None = None
        self._scan_started = 0.0
        self._scan_due = 0.0
        self._last_size: int | None = None

    def tick(self, now: float) -> float | None:
        """Check if it is time. Gives the seconds until the next check, or None if no command runs."""
        if now >= self._due:
            alive = processes.command_pids()
            if not alive:
                self._crowded_checks = 0
                return None
            self._check(alive)
            self._due = now + (BUSY_SECONDS if self._calls.running else IDLE_SECONDS)
            if self._disk_scan is None and now >= self._scan_due:
                self._disk_scan, self._scan_started = scan_size(self._root), now
        if self._disk_scan is not None:
            self._continue_scan(self._disk_scan)
        return SLICE_SECONDS if self._disk_scan is not None else max(self._due - now, SLICE_SECONDS)

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
        if not self._has_cgroup:
            self._check_memory(alive)

    def _check_memory(self, alive: list[int]) -> None:
        files = sum(_used_bytes(path) for path in self._in_memory)
        held = {pid: processes.private_memory(pid) for pid in alive}
        if files + sum(held.values()) <= self._memory:
            return
        held = {pid: processes.proportional_memory(pid) for pid in alive}
        if files + sum(held.values()) > self._memory:
            self._end_largest(held, "out_of_memory")

    def _end_largest(self, weight: dict[int, int], cause: str) -> None:
        """End the call whose processes have the highest sum of ``weight``.

        If they belong to no running call, only these processes are killed.
        """
        shares: dict[str, int] = {}
        owners = self._owners(weight)
        if not owners:
            return
        for pid, owner in owners.items():
            shares[owner] = shares.get(owner, 0) + weight[pid]
        largest = max(shares, key=lambda owner: shares[owner])
        call = self._calls.running.get(largest)
        if call is not None:
            self._calls.kill(call, cause, at_once=True)
        elif known := self._calls.all.get(largest):
            self._calls.tree(known).kill()
        else:
            processes.send_signal(
                [pid for pid, owner in owners.items() if owner == largest], SIGKILL
            )

    def _owners(self, weight: dict[int, int]) -> dict[int, str]:
        """The call of each process; empty for one of no call. The newest counts where it may be one of several."""
        found = find_owners(processes.living_processes(), self._calls.all.values())
        return {pid: (found.get(pid) or ("",))[-1] for pid in weight}

    def _continue_scan(self, scan: Iterator[int]) -> None:
        """Continue the scan of the workspace for one slice of time, and check the size when it is complete."""
        end = time.monotonic() + SLICE_SECONDS
        for size in scan:
            if size >= 0:
                now = time.monotonic()
                self._disk_scan = None
                self._scan_due = now + max(0.2, 10 * (now - self._scan_started))
                self._check_disk(size)
            elif time.monotonic() > end:
                return

    def _check_disk(self, size: int) -> None:
        before, self._last_size = self._last_size, size
        # Only growth beyond the limit is ended: deleting files must stay possible.
        too_large = size > self._disk and (before is None or size > before + GROWTH_SLACK_BYTES)
        if too_large or _free_bytes(self._root) < MIN_FREE_BYTES:
            written = {pid: processes.bytes_written(pid) for pid in processes.command_pids()}
            if max(written.values(), default=0) > GROWTH_SLACK_BYTES:
                self._end_largest(written, "disk_full")


def _free_bytes(path: str) -> int:
    found = os.statvfs(path)
    return found.f_bavail * found.f_frsize


def _used_bytes(path: str) -> int:
    try:
        found = os.statvfs(path)
    except OSError:
        return 0
    return (found.f_blocks - found.f_bfree) * found.f_frsize


def scan_size(root: str) -> Iterator[int]:
    """Add up the bytes below a folder. Yields -1 after each entry, so that the caller can pause, then the sum."""
    total = 0
    waiting = [root]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    try:
                        total += entry.stat(follow_symlinks=False).st_blocks * 512
                        if entry.is_dir(follow_symlinks=False):
                            waiting.append(entry.path)
                    except OSError:  # it was removed meanwhile
                        continue
                    yield -1
        except OSError:  # it was removed, or its permissions forbid reading
            continue
    yield total
