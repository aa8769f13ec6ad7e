"""A conversation whose call waits for a person, as a worker leaves it."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

from django.http import HttpResponse

from paca import events
from paca.conversations import event_log
from paca.conversations.models import Approval, Conversation
from paca.worker import person_wait
from tests.conversations.chat import Chat


class WaitingCall:
    """A call of ``rm a.txt`` that waits, in a chat of its own or in ``chat``."""

    def __init__(self, chat: Chat | None = None, *, before: tuple[str, ...] = ()) -> None:
        """``before``: what people do between the reply of the model and the wait."""
        self.chat = chat or Chat(approval="unsafe")
        self.id = UUID(self.chat.start("Delete it")["conversation"])
        self.call_id = uuid4().hex
        arguments = {"command": "rm a.txt"}
        called = events.ToolCalled(call_id=self.call_id, tool="bash", arguments=arguments)
        lease = self.chat.start_turn(str(self.id), called)
        for action in before:
            self.act(action)
        request = events.ApprovalRequested(
            call_id=self.call_id,
            tool="bash",
            arguments=arguments,
            subject="rm a.txt",
            rule="delete_files",
            why="It deletes files.",
        )
        person_wait.begin(lease, [], request)

    def act(self, action: str, body: Any = None) -> HttpResponse:
        body = {"text": "Wait"} if action == "messages" and body is None else body or {}
        answer = self.chat.api.post(self.chat.url(self.id, f"{action}/"), body)
        assert answer.status_code in (200, 202), answer.data
        return answer

    @property
    def row(self) -> Conversation:
        return Conversation.objects.get(pk=self.id)

    @property
    def status(self) -> str:
        return f"{self.row.status}/{self.row.reason}"

    @property
    def approval(self) -> Approval:
        return Approval.objects.get(call_id=self.call_id)

    @property
    def url(self) -> str:
        return self.chat.url(self.id, f"approvals/{self.call_id}/")

    def decide(self, decision: str = "approve", **facts: Any) -> HttpResponse:
        return self.chat.api.post(self.url, {"decision": decision, **facts})

    @property
    def event_types(self) -> list[str]:
        return [event.type.removeprefix("agent.") for _, event in event_log.load_after(self.id, 0)]
