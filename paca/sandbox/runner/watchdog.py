"""Looks now and then at memory, processes and disk, and ends the call that takes too much."""

from __future__ import annotations

import os
import time

from paca.sandbox.runner import processes
from paca.sandbox.runner.call_table import Calls
from paca.sandbox.runner.signals import SIGKILL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

BUSY = 0.1
IDLE = 1.0
SLICE = 0.005  # of the runner's time for one piece of the walk through the workspace
CROWDED_LOOKS = 10  # a moment's crowd (make -j) is no fork bomb
SLACK = 1 << 20
HOST_FLOOR = 256 << 20  # files deleted but still open are in no walk, yet fill the host's disk


class Watchdog:
    """``in_memory``: the file systems that live in memory. With a cgroup the kernel minds memory."""

    def __init__(
        self, calls: Calls, limits: dict[str, Any], *, root: str, in_memory: list[str], cgroup: bool
    ) -> None:
        self._calls = calls
        self._memory = limits["memory_mib"] << 20
        self._processes = limits["processes"]
        self._disk = limits["workspace_mib"] << 20
        self._root = root
        self._in_memory = in_memory
        self._cgroup = cgroup
        self._due = 0.0
        self._crowded = 0
        self._walk: Iterator[int] | None = None
        self._walk_began = 0.0
        self._walk_due = 0.0
        self._last_size: int | None = None

    def tick(self, now: float) -> float | None:
        """Look if it is time; when to come back, or None if nothing runs."""
        if now >= self._due:
            alive = processes.pids()
            if not alive:
                self._crowded = 0
                return None
            self._look(alive)
            self._due = now + (BUSY if self._calls.running else IDLE)
            if self._walk is None and now >= self._walk_due:
                self._walk, self._walk_began = sizes(self._root), now
        if self._walk is not None:
            self._measure(self._walk)
        return SLICE if self._walk is not None else max(self._due - now, SLICE)

    def make_room(self) -> None:
        """No process can be started any more: end whoever has most of them."""
        self._end_largest(dict.fromkeys(processes.pids(), 1), "too_many_processes")

    def _look(self, alive: list[int]) -> None:
        if len(alive) >= self._processes - 4:
            self._crowded += 1
            if self._crowded >= CROWDED_LOOKS or not self._calls.running:
                self._end_largest(dict.fromkeys(alive, 1), "too_many_processes")
                self._crowded = 0
        else:
            self._crowded = 0
        if not self._cgroup:
            self._look_at_memory(alive)

    def _look_at_memory(self, alive: list[int]) -> None:
        files = sum(_used(path) for path in self._in_memory)
        held = {pid: processes.private_memory(pid) for pid in alive}
        if files + sum(held.values()) <= self._memory:
            return
        held = {pid: processes.proportional_memory(pid) for pid in alive}
        if files + sum(held.values()) > self._memory:
            self._end_largest(held, "out_of_memory")

    def _end_largest(self, weight: dict[int, int], cause: str) -> None:
        """End the call whose processes weigh most; those of no running call are killed alone."""
        shares: dict[str, int] = {}
        owners = {pid: self._owner(pid) for pid in weight}
        for pid, owner in owners.items():
            shares[owner] = shares.get(owner, 0) + weight[pid]
        largest = max(shares, key=lambda owner: shares[owner])
        call = self._calls.running.get(largest)
        if call is not None:
            self._calls.kill(call, cause, at_once=True)
        elif known := self._calls.all.get(largest):
            self._calls.tree(known).end()
        else:
            processes.send([pid for pid, owner in owners.items() if owner == largest], SIGKILL)

    def _owner(self, pid: int) -> str:
        marked = processes.call_of(pid)
        if marked or len(self._calls.running) != 1:
            return marked
        return next(iter(self._calls.running))

    def _measure(self, walk: Iterator[int]) -> None:
        """Add up the workspace, a slice at a time, and judge when the walk is complete."""
        end = time.monotonic() + SLICE
        for size in walk:
            if size >= 0:
                now = time.monotonic()
                self._walk = None
                self._walk_due = now + max(0.2, 10 * (now - self._walk_began))
                self._judge(size)
            elif time.monotonic() > end:
                return

    def _judge(self, size: int) -> None:
        before, self._last_size = self._last_size, size
        # Growing beyond the limit is ended; deleting what is too much must stay possible.
        too_large = size > self._disk and (before is None or size > before + SLACK)
        if too_large or _free(self._root) < HOST_FLOOR:
            written = {pid: processes.written(pid) for pid in processes.pids()}
            if max(written.values(), default=0) > SLACK:
                self._end_largest(written, "disk_full")


def _free(path: str) -> int:
    found = os.statvfs(path)
    return found.f_bavail * found.f_frsize


def _used(path: str) -> int:
    try:
        found = os.statvfs(path)
    except OSError:
        return 0
    return (found.f_blocks - found.f_bfree) * found.f_frsize


def sizes(root: str) -> Iterator[int]:
    """Walk a folder; yields -1 after each entry, so that one can pause, and the bytes at last."""
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
                    except OSError:  # gone meanwhile
                        continue
                    yield -1
        except OSError:  # gone, or closed to its own owner
            continue
    yield total
