"""Estimates what the sandbox stores in files that cannot be looked at, beside others who use the file system."""

from __future__ import annotations

from paca.sandbox.runner.written_bytes import WriteCounters, written_between


class UnseenSpace:
    """How many bytes the files of the sandbox take, those included that cannot be looked at.

    A file may be out of sight: only mapped, or on its way through a socket. It takes no more than the
    file system has lost since everything was in sight, and no more than the sandbox has written since.
    ``proved``: what it has written for certain. ``possible``: what it may have written; more than that
    if the count of the kernel is not complete, or if space has come back that others may have given.

    ``counts_writes``: whether the kernel counts writes to this file system.
    """

    def __init__(self, *, counts_writes: bool) -> None:
        self.proved = self.possible = 0
        self._counts_writes = counts_writes
        self._stored_by_others = 0  # since everything was in sight, and not given back
        self._seen: _Seen | None = None  # at the last measurement

    def update(
        self, *, files: int, others: int, free: int, before: WriteCounters, everything_seen: bool
    ) -> None:
        """Take in a measurement.

        ``files``: the bytes of the files that were found; ``others``: those of folders and links. ``free``:
        the free bytes of the file system. ``before``: the counters just before ``free`` was read.
        """
        last, self._seen = self._seen, _Seen(files, others, free, before)
        if everything_seen or last is None:
            self.proved = self.possible = files
            self._stored_by_others = 0
            return
        taken = (last.free - free) - (others - last.others)
        if taken < 0:
            self._give_back(-taken, deleted=max(0, last.files - files))
        else:
            self._take(taken, last.counters)
        self.proved = max(files, self.proved)
        self.possible = max(files, self.possible)

    def _take(self, taken: int, last: WriteCounters) -> None:
        # All that was written between both looks at the free space was written between these counts.
        written, complete = written_between(last, WriteCounters())
        certain = min(taken, written)
        possible = certain if complete and self._counts_writes else taken
        self.proved += certain
        self.possible += possible
        self._stored_by_others += taken - possible

    def _give_back(self, freed: int, *, deleted: int) -> None:
        """``deleted``: the bytes of files that were in sight. Others give back no more than they have stored.

        Otherwise each file that others store and delete would make room for one that is out of sight.
        """
        from_others = min(self._stored_by_others, freed - min(freed, deleted))
        self._stored_by_others -= from_others
        self.proved -= freed
        self.possible -= freed - from_others


class _Seen:
    """The facts of one measurement. See ``UnseenSpace.update``."""

    def __init__(self, files: int, others: int, free: int, counters: WriteCounters) -> None:
        self.files = files
        self.others = others
        self.free = free
        self.counters = counters
