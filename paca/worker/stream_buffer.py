"""What is streamed and not stored: coalesced before it is sent, and kept to be said again."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.utils import timezone

from paca.bus.base import Bus, conversation_topic
from paca.conversations.selectors import frame
from paca.events import Event, TextStreamed, ThoughtStreamed, ToolProgressed

Piece = TextStreamed | ThoughtStreamed | ToolProgressed
BETWEEN_FRAMES_SECONDS = 0.05
MOST_REPEATED = 64_000


@dataclass(slots=True)
class _Stream:
    """The text of one call so far from ``start`` on, and how much of it has been sent."""

    kind: type[Piece]
    call_id: str
    text: str = ""
    start: int = 0
    sent: int = 0

    @property
    def end(self) -> int:
        return self.start + len(self.text)


class Live:
    """One run's streams. The first piece goes out at once, then at most twenty frames a second."""

    def __init__(self, conversation_id: UUID, bus: Bus) -> None:
        self._topic = conversation_topic(conversation_id)
        self._bus = bus
        self._streams: dict[tuple[type[Piece], str], _Stream] = {}
        self._timer: asyncio.TimerHandle | None = None

    def show(self, event: Event) -> None:
        """Take a piece; it is sent together with those that follow within a moment."""
        if not isinstance(event, TextStreamed | ThoughtStreamed | ToolProgressed):
            raise TypeError(f"{event.type} is no stream")
        key = (type(event), event.call_id)
        stream = self._streams.setdefault(key, _Stream(type(event), event.call_id))
        stream.text += event.text
        self._cut(stream)
        if self._timer is None:
            self._send()

    def repeat(self) -> None:
        """Say all of it again, from its beginning, for a viewer who has just come."""
        for stream in self._streams.values():
            stream.sent = stream.start
        self._send()

    def end(self, *call_ids: str) -> None:
        """These calls' texts stand in the log now."""
        for key in [key for key in self._streams if key[1] in call_ids]:
            del self._streams[key]

    def close(self) -> None:
        """Forget everything."""
        self._streams.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _cut(self, stream: _Stream) -> None:
        """Bound the memory of a command that prints without end: what was sent can go."""
        surplus = len(stream.text) - MOST_REPEATED
        if surplus > MOST_REPEATED:
            stream.text = stream.text[surplus:]
            stream.start += surplus
            stream.sent = max(stream.sent, stream.start)

    def _send(self) -> None:
        self._timer = None
        sent = False
        for stream in self._streams.values():
            if stream.sent < stream.end:
                self._bus.live(self._topic, self._frame(stream))
                stream.sent = stream.end
                sent = True
        if sent:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(BETWEEN_FRAMES_SECONDS, self._send)

    def _frame(self, stream: _Stream) -> dict[str, Any]:
        text = stream.text[stream.sent - stream.start :]
        piece = stream.kind(call_id=stream.call_id, offset=stream.sent, text=text)
        return frame(piece.type, None, timezone.now(), "agent", None, piece.payload())
