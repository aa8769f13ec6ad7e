"""The end of a log that is watched here: read and written out once, however many pages follow it."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from itertools import islice
from typing import Any, NamedTuple

MOST_ROWS = 500
MOST_CHARACTERS = 256 * 1024


class Row(NamedTuple):
    """An event of the log as it goes over the wire, and what live text it may put an end to."""

    seq: int
    type: str
    call_id: str
    text: str


Read = Callable[[int, int], Awaitable[list[Row]]]


class RecentRows:
    """The newest rows of one log, without a gap, for all in this process who follow it.

    Whoever stands at their end asks the database, one at a time and for all others who wait there.
    Whoever is further back than they reach reads for themselves. They never change: a log is only
    added to.
    """

    def __init__(self, read: Read) -> None:
        """``read`` gives the rows after a number, so many at most, from the database."""
        self._read = read
        self._rows: deque[Row] = deque()
        self._characters = 0
        self._end = -1  # every row from the first that is kept up to this number is here
        self._begun = 0
        self._reading: asyncio.Task[tuple[int, list[Row]]] | None = None

    @property
    def end(self) -> int:
        """The last number that somebody here has come to."""
        return self._end

    async def after(self, seq: int, most: int) -> list[Row]:
        """Rows above ``seq``, in order, at most ``most``; none only if there were none when asked."""
        last_begun = self._begun
        while True:
            if seq > self._end:
                self._begin_anew(seq)
            if seq < self._end:
                return self._kept(seq, most) or await self._read(seq, most)
            if self._reading is None:
                if self._begun > last_begun:
                    return []  # a reading that began after we asked has found nothing
                self._reading = asyncio.create_task(self._read_on(most))
                self._reading.add_done_callback(_see)
            # It is everybody's: who stops waiting does not stop it.
            began_at, rows = await asyncio.shield(self._reading)
            if began_at == seq and rows:
                return rows[:most]  # what is kept of them may be less

    def _kept(self, seq: int, most: int) -> list[Row]:
        if not self._rows or seq < self._rows[0].seq - 1:
            return []
        first = seq + 1 - self._rows[0].seq
        return list(islice(self._rows, first, first + most))

    async def _read_on(self, most: int) -> tuple[int, list[Row]]:
        """Where it began, and the rows after that."""
        self._begun += 1
        end = self._end
        try:
            rows = await self._read(end, most)
        finally:
            self._reading = None
        if end == self._end:
            self._add(rows)
        return end, rows

    def _add(self, rows: list[Row]) -> None:
        self._rows.extend(rows)
        self._characters += sum(len(row.text) for row in rows)
        if rows:
            self._end = rows[-1].seq
        while len(self._rows) > MOST_ROWS or self._characters > MOST_CHARACTERS:
            self._characters -= len(self._rows.popleft().text)

    def _begin_anew(self, seq: int) -> None:
        """Nobody here has come this far. What is before it is read by whoever still needs it."""
        self._rows.clear()
        self._characters, self._end = 0, seq


def _see(reading: asyncio.Task[Any]) -> None:
    """What it failed on is told to who waits for it; nobody may wait any more, which is no error of ours."""
    if not reading.cancelled():
        reading.exception()
