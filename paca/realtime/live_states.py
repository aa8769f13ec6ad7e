"""Keeps the newest live state of each background command and helper for one viewer, within a memory bound."""

from typing import Any

from paca import events

Frame = dict[str, Any]

# The live events of which only the newest counts, and the field that names what they are about.
STATES = {
    events.BackgroundProgressed.type: "call_id",
    events.SubagentProgressed.type: "subagent_id",
}
MAX_STATES = 64  # far above what runs at once in a conversation


class LiveStates:
    """The states that wait to be sent. A field that is empty in a newer frame is as before."""

    def __init__(self) -> None:
        self._waiting: dict[tuple[str, str], Frame] = {}

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def add(self, frame: Frame) -> None:
        """Replace the frame that waits about the same thing."""
        kind, data = frame["type"], frame["data"]
        key = (kind, str(data[STATES[kind]]))
        before = self._waiting.pop(key, None)
        if before is not None:
            told = {name: value for name, value in data.items() if value != ""}
            frame = frame | {"data": before["data"] | told}
        self._waiting[key] = frame
        if len(self._waiting) > MAX_STATES:
            self._waiting.pop(next(iter(self._waiting)))

    def take(self) -> list[Frame]:
        """Take all that waits, the oldest first."""
        taken, self._waiting = self._waiting, {}
        return [*taken.values()]
