"""The order in which the kernel ends processes when memory runs out: a command before the runner."""

from __future__ import annotations

import os

PATH = "/proc/self/oom_score_adj"
DIFFERENCE, HIGHEST = 500, 1000


class OomScore:
    """The runner's own score, which a command inherits when it starts.

    It is opened at the runner's start: later the kernel gives such files of the runner to root. To write the
    score of a command after its start would be too late: it may have started others, and while it loads
    its program its files belong to root too.
    """

    def __init__(self) -> None:
        self._fd: int | None = None
        self._own = 0
        try:
            self._fd = os.open(PATH, os.O_RDWR)
            self._own = int(os.pread(self._fd, 16, 0))
        except (OSError, ValueError):  # there is no such file: the kernel then decides alone
            self._fd = None

    def raise_for_command(self) -> None:
        """From now on this process, and what it starts, ends before others."""
        self._write(min(self._own + DIFFERENCE, HIGHEST))

    def restore(self) -> None:
        """Take the score from before again; the kernel allows that, because it was not lower."""
        self._write(self._own)

    def _write(self, score: int) -> None:
        if self._fd is not None:
            os.write(self._fd, str(score).encode())
