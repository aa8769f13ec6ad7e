"""Measures the memory of the sandbox where no control group does: also what processes share or hide."""

from __future__ import annotations

import os
import time

from paca.sandbox.runner import open_files, proc, processes

SHARED_GROWTH_BYTES = 4 << 20
SHARED_SECONDS = 1.0  # others on this machine may free as much as the sandbox takes
INODE_BYTES = 1024
SHARED_ANONYMOUS = b"/dev/zero (deleted)"


class MemoryUsage:
    """The memory of all processes, and of the file systems in memory that are mounted at ``in_memory``."""

    def __init__(self, in_memory: list[str]) -> None:
        self._in_memory = in_memory
        self._devices = {os.stat(path).st_dev for path in in_memory}  # noqa: PTH116 - pathlib is slow to import
        self._shared = 0
        self._holders: dict[int, int] = {}
        self._machine_shared_at_last = -1
        self._looked_at = 0.0

    def quick_total(self, pids: list[int]) -> int:
        """The bytes in use, with forked memory counted more than once: never less than ``measure`` gives.

        What processes share is looked at again after a while, or if the whole machine has more of it.
        """
        grown = _machine_shared() - self._machine_shared_at_last
        if grown > SHARED_GROWTH_BYTES or time.monotonic() - self._looked_at > SHARED_SECONDS:
            self._look_at_shared(pids)
        return self._stored() + self._shared + sum(map(processes.private_memory, pids))

    def measure(self, pids: list[int]) -> tuple[int, dict[int, int]]:
        """The bytes in use, and each process's part of them. Slow."""
        self._look_at_shared(pids)
        held = {pid: processes.proportional_memory(pid) for pid in pids}
        total = self._stored() + self._shared + sum(held.values())
        for pid, size in self._holders.items():
            held[pid] = held.get(pid, 0) + size
        return total, held

    def _stored(self) -> int:
        return sum(map(_used_bytes, self._in_memory))

    def _look_at_shared(self, pids: list[int]) -> None:
        """Measure memory without a name: of ``memfd_create``, shared anonymous, and of System V."""
        held = open_files.collect(pids)
        files = {key: size for key, size in held.elsewhere.items() if key[0] not in self._devices}
        self._holders = dict(held.holders)
        mapped = 0
        for pid in pids:
            size = _shared_anonymous(pid)
            mapped += size
            self._holders[pid] = self._holders.get(pid, 0) + size
        self._shared = sum(files.values()) + mapped + _system_v_bytes()
        self._machine_shared_at_last = _machine_shared()
        self._looked_at = time.monotonic()


def _used_bytes(path: str) -> int:
    """What a file system in memory takes: its content, and what the kernel keeps of each file."""
    try:
        found = os.statvfs(path)
    except OSError:
        return 0
    stored = (found.f_blocks - found.f_bfree) * found.f_frsize
    return stored + (found.f_files - found.f_ffree) * INODE_BYTES


def _machine_shared() -> int:
    return _first_kib(proc.read_file("/proc/meminfo", 8192), b"Shmem:")


def _shared_anonymous(pid: int) -> int:
    """The process's part of memory that it maps shared and anonymous."""
    if _first_kib(proc.read_file(f"/proc/{pid}/status", 4096), b"RssShmem:") == 0:
        return 0
    total, is_wanted = 0, False
    for line in proc.read_whole(f"/proc/{pid}/smaps", 16 << 20).splitlines():
        if line[:1] in b"0123456789abcdef":
            is_wanted = line.endswith(SHARED_ANONYMOUS)
        elif is_wanted and line.startswith(b"Pss:"):
            total += int(line.split()[1]) * 1024
    return total


def _first_kib(text: bytes, name: bytes) -> int:
    for line in text.splitlines():
        if line.startswith(name):
            return int(line.split()[1]) * 1024
    return 0


def _system_v_bytes() -> int:
    """The bytes of System V segments, resident or swapped out; this sandbox sees only its own."""
    rows = proc.read_whole("/proc/sysvipc/shm", 1 << 20).splitlines()[1:]
    return sum(int(fields[14]) + int(fields[15]) for row in rows if len(fields := row.split()) > 15)
