"""Live text on its way to one viewer: merged while it waits, never twice, never unbounded."""

from dataclasses import dataclass
from typing import Any

from paca import events

Frame = dict[str, Any]
Key = tuple[str, str]  # the frame's type and its call

STREAMED = (events.TextStreamed.type, events.ThoughtStreamed.type, events.ToolProgressed.type)
# Once this row is there, live text of the same call has nothing more to say.
ENDED_BY: dict[str, tuple[str, ...]] = {
    events.MessageSpoken.type: (events.TextStreamed.type, events.ThoughtStreamed.type),
    events.MessageDiscarded.type: (events.TextStreamed.type, events.ThoughtStreamed.type),
    events.ThoughtRecorded.type: (events.ThoughtStreamed.type,),
    events.ToolReturned.type: (events.ToolProgressed.type,),
    events.ToolOutcomeUnknown.type: (events.ToolProgressed.type,),
}
# What may wait for one viewer: 64 calls at 64 Ki characters, far above what is ever streamed at once.
MOST_WAITING_CHARACTERS = 64 * 1024
MOST_CALLS = 64


@dataclass(slots=True)
class _Piece:
    """Text that waits, and the frame it came in."""

    frame: Frame
    offset: int
    text: str

    @property
    def end(self) -> int:
        return self.offset + len(self.text)


class Streams:
    """What one viewer has been shown of each call, and what waits to be shown next."""

    def __init__(self) -> None:
        self._waiting: dict[Key, _Piece] = {}
        self._shown: dict[Key, int] = {}
        self._ended: dict[Key, None] = {}
        self._asked_at: dict[Key, int] = {}

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def add(self, frame: Frame) -> bool:
        """Let a live frame wait; False if a piece before it is missing, so that it must be said again."""
        data = frame["data"]
        key = (frame["type"], str(data["call_id"]))
        if key in self._ended:
            return True
        offset, text = int(data["offset"]), str(data["text"])
        piece = self._waiting.get(key)
        have = piece.end if piece is not None else self._shown.get(key, 0)
        if offset > have:
            if not self._is_all_there_is(key, offset):
                return False
            return self._wait(key, _Piece(frame, offset, text))
        text = text[have - offset :]
        if not text:
            return True
        if piece is None:
            return self._wait(key, _Piece(frame, have, text))
        piece.text += text
        return self._bound(key, piece)

    def _is_all_there_is(self, key: Key, offset: int) -> bool:
        """Of a very long text the worker repeats the tail only. It is such a repeat if it begins
        before the piece that made us ask; of a command's output nobody needs the beginning.
        """
        asked_at = self._asked_at.get(key)
        if key[0] == events.ToolProgressed.type or (asked_at is not None and offset < asked_at):
            return True
        if asked_at is None:
            _remember(self._asked_at, key, offset)
        return False

    def _wait(self, key: Key, piece: _Piece) -> bool:
        if len(self._waiting) >= MOST_CALLS and key not in self._waiting:
            self._waiting.pop(next(iter(self._waiting)))
        self._waiting[key] = piece
        return self._bound(key, piece)

    def _bound(self, key: Key, piece: _Piece) -> bool:
        if len(piece.text) <= MOST_WAITING_CHARACTERS:
            return True
        del self._waiting[key]  # a viewer this far behind gets it whole, later
        return False

    def take(self) -> list[Frame]:
        """All that waits, as frames, in the order the calls began."""
        taken, self._waiting = self._waiting, {}
        for key, piece in taken.items():
            _remember(self._shown, key, piece.end)
            self._asked_at.pop(key, None)
        return [
            piece.frame
            | {"data": piece.frame["data"] | {"offset": piece.offset, "text": piece.text}}
            for piece in taken.values()
        ]

    def end(self, row_type: str, call_id: str) -> None:
        """A row was shown: the live text it replaces is over, also what is still under way."""
        for kind in ENDED_BY.get(row_type, ()):
            key = (kind, call_id)
            self._waiting.pop(key, None)
            self._shown.pop(key, None)
            self._asked_at.pop(key, None)
            _remember(self._ended, key, None)


def _remember(memory: dict[Key, Any], key: Key, value: Any) -> None:
    """Keep the latest few: a viewer who stays for weeks costs no more than one who just came."""
    memory.pop(key, None)
    memory[key] = value
    if len(memory) > 4 * MOST_CALLS:
        memory.pop(next(iter(memory)))
