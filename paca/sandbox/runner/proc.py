"""Reads the process table in /proc, for the runner in its sandbox and for the workers on the host."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

STOPPED, GONE = "T", "X"
DEAD_STATES = ("Z", GONE)


class ProcessStat:
    """One process as ``/proc/<pid>/stat`` describes it.

    ``state`` is the kernel's letter: R runs, S sleeps, T is stopped, Z is a zombie. ``start_time`` is
    in clock ticks since boot; together with the pid it identifies a process.
    """

    __slots__ = ("parent", "pid", "session", "start_time", "state")

    def __init__(self, pid: int, state: str, parent: int, session: int, start_time: int) -> None:
        self.pid = pid
        self.state = state
        self.parent = parent
        self.session = session
        self.start_time = start_time

    @property
    def is_alive(self) -> bool:
        """Whether the process still runs; a zombie does not."""
        return self.state not in DEAD_STATES


def read_stat(pid: int) -> ProcessStat | None:
    """The process as it is now; None if it does not exist or may not be seen."""
    # A program may name itself anything, even "a) R 1": the last parenthesis ends the name.
    fields = read_file(f"/proc/{pid}/stat", 1024).rpartition(b")")[2].split()
    if len(fields) < 20:
        return None
    return ProcessStat(
        pid, fields[0].decode("ascii"), int(fields[1]), int(fields[3]), int(fields[19])
    )


def list_pids() -> list[int]:
    """The ids of all processes that this process can see."""
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208 - pathlib is slow to import


def all_processes() -> Iterator[ProcessStat]:
    """All processes that this process can see, zombies included."""
    for pid in list_pids():
        process = read_stat(pid)
        if process is not None:
            yield process


def state(pid: int) -> str:
    """The kernel's letter for what a process does; ``X`` if the process is gone."""
    process = read_stat(pid)
    return GONE if process is None else process.state


def start_time(pid: int) -> int | None:
    """When a process started, in clock ticks since boot; None if it is gone or a zombie."""
    process = read_stat(pid)
    return process.start_time if process is not None and process.is_alive else None


def has_memory(pid: int) -> bool:
    """Whether the process has an address space. One that is ending has given it back, as zombies have."""
    fields = read_file(f"/proc/{pid}/stat", 1024).rpartition(b")")[2].split()
    return len(fields) > 20 and fields[20] != b"0"


def read_file(path: str, limit: int) -> bytes:
    """The first ``limit`` bytes of a file in /proc; empty if it cannot be read."""
    try:
        fd = os.open(path, os.O_RDONLY)
    except OSError:  # the process has ended meanwhile, or belongs to another user
        return b""
    try:
        return os.read(fd, limit)
    except OSError:
        return b""
    finally:
        os.close(fd)


def read_whole(path: str, limit: int) -> bytes:
    """A file in /proc up to ``limit`` bytes, which the kernel gives in pieces; empty if it cannot be read."""
    try:
        fd = os.open(path, os.O_RDONLY)
    except OSError:
        return b""
    data = bytearray()
    try:
        while len(data) < limit and (piece := os.read(fd, 1 << 16)):
            data += piece
    except OSError:
        return b""
    finally:
        os.close(fd)
    return bytes(data)
