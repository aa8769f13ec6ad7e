"""Counts what the processes of the sandbox write, as the kernel does, and sees when a count is not complete."""

from __future__ import annotations

import os
import resource

from paca.sandbox.runner import proc, processes

OBLOCK_BYTES = 512  # the unit of ``ru_oublock``
TRIAL_BYTES = 4096
DEFAULT_MAX_PID = 1 << 15


class WriteCounters:
    """The counters of all processes at one moment.

    ``written``: by process, the bytes that it has written towards a disk. ``runner``: the same for the
    runner. ``tasks``: the ids of all threads. ``first_born`` and ``last_born``: the id of the newest thread
    before and after the look at the processes. ``forks``: the threads that the machine has started.
    """

    def __init__(self) -> None:
        self.first_born, self.forks = _newest_id(), _machine_forks()
        self.runner = _own_count()
        self.tasks: set[int] = set()
        self.written: dict[int, int | None] = {}
        for pid in processes.command_pids():
            self.written[pid] = processes.bytes_written(pid)
            self.tasks |= _threads(pid)
        self.last_born = _newest_id()


def written_between(before: WriteCounters, after: WriteCounters) -> tuple[int, bool]:
    """The bytes that the sandbox has written, and whether these are certainly all.

    They are not if a process has ended, because nobody may have asked the kernel for its counter; or if a
    thread was started that is gone; or if a process may not be looked at. The count of an ended process
    is subtracted: it is part of that of its parent now, if any has waited for it.
    """
    counts = (before.written, after.written)
    hidden = {pid for each in counts for pid, count in each.items() if count is None}
    then, now = (
        sum(count or 0 for pid, count in each.items() if pid not in hidden) for each in counts
    )
    total = after.runner - before.runner + max(0, now - then)
    complete = not hidden and before.written.keys() <= after.written.keys()
    born = after.last_born - before.first_born
    if min(before.forks, before.first_born) < 0 or after.forks - before.forks >= _max_pid():
        return total, False  # the kernel tells no ids, or they may have begun again
    return total, complete and 0 <= born <= len(after.tasks - before.tasks)


def counts_writes(folder: str) -> bool:
    """Whether the kernel counts what is written below the folder. It does not in memory, or over a network."""
    try:
        file = os.open(folder, os.O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC, 0o600)
    except OSError:
        return False
    try:
        before = _own_count()
        return os.write(file, bytes(TRIAL_BYTES)) <= _own_count() - before
    except OSError:
        return False
    finally:
        os.close(file)


def _own_count() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_oublock * OBLOCK_BYTES


def _newest_id() -> int:
    """The id of the thread that was started last in this sandbox; negative if the kernel does not tell."""
    fields = proc.read_file("/proc/loadavg", 256).split()
    return int(fields[4]) if len(fields) > 4 else -1


def _machine_forks() -> int:
    for line in proc.read_whole("/proc/stat", 1 << 20).splitlines():
        if line.startswith(b"processes "):
            return int(line.split()[1])
    return -1


def _max_pid() -> int:
    found = proc.read_file("/proc/sys/kernel/pid_max", 64).strip()
    return int(found) if found.isdigit() else DEFAULT_MAX_PID


def _threads(pid: int) -> set[int]:
    try:
        return {int(name) for name in os.listdir(f"/proc/{pid}/task")}  # noqa: PTH208 - pathlib is slow to import
    except OSError:  # it has ended
        return set()
