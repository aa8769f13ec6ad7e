"""Merges the live text that waits for one viewer: each character once, within a memory bound."""

from dataclasses import dataclass
from typing import Any

from paca import events
from paca.common import live_output

Frame = dict[str, Any]
Key = tuple[str, str]  # the frame's type and its call id

STREAMED = (events.TextStreamed.type, events.ThoughtStreamed.type, events.ToolProgressed.type)
# After an event of the type on the left, live text of the same call and these types is over.
ENDED_BY: dict[str, tuple[str, ...]] = {
    events.MessageSpoken.type: (events.TextStreamed.type, events.ThoughtStreamed.type),
    events.MessageDiscarded.type: (events.TextStreamed.type, events.ThoughtStreamed.type),
    events.ThoughtRecorded.type: (events.ThoughtStreamed.type,),
    events.ToolReturned.type: (events.ToolProgressed.type,),
    events.ToolOutcomeUnknown.type: (events.ToolProgressed.type,),
}
# The bounds of what may wait for one viewer. They are far above what is ever streamed at once.
MAX_PENDING_CHARACTERS = 64 * 1024  # of one call
MAX_CALLS = 64


@dataclass(slots=True)
class _PendingText:
    """Text that waits to be sent, and the frame in which its beginning came."""

    frame: Frame
    offset: int
    text: str

    @property
    def end(self) -> int:
        return self.offset + len(self.text)


class LiveTextMerger:
    """How much text of each call a viewer has been sent, and which text waits to be sent next.

    All offsets count characters from the beginning of the call's text.
    """

    def __init__(self) -> None:
        self._pending: dict[Key, _PendingText] = {}
        self._sent_to: dict[Key, int] = {}
        self._ended: dict[Key, None] = {}
        self._first_gap_at: dict[Key, int] = {}

    def __bool__(self) -> bool:
        return bool(self._pending)

    def add(self, frame: Frame) -> bool:
        """Merge a live frame. False if text before it is missing: it must be requested again."""
        data = frame["data"]
        key = (frame["type"], str(data["call_id"]))
        if key in self._ended:
            return True
        offset, text = int(data["offset"]), str(data["text"])
        pending = self._pending.get(key)
        known_to = pending.end if pending is not None else self._sent_to.get(key, 0)
        if offset > known_to:
            if not self._may_skip_to(key, offset):
                return False
            return self._put(key, _PendingText(frame, offset, text))
        text = text[known_to - offset :]
        if not text:
            return True
        if pending is None:
            return self._put(key, _PendingText(frame, known_to, text))
        pending.text += text
        return self._keep_within_bound(key, pending)

    def _may_skip_to(self, key: Key, offset: int) -> bool:
        """Whether a gap before ``offset`` is accepted, because the text in it will not come.

        Of a very long text the worker repeats only the tail. A frame belongs to such a repetition if
        it begins before the frame that made us request it. For a command's output every gap is
        accepted: its beginning is not needed.
        """
        first_gap_at = self._first_gap_at.get(key)
        if key[0] == events.ToolProgressed.type:
            return True
        if first_gap_at is not None and offset < first_gap_at:
            return True
        if first_gap_at is None:
            _put_bounded(self._first_gap_at, key, offset)
        return False

    def _put(self, key: Key, pending: _PendingText) -> bool:
        if len(self._pending) >= MAX_CALLS and key not in self._pending:
            self._pending.pop(next(iter(self._pending)))
        self._pending[key] = pending
        return self._keep_within_bound(key, pending)

    def _keep_within_bound(self, key: Key, pending: _PendingText) -> bool:
        if key[0] == events.ToolProgressed.type:
            shown = live_output.tail(pending.text)
            pending.offset += len(pending.text) - len(shown)
            pending.text = shown
            return True
        if len(pending.text) <= MAX_PENDING_CHARACTERS:
            return True
        del self._pending[key]  # the viewer is too far behind: it gets the whole text later
        return False

    def take(self) -> list[Frame]:
        """Take all text that waits, as frames, in the order in which the calls began."""
        taken, self._pending = self._pending, {}
        for key, pending in taken.items():
            _put_bounded(self._sent_to, key, pending.end)
            self._first_gap_at.pop(key, None)
        return [
            pending.frame
            | {"data": pending.frame["data"] | {"offset": pending.offset, "text": pending.text}}
            for pending in taken.values()
        ]

    def end(self, event_type: str, call_id: str) -> None:
        """An event was sent. Drop the live text that it replaces, also what is still on its way."""
        for kind in ENDED_BY.get(event_type, ()):
            key = (kind, call_id)
            self._pending.pop(key, None)
            self._sent_to.pop(key, None)
            self._first_gap_at.pop(key, None)
            _put_bounded(self._ended, key, None)


def _put_bounded(entries: dict[Key, Any], key: Key, value: Any) -> None:
    """Keep only the latest entries: a viewer that stays for weeks costs no more than a new one."""
    entries.pop(key, None)
    entries[key] = value
    if len(entries) > 4 * MAX_CALLS:
        entries.pop(next(iter(entries)))
