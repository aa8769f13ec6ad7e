"""Live text of a run: it is coalesced before it is sent, and kept until it is stored."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.utils import timezone

from paca.bus.base import Bus, conversation_topic
from paca.common import live_output
from paca.common.frames import live_frame
from paca.events import Event, TextStreamed, ThoughtStreamed, ToolProgressed

LiveEvent = TextStreamed | ThoughtStreamed | ToolProgressed
FRAME_INTERVAL_SECONDS = 0.05
MAX_RESENT_CHARACTERS = 64_000


@dataclass(slots=True)
class _CallText:
    """The text of one call from offset ``start`` on. ``sent`` is the offset up to which it was sent."""

    kind: type[LiveEvent]
    call_id: str
    text: str = ""
    start: int = 0
    sent: int = 0

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    def keep(self, tail: str) -> None:
        """Drop the text before ``tail``, which is its end; what was not sent of it is skipped."""
        self.start += len(self.text) - len(tail)
        self.text = tail
        self.sent = max(self.sent, self.start)


class StreamBuffer:
    """Live text of one run. The first piece is sent at once, later ones at most twenty times a second.

    The output of commands is sampled: if it comes faster than ``live_output`` allows, only its end is sent.
    """

    def __init__(self, conversation_id: UUID, bus: Bus) -> None:
        self._topic = conversation_topic(conversation_id)
        self._bus = bus
        self._texts: dict[tuple[type[LiveEvent], str], _CallText] = {}
        self._timer: asyncio.TimerHandle | None = None

    def add(self, event: Event) -> None:
        """Take a piece of text. It is sent together with the pieces that follow within a moment.

        Raises ``TypeError`` if the event is not live text.
        """
        if not isinstance(event, TextStreamed | ThoughtStreamed | ToolProgressed):
            raise TypeError(f"{event.type} is not live text")
        key = (type(event), event.call_id)
        text = self._texts.setdefault(key, _CallText(type(event), event.call_id))
        text.text += event.text
        self._truncate(text)
        if self._timer is None:
            self._send()

    def resend(self) -> None:
        """Send all text that is kept again, for a viewer who has just connected."""
        for text in self._texts.values():
            text.sent = text.start
        self._cancel_timer()
        self._send()

    def forget(self, *call_ids: str) -> None:
        """Drop the text of these calls: it is stored in the log now."""
        for key in [key for key in self._texts if key[1] in call_ids]:
            del self._texts[key]

    def close(self) -> None:
        """Drop all text and send nothing more."""
        self._texts.clear()
        self._cancel_timer()

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _truncate(self, text: _CallText) -> None:
        """Bound the memory of a command that prints without end. Text that was sent can go."""
        if text.kind is ToolProgressed:
            text.keep(live_output.tail(text.text))
            return
        surplus = len(text.text) - MAX_RESENT_CHARACTERS
        if surplus > MAX_RESENT_CHARACTERS:
            text.keep(text.text[surplus:])

    def _send(self) -> None:
        self._timer = None
        frames = [self._frame(text) for text in self._texts.values() if text.sent < text.end]
        for frame in frames:
            self._bus.live(self._topic, frame)
        for text in self._texts.values():
            text.sent = text.end
        if frames:
            pause = max(FRAME_INTERVAL_SECONDS, live_output.pause_seconds(frames))
            self._timer = asyncio.get_running_loop().call_later(pause, self._send)

    def _frame(self, text: _CallText) -> dict[str, Any]:
        unsent = text.text[text.sent - text.start :]
        event = text.kind(call_id=text.call_id, offset=text.sent, text=unsent)
        return live_frame(event, at=timezone.now())
