"""Queries of conversations and chat sessions."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any
from uuid import UUID

from django.db.models import (
    Exists,
    F,
    JSONField,
    OuterRef,
    Q,
    QuerySet,
    Value,
)
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast, Coalesce, NullIf

from paca import events
from paca.agents.models import Agent
from paca.common.errors import NotFound
from paca.conversations.models import (
    ChatSession,
    Conversation,
    ConversationStatus,
    Event,
    TurnStatus,
)
from paca.conversations.models.conversation import agent_load, newest_worker
from paca.conversations.models.statuses import ACTIVE_STATUSES
from paca.projects.models import Member, Project
from paca.projects.selectors import get_task


def get(project: Project, conversation_id: UUID, *, for_update: bool = False) -> Conversation:
    """The conversation of this project. ``for_update`` locks it until the commit.

    Raises ``NotFound`` if the project has no such conversation.
    """
    rows = Conversation.objects.for_project(project).select_related("agent").with_agent_load()
    if for_update:
        rows = rows.for_update()
    found = rows.filter(id=conversation_id).first()
    if found is None:
        raise NotFound("There is no conversation at this address.")
    return found


def get_by_id(conversation_id: UUID) -> Conversation:
    """The conversation of any project. The caller checks the permission.

    Raises ``NotFound`` if there is no such conversation.
    """
    found = (
        Conversation.objects.filter(id=conversation_id, deleted_at__isnull=True)
        .select_related("agent", "project")
        .with_agent_load()
        .first()
    )
    if found is None:
        raise NotFound("There is no conversation at this address.")
    return found


def running_turn(conversation: Conversation) -> dict[str, Any] | None:
    """Number and start of the turn that runs in this conversation, as JSON values; None if none runs."""
    if conversation.status not in ACTIVE_STATUSES:
        return None
    turn = conversation.turns.filter(status=TurnStatus.RUNNING).first()
    if turn is None:
        return None
    return {"number": turn.number, "started_at": turn.started_at.isoformat()}


def find(
    project: Project,
    *,
    search: str = "",
    status: str = "",
    agent: UUID | str | None = None,
    task: int | None = None,
    archived: bool | None = None,
) -> QuerySet[Conversation]:
    """The conversations of a project, the most recent first. ``search``: words of title or messages.

    ``archived``: only those in the archive, or only the others; both with None.

    ``task`` is the number of a task. Raises ``NotFound`` if the project has no such task, or never had
    this ``agent``; a retired one it had.
    """
    rows = Conversation.objects.for_project(project).top_level().select_related("agent")
    if archived is not None:
        rows = rows.filter(archived_at__isnull=not archived)
    if task is not None:
        rows = rows.filter(task=get_task(project, task))
    found = rows.with_agent_load().newest_first()
    if status:
        found = found.filter(status=status)
    if agent:
        if not Agent.objects.filter(project=project, pk=agent).exists():
            raise NotFound("There is no such agent in this project.")
        found = found.filter(agent_id=agent)
    for word in search.split()[:8]:
        messages = _messages_with(word).filter(conversation=OuterRef("pk"))
        found = found.filter(Q(title__icontains=word) | Exists(messages))
    return found


# Of several agents on one task the state of the first of these is shown.
_STATE_ORDER = (
    ConversationStatus.WAITING,
    ConversationStatus.RUNNING,
    ConversationStatus.QUEUED,
    ConversationStatus.PAUSED,
)


def agent_states(task_ids: Collection[UUID]) -> dict[UUID, dict[str, Any]]:
    """The state of the agent that works on each of these tasks, in one query; no entry for the others.

    A state is ``{conversation, agent {id, name, handle}, status, activity}`` as JSON values.
    """
    if not task_ids:
        return {}
    rows = Conversation.objects.filter(
        task__in=task_ids, status__in=_STATE_ORDER, deleted_at__isnull=True
    ).order_by("last_activity_at")
    found = rows.values_list(
        "task_id", "id", "status", "activity", "agent_id", "agent__name", "agent__handle"
    )
    states: dict[UUID, dict[str, Any]] = {}
    # The latest of the most urgent status stays.
    for task_id, pk, status, activity, agent_id, name, handle in sorted(
        found, key=lambda row: -_STATE_ORDER.index(ConversationStatus(row[2]))
    ):
        states[task_id] = {
            "conversation": str(pk),
            "agent": {"id": str(agent_id), "name": name, "handle": handle},
            "status": status,
            "activity": activity,
        }
    return states


def _messages_with(word: str) -> QuerySet[Event]:
    """Messages with the word in their text. The names of fields in the payload do not count."""
    body = Coalesce(NullIf("payload", Value("")), "blob__body")
    messages = Event.objects.filter(
        type__in=(events.MessageReceived.type, events.MessageSpoken.type)
    )
    with_text = messages.annotate(text=KeyTextTransform("text", Cast(body, JSONField())))
    return with_text.filter(text__icontains=word)


def chat_sessions(agent_id: UUID, member: Member) -> QuerySet[ChatSession]:
    """A person's chats with an agent, the most recently active first."""
    return (
        ChatSession.objects.filter(agent_id=agent_id, member=member, conversation__isnull=False)
        .select_related("conversation__agent")
        .annotate(agent_load=agent_load(), newest_worker=newest_worker())
        .annotate(last_activity_at=F("conversation__last_activity_at"))
        .order_by("-last_activity_at", "-id")
    )


def get_chat_session(
    agent_id: UUID, member: Member, session_id: UUID, *, for_update: bool = False
) -> ChatSession:
    """One of a person's chats with an agent. ``for_update`` locks it until the commit.

    Raises ``NotFound`` if this person has no such chat, also if another person has it.
    """
    rows = chat_sessions(agent_id, member)
    if for_update:
        rows = rows.select_for_update(of=("self",), no_key=True)
    found = rows.filter(id=session_id).first()
    if found is None:
        raise NotFound("There is no chat of yours at this address.")
    return found
