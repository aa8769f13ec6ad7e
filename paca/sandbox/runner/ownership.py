"""Which call each process in the sandbox belongs to, also if it hides its origin."""

from __future__ import annotations

from paca.sandbox.runner import processes
from paca.sandbox.runner.signals import SIGKILL, SIGSTOP

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from paca.sandbox.runner.call import Call
    from paca.sandbox.runner.proc import ProcessStat

    Owners = dict[int, tuple[str, ...]]

MAX_STOP_ROUNDS = 20
MAX_DESCRIBED = 20


def find_owners(table: dict[int, ProcessStat], calls: Iterable[Call]) -> Owners:
    """By pid, the calls that each process of ``table`` may belong to.

    A process belongs to the call of its session or of its parent. An orphan in a session of its own
    belongs to the call during which it started. Its environment names the call too, but it may have
    changed that: so the name counts only where several calls ran at the time.
    """
    known = list(calls)
    by_leader = {call.pid: call.id for call in known}
    found: Owners = {}
    for process in table.values():
        line = [process]
        while line[-1].pid not in found and line[-1].session not in by_leader:
            parent = table.get(line[-1].parent)
            if parent is None:
                break
            line.append(parent)
        root = line[-1]
        owners = found.get(root.pid) or _owners_of_root(root, by_leader, known)
        found.update((member.pid, owners) for member in line)
    return found


def _owners_of_root(
    process: ProcessStat, by_leader: dict[int, str], calls: list[Call]
) -> tuple[str, ...]:
    if process.session in by_leader:
        return (by_leader[process.session],)
    ids = [call.id for call in calls if call.may_own(process.pid, process.start_time)]
    if len(ids) > 1 and (named := processes.call_id_of(process.pid)) in ids:
        return (named,)
    return tuple(ids)


class ProcessTree:
    """The processes of one call. ``calls`` gives all calls of the sandbox."""

    def __init__(self, call: Call, calls: Callable[[], Iterable[Call]]) -> None:
        self._call_id = call.id
        self._calls = calls

    def pids(self) -> set[int]:
        """The ids of the processes that live now."""
        owners = find_owners(processes.living_processes(), self._calls())
        return {pid for pid, ids in owners.items() if self._call_id in ids}

    def describe(self) -> list[tuple[int, str]]:
        """The pids and command lines of the processes that live now, at most ``MAX_DESCRIBED``."""
        lines = [(pid, processes.command_line(pid)) for pid in sorted(self.pids())[:MAX_DESCRIBED]]
        return [(pid, line) for pid, line in lines if line]

    def signal(self, number: int) -> None:
        """Send a signal to every process of the tree."""
        processes.send_signal(self.pids(), number)

    def kill(self) -> int:
        """Stop every process, so that none can fork away, then kill them. Gives how many were left."""
        stopped: set[int] = set()
        for _ in range(MAX_STOP_ROUNDS):
            fresh = self.pids() - stopped
            if not fresh:
                break
            processes.send_signal(fresh, SIGSTOP)
            stopped |= fresh
        processes.send_signal(stopped, SIGKILL)
        return len(stopped)
