"""A client of Paca's API, for the conversations of a part."""

from __future__ import annotations

import http.client
import json
from typing import Any
from uuid import UUID

from tests.chaos.conversation_group import ConversationGroup
from tests.support.flow import ObservedConversation


class ApiClient:
    """``ApiClient(port, group).stop(observed)``. A refused request raises ``AssertionError``."""

    def __init__(self, port: int, group: ConversationGroup) -> None:
        self._port = port
        self._group = group
        self._headers = {
            "Authorization": f"Bearer {group.token}",
            "Content-Type": "application/json",
        }

    def begin(self, text: str) -> ObservedConversation:
        """Start a conversation with this message."""
        return ObservedConversation(
            UUID(self._post(self._group.chat_sessions_path, {"message": text})["conversation"])
        )

    def stop(self, observed: ObservedConversation) -> None:
        self._post(f"{self._group.conversations}{observed.id}/stop/", {})

    def send(self, observed: ObservedConversation, text: str) -> int:
        """Send a message; gives its ``seq`` in the log."""
        sent = self._post(f"{self._group.conversations}{observed.id}/messages/", {"text": text})
        seq: int = sent["event_seq"]
        return seq

    def open(self, observed: ObservedConversation) -> None:
        """Read everything that the API shows of a conversation."""
        for what in ("", "events/", "export/?format=json", "export/?format=markdown"):
            self._ask("GET", f"{self._group.conversations}{observed.id}/{what}")

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
