"""What runs in the sandbox, read from /proc, and which call each process belongs to."""

from __future__ import annotations

import os
import time

from paca.sandbox.runner.signals import SIGKILL, SIGSTOP

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

MARKER = b"PACA_CALL="
PAGE = os.sysconf("SC_PAGE_SIZE")
TICKS = os.sysconf("SC_CLK_TCK")


class Process:
    """One line of the process table."""

    __slots__ = ("parent", "pid", "resident", "session", "started")

    def __init__(self, pid: int, parent: int, session: int, started: int, resident: int) -> None:
        self.pid = pid
        self.parent = parent
        self.session = session
        self.started = started
        self.resident = resident


def now_in_ticks() -> int:
    """The present, as process start times are counted."""
    return int(time.clock_gettime(time.CLOCK_BOOTTIME) * TICKS)


def pids() -> list[int]:
    """Everybody but process 1 (this program)."""
    names = os.listdir("/proc")  # noqa: PTH208 - pathlib is slow to import
    return [int(name) for name in names if name.isdigit() and name != "1"]


def snapshot() -> dict[int, Process]:
    """The living by pid; zombies are left out."""
    found = {}
    for pid in pids():
        process = _read(pid)
        if process is not None:
            found[pid] = process
    return found


def _read(pid: int) -> Process | None:
    fields = _slurp(f"/proc/{pid}/stat", 1024).rpartition(b")")[2].split()
    if len(fields) < 22 or fields[0] in (b"Z", b"X"):
        return None
    return Process(pid, int(fields[1]), int(fields[3]), int(fields[19]), int(fields[21]) * PAGE)


def _slurp(path: str, limit: int) -> bytes:
    try:
        fd = os.open(path, os.O_RDONLY)
    except OSError:  # it has ended meanwhile, or is not ours to read
        return b""
    try:
        return os.read(fd, limit)
    except OSError:
        return b""
    finally:
        os.close(fd)


def call_of(pid: int) -> str:
    """The call whose environment a process inherited; empty if it hides that."""
    environment = b"\0" + _slurp(f"/proc/{pid}/environ", 1 << 17)
    value = environment.partition(b"\0" + MARKER)[2].partition(b"\0")[0]
    return value.decode("utf-8", "replace")


def private_memory(pid: int) -> int:
    """Bytes that only this process holds: resident without what is shared or from files."""
    fields = _slurp(f"/proc/{pid}/statm", 256).split()
    return (int(fields[1]) - int(fields[2])) * PAGE if len(fields) > 2 else 0


def proportional_memory(pid: int) -> int:
    """As above, but pages shared after a fork are divided among their holders. Slow."""
    for line in _slurp(f"/proc/{pid}/smaps_rollup", 4096).splitlines():
        if line.startswith(b"Pss_Anon:"):
            return int(line.split()[1]) * 1024
    return private_memory(pid)


def written(pid: int) -> int:
    """Bytes a process has sent towards a disk."""
    for line in _slurp(f"/proc/{pid}/io", 1024).splitlines():
        if line.startswith(b"write_bytes:"):
            return int(line.split()[1])
    return 0


class Tree:
    """The processes of one call: its session, its marker, its descendants.

    ``alone``: no other call runs, so an orphan without a marker that began during this call
    (``env -i setsid ...``) is its too.
    """

    def __init__(self, call_id: str, leader: int, started: int, *, alone: bool) -> None:
        self._call_id = call_id
        self._leader = leader
        self._started = started
        self._alone = alone

    def members(self) -> set[int]:
        table = snapshot()
        found = {pid for pid, process in table.items() if self._is_ours(process)}
        grown = True
        while grown:
            children = {
                pid
                for pid, process in table.items()
                if process.parent in found and pid not in found
            }
            found |= children
            grown = bool(children)
        return found

    def _is_ours(self, process: Process) -> bool:
        if self._leader in (process.pid, process.session):
            return True
        marker = call_of(process.pid)
        if marker:
            return marker == self._call_id
        return self._alone and process.parent == 1 and process.started >= self._started

    def signal(self, number: int) -> int:
        """Send a signal to all of them; how many there were."""
        members = self.members()
        send(members, number)
        return len(members)

    def end(self) -> int:
        """Stop them all, so that none can fork away, then kill them; how many were left."""
        stopped: set[int] = set()
        for _ in range(20):
            fresh = self.members() - stopped
            if not fresh:
                break
            send(fresh, SIGSTOP)
            stopped |= fresh
        send(stopped, SIGKILL)
        return len(stopped)


def send(members: Iterable[int], number: int) -> None:
    """Signal each one; those already gone do not matter."""
    for pid in members:
        try:
            os.kill(pid, number)
        except OSError:
            continue
