"""A conversation whose call waits for a person, as a worker leaves it."""

from __future__ import annotations

from typing import Any, ClassVar
from uuid import UUID, uuid4

from django.http import HttpResponse

from paca import events
from paca.conversations import event_log, store
from paca.conversations.models import Conversation, PersonRequest
from paca.engine.approvals.person_tools import PersonRequested
from paca.worker import person_wait
from tests.conversations.chat import Chat


class WaitingCall:
    """A call of ``rm a.txt`` that waits, in a chat of its own or in ``chat``."""

    def __init__(self, chat: Chat | None = None, *, before: tuple[str, ...] = ()) -> None:
        """``before``: what people do between the reply of the model and the wait."""
        self.chat = chat or Chat(approval="unsafe")
        self.id = UUID(self.chat.start("Delete it")["conversation"])
        self.call_id = uuid4().hex
        called = events.ToolCalled(call_id=self.call_id, tool=self.tool, arguments=self.arguments)
        lease = self.chat.start_turn(str(self.id), called)
        for action in before:
            self.act(action)
        person_wait.begin(lease, [], self.make_request())

    tool = "bash"
    arguments: ClassVar[dict[str, Any]] = {"command": "rm a.txt"}
    place = "approvals"

    def make_request(self) -> PersonRequested:
        return events.ApprovalRequested(
            call_id=self.call_id,
            tool=self.tool,
            arguments=self.arguments,
            subject="rm a.txt",
            rule="delete_files",
            why="It deletes files.",
        )

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
    def approval(self) -> PersonRequest:
        return PersonRequest.objects.get(call_id=self.call_id)

    @property
    def url(self) -> str:
        return self.chat.url(self.id, f"{self.place}/{self.call_id}/")

    def decide(self, decision: str = "approve", **facts: Any) -> HttpResponse:
        return self.chat.api.post(self.url, {"decision": decision, **facts})

    @property
    def event_types(self) -> list[str]:
        return [event.type.removeprefix("agent.") for _, event in event_log.load_after(self.id, 0)]


class WaitingQuestion(WaitingCall):
    """A question to people that waits."""

    tool = "ask_person"
    arguments: ClassVar[dict[str, Any]] = {
        "question": "Which database?",
        "choices": [
            {"label": "PostgreSQL", "description": "The larger one."},
            {"label": "SQLite", "description": ""},
        ],
    }
    place = "questions"

    def make_request(self) -> PersonRequested:
        return events.QuestionAsked(call_id=self.call_id, **self.arguments)

    def answer(self, text: str = "SQLite") -> HttpResponse:
        return self.chat.api.post(self.url, {"text": text})


class WaitingPlan(WaitingCall):
    """A plan that waits for a decision, in plan mode."""

    tool = "propose_plan"
    arguments: ClassVar[dict[str, Any]] = {"title": "Move it", "steps": ["Read.", "Write."]}
    place = "plans"

    def make_request(self) -> PersonRequested:
        store.append(self.id, events.FlagsChanged(plan=True, by="Ada"))
        return events.PlanProposed(call_id=self.call_id, **self.arguments)
