"""Why a sandbox ended that Paca did not end: as a kind for programs and as a sentence for people."""

import errno
import os
import signal
from dataclasses import dataclass
from enum import StrEnum

from paca.sandbox.runner import EXHAUSTED_EXIT_CODE

KILLED = 128 + signal.SIGKILL
DISK_FULL_TEXT = os.strerror(errno.ENOSPC)


class ExitKind(StrEnum):
    """The kinds of ends of a sandbox."""

    OUT_OF_MEMORY = "out_of_memory"
    DISK_FULL = "disk_full"
    KILLED = "killed"
    EXITED = "exited"
    RETIRED = "retired"  # the runner ended because no worker used it
    REMOVED = "removed"  # nothing is left from which the cause could be read
    EXHAUSTED = "exhausted"  # the runner could start no command any more
    SILENT = "silent"  # the runner did not answer and was replaced


SENTENCES = {
    ExitKind.OUT_OF_MEMORY: "It ran out of memory as a whole",
    ExitKind.DISK_FULL: "The disk that it is stored on was full",
    ExitKind.KILLED: "It was killed from outside: by hand, or by a restart of this machine or of Docker",
    ExitKind.EXITED: "Its main program ended",
    ExitKind.RETIRED: "It ended by itself because it was not used",
    ExitKind.REMOVED: "It was removed from outside",
    ExitKind.EXHAUSTED: "It could start no command any more",
    ExitKind.SILENT: "It stopped answering",
}


@dataclass(frozen=True, slots=True)
class ExitCause:
    """The kind of end, with the exit code of process 1 where it is known."""

    kind: ExitKind
    exit_code: int | None = None

    @property
    def sentence(self) -> str:
        """One sentence for people."""
        code = "" if self.exit_code is None else f" (exit code {self.exit_code})"
        return f"{SENTENCES[self.kind]}{code}."


def classify_exit(exit_code: int, *, out_of_memory: bool, last_output: str = "") -> ExitCause:
    """The cause of an end, from the exit code and last output of process 1.

    ``out_of_memory``: the kernel ended a process of the sandbox for lack of memory.
    """
    if DISK_FULL_TEXT in last_output:
        return ExitCause(ExitKind.DISK_FULL, exit_code)
    if exit_code == 0:
        return ExitCause(ExitKind.RETIRED, exit_code)
    if exit_code == EXHAUSTED_EXIT_CODE:
        return ExitCause(ExitKind.EXHAUSTED, exit_code)
    if exit_code <= 128:
        return ExitCause(ExitKind.EXITED, exit_code)
    return ExitCause(ExitKind.OUT_OF_MEMORY if out_of_memory else ExitKind.KILLED, exit_code)
