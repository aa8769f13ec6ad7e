"""The processes in the sandbox, and what each uses."""

from __future__ import annotations

import os
import time

from paca.sandbox.runner import proc

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from paca.sandbox.runner.proc import ProcessStat

CALL_MARKER = b"PACA_CALL="
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
MAX_LINE_BYTES = 200


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


def command_line(pid: int) -> str:
    """The beginning of the command line that the process shows; empty if it is gone."""
    line = proc.read_file(f"/proc/{pid}/cmdline", MAX_LINE_BYTES)
    return line.replace(b"\0", b" ").decode("utf-8", "replace").strip()


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


def bytes_written(pid: int) -> int | None:
    """The bytes that a process and the children it has waited for have written towards a disk; None if hidden."""
    for line in proc.read_file(f"/proc/{pid}/io", 1024).splitlines():
        if line.startswith(b"write_bytes:"):
            return int(line.split()[1])
    return None


def cpu_ticks(pid: int) -> int:
    """The processor time of a process and of its ended children, in clock ticks."""
    fields = proc.read_file(f"/proc/{pid}/stat", 1024).rpartition(b")")[2].split()
    return sum(map(int, fields[11:15]))


def send_signal(pids: Iterable[int], number: int) -> None:
    """Send a signal to each process; processes that are already gone are skipped."""
    for pid in pids:
        try:
            os.kill(pid, number)
        except OSError:
            continue
