"""How a sandbox came to an end that nobody of ours gave it: for programs, and in words for people."""

import errno
import os
import signal
from dataclasses import dataclass
from enum import StrEnum

KILLED = 128 + signal.SIGKILL
NO_ROOM = os.strerror(errno.ENOSPC)


class End(StrEnum):
    """What ended it."""

    OUT_OF_MEMORY = "out_of_memory"
    DISK_FULL = "disk_full"
    KILLED = "killed"
    EXITED = "exited"
    RETIRED = "retired"  # by itself, in order, since nobody needed it
    REMOVED = "removed"  # nothing is left that would tell
    SILENT = "silent"  # it did not answer, so another one has taken its place


WORDS = {
    End.OUT_OF_MEMORY: "It ran out of memory as a whole",
    End.DISK_FULL: "There was no room left on the disk that it is kept on",
    End.KILLED: "It was killed from outside: by hand, or by a restart of this machine or of Docker",
    End.EXITED: "Its main program ended",
    End.RETIRED: "It ended by itself, since nobody needed it",
    End.REMOVED: "It was removed from outside",
    End.SILENT: "It did not answer any more",
}


@dataclass(frozen=True, slots=True)
class Loss:
    """An end, with the exit code of process 1 where that is known."""

    end: End
    exit_code: int | None = None

    @property
    def cause(self) -> str:
        """In one sentence."""
        code = "" if self.exit_code is None else f" (exit code {self.exit_code})"
        return f"{WORDS[self.end]}{code}."


def judged(exit_code: int, *, out_of_memory: bool, said: str = "") -> Loss:
    """From what is known of process 1: its exit code, whether the kernel wanted memory back, and
    its last words."""
    if NO_ROOM in said:
        return Loss(End.DISK_FULL, exit_code)
    if exit_code == 0:
        return Loss(End.RETIRED, exit_code)
    if exit_code <= 128:
        return Loss(End.EXITED, exit_code)
    return Loss(End.OUT_OF_MEMORY if out_of_memory else End.KILLED, exit_code)
