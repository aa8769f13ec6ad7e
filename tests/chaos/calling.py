"""People's side of a part: orders and messages over the API of the web server, as programs give them."""

from __future__ import annotations

import http.client
import json
from typing import Any
from uuid import UUID

from tests.chaos.cast import Cast
from tests.support.flow import ObservedConversation


class Caller:
    """``Caller(port, cast).stop(told)``; whatever is refused raises."""

    def __init__(self, port: int, cast: Cast) -> None:
        self._port = port
        self._cast = cast
        self._headers = {
            "Authorization": f"Bearer {cast.token}",
            "Content-Type": "application/json",
        }

    def begin(self, text: str) -> ObservedConversation:
        """A conversation, begun with this message."""
        return ObservedConversation(
            UUID(self._post(self._cast.chats, {"message": text})["conversation"])
        )

    def stop(self, told: ObservedConversation) -> None:
        self._post(f"{self._cast.conversations}{told.id}/stop/", {})

    def send(self, told: ObservedConversation, text: str) -> int:
        """The number of the message in the log."""
        sent = self._post(f"{self._cast.conversations}{told.id}/messages/", {"text": text})
        seq: int = sent["event_seq"]
        return seq

    def open(self, told: ObservedConversation) -> None:
        """All that people read of a conversation."""
        for what in ("", "events/", "export/?format=json", "export/?format=markdown"):
            self._ask("GET", f"{self._cast.conversations}{told.id}/{what}")

    def _post(self, path: str, body: dict[str, Any]) -> Any:
        said = self._ask("POST", path, json.dumps(body))
        return json.loads(said) if said else None

    def _ask(self, method: str, path: str, body: str | None = None) -> bytes:
        line = http.client.HTTPConnection("127.0.0.1", self._port, timeout=30)
        try:
            line.request(method, path, body, self._headers)
            answer = line.getresponse()
            said = answer.read()
        finally:
            line.close()
        if answer.status >= 300:
            raise AssertionError(f"{method} {path}: {answer.status} {said[:500]!r}")
        return said
