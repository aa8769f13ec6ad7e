"""Delivers a conversation's events and live text to one viewer: in order, each once, at a bounded rate."""

import asyncio
from collections.abc import Awaitable, Callable

from paca.bus.base import EventsCommitted, HintsLost, LiveFrame
from paca.common import live_output
from paca.realtime import protocol
from paca.realtime.live_states import STATES, LiveStates
from paca.realtime.live_text import STREAMED, LiveTextMerger
from paca.realtime.recent_events import EventFrame

# Live text is sent at most 20 times a second, and long output of commands less often.
LIVE_SECONDS = 0.05
# Events are read page by page. Events can be large, so the first page is small and the next ones
# grow as the size of the events allows.
FIRST_PAGE_EVENTS = 20
MAX_PAGE_EVENTS = 200
PAGE_CHARACTERS = 1024 * 1024


class Delivery:
    """Hints only note what is new; ``follow`` reads and sends it.

    The memory for one viewer is bounded: one page of events and the bounds of ``LiveTextMerger`` and ``LiveStates``.
    """

    def __init__(
        self,
        *,
        read: Callable[[int, int], Awaitable[list[EventFrame]]],
        send: Callable[[str], Awaitable[None]],
        request_live_text: Callable[[], None],
    ) -> None:
        """``read(after, limit)`` gives events in order, and none only at the end of the log.

        ``send`` sends one encoded frame. ``request_live_text`` asks the worker to send the text
        streamed so far again.
        """
        self.sent_seq = 0
        self._read = read
        self._send = send
        self._request_live_text = request_live_text
        self._announced_seq = 0
        self._page_events = FIRST_PAGE_EVENTS
        self._live_text = LiveTextMerger()
        self._live_states = LiveStates()
        self._following = False
        self._wake = asyncio.Event()
        self._flush_timer: asyncio.TimerHandle | None = None
        self._flush_due = False
        self._next_flush = 0.0

    def on_hint(self, hint: EventsCommitted | LiveFrame | HintsLost) -> None:
        """Note a hint of this conversation."""
        if isinstance(hint, EventsCommitted):
            self._announced_seq = max(self._announced_seq, hint.seq)
            self._wake.set()
        elif isinstance(hint, HintsLost):
            self._request_live_text()  # for events the relay sweeps
        elif self._following and hint.frame.get("type") in STREAMED:
            if not self._live_text.add(hint.frame):
                self._request_live_text()
            self._schedule_flush()
        elif self._following and hint.frame.get("type") in STATES:
            self._live_states.add(hint.frame)
            self._schedule_flush()

    async def catch_up(self, seq: int) -> None:
        """Send the events after the last one sent, at least up to ``seq``.

        Raises what ``read`` and ``send`` raise.
        """
        while self.sent_seq < seq and await self._send_page():
            pass

    async def _send_page(self) -> bool:
        """Send the next events; False if there are none."""
        page = await self._read(self.sent_seq, self._page_events)
        for event in page:
            await self._send(event.text)
            self.sent_seq = event.seq
            self._live_text.end(event.type, event.call_id)
        if len(page) == self._page_events:
            size = sum(len(event.text) for event in page)
            fitting = PAGE_CHARACTERS * len(page) // size
            self._page_events = max(1, min(MAX_PAGE_EVENTS, fitting))
        return bool(page)

    async def follow(self) -> None:
        """Send what happens until the task is cancelled. Events go first: they may replace live text.

        Raises what ``read`` and ``send`` raise.
        """
        # Live text counts only from here on: the worker sends the text so far again, then the rest.
        self._following = True
        self._request_live_text()
        while True:
            announced = self._announced_seq
            await self.catch_up(announced)
            if self._announced_seq == announced:
                # An announced event that the log does not have is looked for only once.
                self._announced_seq = self.sent_seq
            if self._flush_due:
                await self._send_live()
            await self._wake.wait()
            self._wake.clear()

    def _schedule_flush(self) -> None:
        # A flush that is due also sends this piece; a second flush would follow it at once.
        waits = bool(self._live_text) or bool(self._live_states)
        if waits and self._flush_timer is None and not self._flush_due:
            loop = asyncio.get_running_loop()
            self._flush_timer = loop.call_at(max(loop.time(), self._next_flush), self._flush)

    def _flush(self) -> None:
        self._flush_timer, self._flush_due = None, True
        self._wake.set()

    async def _send_live(self) -> None:
        self._flush_due = False
        frames = self._live_text.take() + self._live_states.take()
        pause = max(LIVE_SECONDS, live_output.pause_seconds(frames))
        self._next_flush = asyncio.get_running_loop().time() + pause
        for frame in frames:
            await self._send(protocol.encode(frame))
