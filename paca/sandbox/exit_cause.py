"""How a sandbox came to an end that nobody of ours gave it: for programs, and in words for people."""

import errno
import os
import signal
from dataclasses import dataclass
from enum import StrEnum

KILLED = 128 + signal.SIGKILL
DISK_FULL_TEXT = os.strerror(errno.ENOSPC)


class ExitKind(StrEnum):
    """What ended it."""

    OUT_OF_MEMORY = "out_of_memory"
    DISK_FULL = "disk_full"
    KILLED = "killed"
    EXITED = "exited"
    RETIRED = "retired"  # by itself, in order, since nobody needed it
    REMOVED = "removed"  # nothing is left that would tell
    SILENT = "silent"  # it did not answer, so another one has taken its place


SENTENCES = {
    ExitKind.OUT_OF_MEMORY: "It ran out of memory as a whole",
    ExitKind.DISK_FULL: "There was no room left on the disk that it is kept on",
    ExitKind.KILLED: "It was killed from outside: by hand, or by a restart of this machine or of Docker",
    ExitKind.EXITED: "Its main program ended",
    ExitKind.RETIRED: "It ended by itself, since nobody needed it",
    ExitKind.REMOVED: "It was removed from outside",
    ExitKind.SILENT: "It did not answer any more",
}


@dataclass(frozen=True, slots=True)
class ExitCause:
    """An end, with the exit code of process 1 where that is known."""

    kind: ExitKind
    exit_code: int | None = None

    @property
    def sentence(self) -> str:
        """In one sentence."""
        code = "" if self.exit_code is None else f" (exit code {self.exit_code})"
        return f"{SENTENCES[self.kind]}{code}."


def classify_exit(exit_code: int, *, out_of_memory: bool, last_output: str = "") -> ExitCause:
    """From what is known of process 1: its exit code, whether the kernel wanted memory back, and
    its last words."""
    if DISK_FULL_TEXT in last_output:
        return ExitCause(ExitKind.DISK_FULL, exit_code)
    if exit_code == 0:
        return ExitCause(ExitKind.RETIRED, exit_code)
    if exit_code <= 128:
        return ExitCause(ExitKind.EXITED, exit_code)
    return ExitCause(ExitKind.OUT_OF_MEMORY if out_of_memory else ExitKind.KILLED, exit_code)
