"""Brings one viewer a conversation's log and its live text: each piece once, in order, unhurried."""

import asyncio
from collections.abc import Awaitable, Callable

from paca.bus.base import EventsCommitted, HintsLost, LiveFrame
from paca.realtime import protocol
from paca.realtime.live_text import STREAMED, Streams
from paca.realtime.recent_events import Row

# Between two sendings of live text: at most 20 a second.
LIVE_SECONDS = 0.05
# Rows are read a page at a time; rows can be large, so it begins small and grows as they allow.
FIRST_PAGE_ROWS = 20
LARGEST_PAGE_ROWS = 200
PAGE_BYTES = 1024 * 1024


class Delivery:
    """The hints of the bus only raise a mark or merge into what waits; ``follow`` does the rest.

    What waits in memory is never more than one page of rows and the bounds of ``Streams``.
    """

    def __init__(
        self,
        *,
        read: Callable[[int, int], Awaitable[list[Row]]],
        say: Callable[[str], Awaitable[None]],
        say_again: Callable[[], None],
    ) -> None:
        """``read`` gives rows after a number, so many at most and none only at the end; ``say`` sends
        one frame; ``say_again`` asks the worker for the text streamed so far.
        """
        self.sent = 0
        self._read = read
        self._say = say
        self._say_again = say_again
        self._announced = 0
        self._page_rows = FIRST_PAGE_ROWS
        self._streams = Streams()
        self._following = False
        self._news = asyncio.Event()
        self._flush: asyncio.TimerHandle | None = None
        self._flush_due = False
        self._next_flush = 0.0

    def hear(self, hint: EventsCommitted | LiveFrame | HintsLost) -> None:
        """A hint of this conversation."""
        if isinstance(hint, EventsCommitted):
            self._announced = max(self._announced, hint.seq)
            self._news.set()
        elif isinstance(hint, HintsLost):
            self._say_again()  # the relay looks for rows
        elif self._following and hint.frame.get("type") in STREAMED:
            if not self._streams.add(hint.frame):
                self._say_again()
            self._flush_soon()

    async def catch_up(self, seq: int) -> None:
        """Send the rows above the last one sent, up to that number at least."""
        while self.sent < seq and await self._send_page():
            pass

    async def _send_page(self) -> bool:
        """Send the next rows; False if there are none."""
        page = await self._read(self.sent, self._page_rows)
        for row in page:
            await self._say(row.text)
            self.sent = row.seq
            self._streams.end(row.type, row.call_id)
        if len(page) == self._page_rows:
            size = sum(len(row.text) for row in page)
            self._page_rows = max(1, min(LARGEST_PAGE_ROWS, PAGE_BYTES * len(page) // size))
        return bool(page)

    async def follow(self) -> None:
        """Send what happens, for ever. Rows go before live text, for they may replace it."""
        # Live text only from here on: what was streamed so far comes whole, and then the rest.
        self._following = True
        self._say_again()
        while True:
            announced = self._announced
            await self.catch_up(announced)
            if self._announced == announced:
                self._announced = self.sent  # a row that is not there is looked for once
            if self._flush_due:
                await self._send_live()
            await self._news.wait()
            self._news.clear()

    def _flush_soon(self) -> None:
        # A sending that is due takes this piece along; a second one would come right behind it.
        if self._streams and self._flush is None and not self._flush_due:
            loop = asyncio.get_running_loop()
            self._flush = loop.call_at(max(loop.time(), self._next_flush), self._flush_now)

    def _flush_now(self) -> None:
        self._flush, self._flush_due = None, True
        self._news.set()

    async def _send_live(self) -> None:
        self._flush_due = False
        self._next_flush = asyncio.get_running_loop().time() + LIVE_SECONDS
        for frame in self._streams.take():
            await self._say(protocol.encode(frame))
