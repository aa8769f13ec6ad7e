"""Estimates what the sandbox stores in files that cannot be looked at, beside others who use the file system."""

from __future__ import annotations

from paca.sandbox.runner.written_bytes import WriteCounters, written_between


class UnseenSpace:
    """How many bytes the files of the sandbox take, those included that cannot be looked at.

    A file may be out of sight: only mapped, or on its way through a socket. It takes no more than the
    file system has lost since everything was in sight, and no more than the sandbox has written since.
    ``proved``: what it has written for certain. ``possible``: what it may have written; more than that
    only if the count of the kernel is not complete.
    """

    def __init__(self) -> None:
        self.proved = self.possible = 0
        self._seen: tuple[int, int, WriteCounters] | None = None  # at the last measurement

    def update(
        self, *, files: int, others: int, free: int, before: WriteCounters, everything_seen: bool
    ) -> None:
        """Take in a measurement.

        ``files``: the bytes of the files that were found; ``others``: those of folders and links. ``free``:
        the free bytes of the file system. ``before``: the counters just before ``free`` was read.
        """
        if everything_seen or self._seen is None:
            self.proved = self.possible = files
        else:
            last_free, last_others, last = self._seen
            taken = (last_free - free) - (others - last_others)
            # All that was written between both looks at the free space was written between these counts.
            written, complete = written_between(last, WriteCounters())
            certain = min(taken, written)
            self.proved = max(files, self.proved + certain)
            self.possible = max(files, self.possible + (certain if complete else taken))
        self._seen = (free, others, before)
