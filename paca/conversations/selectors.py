"""Reading conversations: their objects, their frames, and the history the model gets."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import (
    BigIntegerField,
    Exists,
    F,
    JSONField,
    OuterRef,
    Q,
    QuerySet,
    UUIDField,
    Value,
)
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast, Coalesce, NullIf

from paca import events
from paca.agents.models import Agent
from paca.common.errors import NotFound
from paca.common.prepared_queries import Parameter, Select
from paca.conversations.models import ChatSession, Conversation, Event
from paca.engine.context.history import History, advance
from paca.projects.models import Member, Project

PAGE = 200


@dataclass(frozen=True, slots=True)
class RecordedEvent:
    """One row of a log, loaded."""

    seq: int
    event: events.Event
    source: str
    turn: int | None
    at: datetime


@dataclass(frozen=True, slots=True)
class Page:
    """Some frames in order, and the bounds of the whole log."""

    results: list[dict[str, Any]]
    first_seq: int
    last_seq: int


# --- conversations ------------------------------------------------------------------------------


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


def describe(conversation: Conversation) -> dict[str, Any]:
    """The conversation as an object of the API."""
    agent = conversation.agent
    return {
        "id": str(conversation.id),
        "project_id": str(conversation.project_id),
        "agent": {"id": str(agent.id), "name": agent.name, "handle": agent.handle},
        "trigger_type": conversation.trigger_type,
        "status": conversation.status,
        "reason": conversation.reason,
        "detail": conversation.detail,
        "activity": conversation.activity,
        "title": conversation.title,
        "chat_session_id": _text(conversation.session_id),
        "last_seq": conversation.last_seq,
        "usage": conversation.usage,
        "created_at": conversation.created_at.isoformat(),
        "updated_at": conversation.updated_at.isoformat(),
        "started_at": _moment(conversation.started_at),
        "finished_at": _moment(conversation.finished_at),
    }


def _text(value: UUID | None) -> str | None:
    return None if value is None else str(value)


def _moment(value: datetime | None) -> str | None:
    return None if value is None else value.isoformat()


# --- frames -------------------------------------------------------------------------------------


def frames_after(conversation_id: UUID, after: int, limit: int = PAGE) -> list[dict[str, Any]]:
    """Frames with numbers above ``after``, in order, at most ``limit``."""
    rows = _rows(conversation_id).filter(seq__gt=after).order_by("seq")[:limit]
    return [_frame(row) for row in rows]


def frames_before(conversation_id: UUID, before: int, limit: int = PAGE) -> list[dict[str, Any]]:
    """The last ``limit`` frames with numbers below ``before``, in order."""
    rows = _rows(conversation_id).filter(seq__lt=before).order_by("-seq")[:limit]
    return [_frame(row) for row in reversed(rows)]


def newest_frames(conversation_id: UUID, limit: int = PAGE) -> list[dict[str, Any]]:
    """The last ``limit`` frames, in order."""
    rows = _rows(conversation_id).order_by("-seq")[:limit]
    return [_frame(row) for row in reversed(rows)]


def page(
    conversation: Conversation,
    *,
    after: int | None = None,
    before: int | None = None,
    limit: int = PAGE,
) -> Page:
    """A part of the log: above a number, below one, or the newest."""
    if after is not None:
        results = frames_after(conversation.id, after, limit)
    elif before is not None:
        results = frames_before(conversation.id, before, limit)
    else:
        results = newest_frames(conversation.id, limit)
    # What was written since the row was read counts too.
    last_seq = max(conversation.last_seq, results[-1]["seq"] if results else 0)
    return Page(results, first_seq=min(1, last_seq), last_seq=last_seq)


def all_frames(conversation: Conversation) -> Iterator[dict[str, Any]]:
    """Every frame, in order, a page at a time."""
    after = 0
    while page := frames_after(conversation.id, after):
        yield from page
        after = page[-1]["seq"]


def frame(
    type_: str, seq: int | None, at: datetime, source: str, turn: int | None, data: Any
) -> dict[str, Any]:
    """The shape in which an event leaves the server; ``seq`` is None for what is never stored."""
    return {
        "type": type_,
        "seq": seq,
        "at": at.isoformat(),
        "source": source,
        "turn": turn,
        "data": data,
    }


def _rows(conversation_id: UUID) -> QuerySet[Event]:
    return Event.objects.filter(conversation_id=conversation_id).select_related("blob")


def _frame(row: Event) -> dict[str, Any]:
    return frame(row.type, row.seq, row.at, row.source, row.turn, _payload(row))


def _payload(row: Event) -> Any:
    return json.loads(row.blob.body if row.blob is not None else row.payload)


# --- the model's view ---------------------------------------------------------------------------


# Plain columns: a long log is read at every turn, and rows as objects take twice the time.
_RECORDED = Select(
    lambda: (
        Event.objects.filter(
            conversation=Parameter("id", UUIDField()), seq__gt=Parameter("seq", BigIntegerField())
        )
        .order_by("seq")
        .values_list("seq", "type", "payload", "blob__body", "source", "turn", "at")
    )
)


def events_after(conversation_id: UUID, seq: int) -> list[RecordedEvent]:
    """All events above ``seq``, loaded, in order."""
    return [
        RecordedEvent(number, events.load(kind, json.loads(payload or blob)), source, turn, at)
        for number, kind, payload, blob, source, turn, at in _RECORDED.rows(
            id=conversation_id, seq=seq
        )
    ]


def history_for_model(recorded: Iterable[RecordedEvent]) -> History:
    """What a log means to the model: the fold of all its events."""
    history = History()
    for entry in recorded:
        history = advance(history, entry.event, entry.seq)
    return history
