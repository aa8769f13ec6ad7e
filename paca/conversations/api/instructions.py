"""Instructions to agents outside a chat over the API: execute, write a description, and its suggestion."""

from typing import Any
from uuid import UUID

from django.db import transaction
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from paca.accounts.api.idempotency import idempotent
from paca.agents import selectors as agents
from paca.common.api.preconditions import ChangedMeanwhile, require_unchanged
from paca.conversations.api.flags import require_plan_right
from paca.conversations.api.inputs import (
    DecisionInput,
    ExecuteInput,
    KeepInput,
    WriteInput,
)
from paca.conversations.api.serializers import (
    ConversationStartedSerializer,
    SuggestionSerializer,
    conversation_object,
)
from paca.conversations.models import Conversation, Suggestion
from paca.conversations.services import instructions, set_flags, suggestions
from paca.projects.api.base import ProjectView
from paca.projects.models import Task
from paca.projects.selectors import get_task
from paca.projects.services import tasks


class Execute(ProjectView):
    """An instruction to an agent that belongs to no chat."""

    required_permission = "conversations:write"

    @extend_schema(
        request=ExecuteInput, responses={201: ConversationStartedSerializer}, tags=["conversations"]
    )
    @idempotent
    def post(self, request: Request, agent_id: UUID) -> Response:
        """Start a conversation. ``task`` is the number of the task that it is about. With ``idle`` it
        starts only if the agent has no other work, else the answer is 409 ``agent_busy``."""
        data = ExecuteInput.read(request)
        agent = agents.get(self.project, agent_id)
        if (number := data.pop("task", None)) is not None:
            self.require_permission("tasks:read")
            data["task"] = get_task(self.project, number)
        flags = data.pop("flags", {})
        require_plan_right(self, agent, flags)
        with transaction.atomic():
            started = instructions.start(
                agent, by=self.member, plan=flags.pop("plan", None), **data
            )
            set_flags(started, by=self.member, **flags)
        return _started(started)


class WriteWithAI(ProjectView):
    """The description of a task, written by an agent."""

    required_permission = "tasks:write"

    @extend_schema(
        request=WriteInput, responses={201: ConversationStartedSerializer}, tags=["tasks"]
    )
    @idempotent
    def post(self, request: Request, number: int) -> Response:
        """Let an agent write the description. The text streams in the conversation; the answer is the
        task's suggestion, and the description changes when a person keeps it."""
        self.require_permission("conversations:write")
        data = WriteInput.read(request)
        task = get_task(self.project, number)
        agent = agents.get(self.project, data.pop("agent_id"))
        return _started(instructions.write_description(agent, task, by=self.member, **data))


class TaskSuggestion(ProjectView):
    """The newest description that an agent has written for a task."""

    required_permission = "tasks:read"

    @extend_schema(responses=SuggestionSerializer, tags=["tasks"])
    def get(self, request: Request, number: int) -> Response:
        """Show the newest suggestion, open or decided; 404 if there is none."""
        return _described(suggestions.newest(get_task(self.project, number)))


class KeepSuggestion(ProjectView):
    """Keeps a suggestion."""

    required_permission = "tasks:write"

    @extend_schema(request=KeepInput, responses=SuggestionSerializer, tags=["tasks"])
    @idempotent
    def post(self, request: Request, number: int) -> Response:
        """Make it the description of the task, or ``text`` if you have changed it. ``If-Match`` with the
        ``updated_at`` of the task refuses it if somebody has changed the task meanwhile (412). ``id`` and
        ``turn`` of the suggestion that you have seen refuse a newer one: the answer 412 has it as ``present``."""
        data = KeepInput.read(request)
        shown = _pop_shown(data)
        with transaction.atomic():
            task = get_task(self.project, number)
            tasks.lock(task)
            require_unchanged(request, task)
            seen = _require_newest(task, shown)
            return _described(suggestions.keep(task, by=self.member, seen=seen, **data))


class DiscardSuggestion(ProjectView):
    """Discards a suggestion."""

    required_permission = "tasks:write"

    @extend_schema(request=DecisionInput, responses=SuggestionSerializer, tags=["tasks"])
    @idempotent
    def post(self, request: Request, number: int) -> Response:
        """Leave the description as it is. ``id`` and ``turn`` are as for keeping it."""
        shown = _pop_shown(DecisionInput.read(request))
        with transaction.atomic():
            task = get_task(self.project, number)
            seen = _require_newest(task, shown)
            return _described(suggestions.discard(task, by=self.member, seen=seen))


def _started(conversation: Conversation) -> Response:
    conversation.refresh_from_db()
    body = {"conversation": conversation_object(conversation)}
    return Response(body, status=201)


def _pop_shown(data: dict[str, Any]) -> dict[str, Any]:
    """Take what names the suggestion that the person has seen out of the input."""
    return {name: data.pop(name) for name in ("id", "turn") if name in data}


def _require_newest(task: Task, shown: dict[str, Any]) -> Suggestion | None:
    """The newest suggestion, locked from now on; None if none is named.

    Raises ``ChangedMeanwhile`` if it is not the one named.
    """
    if not shown:
        return None
    newest = suggestions.lock_newest(task)
    # guard: suggestion-that-was-seen
    if any(getattr(newest, name) != value for name, value in shown.items()):
        raise ChangedMeanwhile(
            "An agent has written another suggestion meanwhile. Read it, then keep or discard it.",
            present=SuggestionSerializer(newest).data,
        )
    return newest


def _described(suggestion: Suggestion) -> Response:
    return Response(SuggestionSerializer(suggestion).data)
