"""The processes in the sandbox: which call each belongs to, what it uses, and how a call's tree is ended."""

from __future__ import annotations

import os
import time

from paca.sandbox.runner import proc
from paca.sandbox.runner.signals import SIGKILL, SIGSTOP

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from paca.sandbox.runner.proc import ProcessStat

CALL_MARKER = b"PACA_CALL="
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
MAX_STOP_ROUNDS = 20


def boot_ticks() -> int:
    """The present in clock ticks since boot, the unit of process start times."""
    return int(time.clock_gettime(time.CLOCK_BOOTTIME) * TICKS_PER_SECOND)


def command_pids() -> list[int]:
    """The ids of all processes in the sandbox except process 1, which is the runner."""
    return [pid for pid in proc.list_pids() if pid != 1]


def living_processes() -> dict[int, ProcessStat]:
    """The processes in the sandbox by pid, without the runner and without zombies."""
    return {
        process.pid: process
        for process in proc.all_processes()
        if process.pid != 1 and process.is_alive
    }


def call_id_of(pid: int) -> str:
    """The call whose environment the process inherited; empty if its environment does not name one."""
    environment = b"\0" + proc.read_file(f"/proc/{pid}/environ", 1 << 17)
    value = environment.partition(b"\0" + CALL_MARKER)[2].partition(b"\0")[0]
    return value.decode("utf-8", "replace")


def private_memory(pid: int) -> int:
    """The bytes of memory that only this process holds: resident, neither shared nor of a file."""
    fields = proc.read_file(f"/proc/{pid}/statm", 256).split()
    return (int(fields[1]) - int(fields[2])) * PAGE_BYTES if len(fields) > 2 else 0


def proportional_memory(pid: int) -> int:
    """Like ``private_memory``, but pages shared after a fork are divided among their holders. Slow."""
    for line in proc.read_file(f"/proc/{pid}/smaps_rollup", 4096).splitlines():
        if line.startswith(b"Pss_Anon:"):
            return int(line.split()[1]) * 1024
    return private_memory(pid)


def bytes_written(pid: int) -> int:
    """The bytes that a process has written towards a disk."""
    for line in proc.read_file(f"/proc/{pid}/io", 1024).splitlines():
        if line.startswith(b"write_bytes:"):
            return int(line.split()[1])
    return 0


class ProcessTree:
    """The processes of one call: those of its session, those with its marker, and their descendants.

    ``is_only_call``: no other call runs. An orphan without a marker that started during this call
    (``env -i setsid ...``) then belongs to this call too.
    """

    def __init__(
        self, call_id: str, leader: int, started_ticks: int, *, is_only_call: bool
    ) -> None:
        self._call_id = call_id
        self._leader = leader
        self._started_ticks = started_ticks
        self._is_only_call = is_only_call

    def pids(self) -> set[int]:
        """The ids of the processes that live now."""
        table = living_processes()
        found = {pid for pid, process in table.items() if self._belongs_to_call(process)}
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

    def _belongs_to_call(self, process: ProcessStat) -> bool:
        if self._leader in (process.pid, process.session):
            return True
        call_id = call_id_of(process.pid)
        if call_id:
            return call_id == self._call_id
        return (
            self._is_only_call and process.parent == 1 and process.start_time >= self._started_ticks
        )

    def signal(self, number: int) -> None:
        """Send a signal to every process of the tree."""
        send_signal(self.pids(), number)

    def kill(self) -> int:
        """Stop every process, so that none can fork away, then kill them. Gives how many were left."""
        stopped: set[int] = set()
        for _ in range(MAX_STOP_ROUNDS):
            fresh = self.pids() - stopped
            if not fresh:
                break
            send_signal(fresh, SIGSTOP)
            stopped |= fresh
        send_signal(stopped, SIGKILL)
        return len(stopped)


def send_signal(pids: Iterable[int], number: int) -> None:
    """Send a signal to each process; processes that are already gone are skipped."""
    for pid in pids:
        try:
            os.kill(pid, number)
        except OSError:
            continue
