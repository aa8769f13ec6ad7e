"""Frames: the JSON in which an event leaves the server, over the API and over sockets."""

import json
from datetime import datetime
from typing import Any, NamedTuple

from paca import events


class StoredEvent(NamedTuple):
    """An event as its row holds it. ``payload`` is the JSON text of its facts, however large."""

    seq: int
    type: str
    source: str
    turn: int | None
    at: datetime
    payload: str

    def frame(self) -> str:
        """The frame as JSON text: the columns, and the payload as it is stored."""
        return (
            f'{{"type":{_text(self.type)},"seq":{self.seq},"at":"{self.at.isoformat()}",'
            f'"source":{_text(self.source)},"turn":{"null" if self.turn is None else self.turn},'
            f'"data":{self.payload}}}'
        )

    def data(self) -> dict[str, Any]:
        """The facts, decoded."""
        found: dict[str, Any] = json.loads(self.payload)
        return found

    def load(self) -> events.Event:
        """The event in its type; ``UnknownEvent`` if this version does not know the type."""
        return events.load(self.type, self.data())


def live_frame(event: events.Event, *, at: datetime, source: str = "agent") -> dict[str, Any]:
    """The frame of a live event of an agent or a helper. It is never stored, so it has no number and no turn."""
    return {
        "type": event.type,
        "seq": None,
        "at": at.isoformat(),
        "source": source,
        "turn": None,
        "data": event.payload(),
    }


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)
