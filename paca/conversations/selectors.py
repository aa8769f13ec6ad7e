"""Reading conversations: their objects, their frames, and the history the model gets."""

from __future__ import annotations

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
from paca.conversations.models import ChatSession, Conversation, Event
from paca.projects.models import Member, Project


def get(project: Project, conversation_id: UUID, *, for_update: bool = False) -> Conversation:
    """The conversation if it is this project's; ``for_change`` locks it until the commit.

    Raises ``NotFound``.
    """
    rows = Conversation.objects.for_project(project).select_related("agent")
    if for_update:
        rows = rows.for_update()
    found = rows.filter(id=conversation_id).first()
    if found is None:
        raise NotFound("There is no conversation at this address.")
    return found


def get_by_id(conversation_id: UUID) -> Conversation:
    """The conversation, whatever its project: the caller checks the membership."""
    found = (
        Conversation.objects.filter(id=conversation_id, deleted_at__isnull=True)
        .select_related("agent", "project")
        .first()
    )
    if found is None:
        raise NotFound("There is no conversation at this address.")
    return found


def listed(
    project: Project, *, search: str = "", status: str = "", agent: UUID | str | None = None
) -> QuerySet[Conversation]:
    """A project's conversations, newest first; ``search`` looks into titles and messages.

    Raises ``NotFound`` for an ``agent`` that never was in this project; a retired one has been.
    """
    found = Conversation.objects.for_project(project).select_related("agent").newest_first()
    if status:
        found = found.filter(status=status)
    if agent:
        if not Agent.objects.filter(project=project, pk=agent).exists():
            raise NotFound("There is no such agent in this project.")
        found = found.filter(agent_id=agent)
    for word in search.split()[:8]:
        said = _saying(word).filter(conversation=OuterRef("pk"))
        found = found.filter(Q(title__icontains=word) | Exists(said))
    return found


def _saying(word: str) -> QuerySet[Event]:
    """Messages with a word in their text: nobody searches for the names of our fields."""
    body = Coalesce(NullIf("payload", Value("")), "blob__body")
    messages = Event.objects.filter(
        type__in=(events.MessageReceived.type, events.MessageSpoken.type)
    )
    said = messages.annotate(text=KeyTextTransform("text", Cast(body, JSONField())))
    return said.filter(text__icontains=word)


def chat_sessions(agent_id: UUID, member: Member) -> QuerySet[ChatSession]:
    """A person's chats with an agent, the one last spoken in first."""
    return (
        ChatSession.objects.filter(agent_id=agent_id, member=member, conversation__isnull=False)
        .select_related("conversation__agent")
        .annotate(last_activity_at=F("conversation__last_activity_at"))
        .order_by("-last_activity_at", "-id")
    )


def session(
    agent_id: UUID, member: Member, session_id: UUID, *, for_update: bool = False
) -> ChatSession:
    """One of a person's own chats with an agent; ``for_change`` locks it until the commit.

    Raises ``NotFound``, also for a chat of somebody else.
    """
    rows = chat_sessions(agent_id, member)
    if for_update:
        rows = rows.select_for_update(of=("self",), no_key=True)
    found = rows.filter(id=session_id).first()
    if found is None:
        raise NotFound("There is no chat of yours at this address.")
    return found
