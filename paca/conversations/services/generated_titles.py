"""Titles that a model writes after the first answer of a chat, once in its life and never over one of a person."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from django.db import transaction

from paca import events
from paca.conversations import event_log, store
from paca.conversations.models import (
    Conversation,
    ModelCall,
    ModelCallPurpose,
    TriggerType,
)
from paca.conversations.services.titles import title_from
from paca.conversations.store import AppendResult
from paca.engine.turn import LogEntry, ModelCallStarted

QUOTES = "\"'“”„«»‘’`*"


class NoTitleWanted(Exception):
    """The conversation has a title that stays."""


@dataclass(frozen=True, slots=True)
class FirstWords:
    """What a title is made from: the first message and the answer to it."""

    question: str
    answer: str


def first_words(conversation_id: UUID, *, turn: int) -> FirstWords | None:
    """The first message of a chat and the answer of this turn; None if the chat needs no title."""
    if not _is_due(conversation_id):
        return None
    texts = event_log.texts_of_people(conversation_id)
    answer = event_log.final_answer(conversation_id, turn)
    question = texts[min(texts)] if texts else ""
    return FirstWords(question, answer) if question.strip() and answer else None


@transaction.atomic
def append(conversation_id: UUID, *entries: LogEntry) -> AppendResult:
    """Store entries of a call for a title, which has no lease: the turn is over, and the next one may run.

    The row of the call is stored before its request is sent, and a conversation gets one such row: a process that
    dies in between leaves the first words as the title, and nobody asks again.

    Raises ``NoTitleWanted`` if the call may not begin, ``NotFound`` if the conversation is deleted, and
    ``TurnLimitReached`` if a shared budget has no room.
    """
    Conversation.objects.for_update().filter(pk=conversation_id).first()
    # guard: title-is-asked-for-once
    if any(isinstance(each, ModelCallStarted) for each in entries) and not _is_due(conversation_id):
        raise NoTitleWanted
    return store.append(conversation_id, *entries)


@transaction.atomic
def store_title(
    conversation_id: UUID, text: str, *, model: str, usage: tuple[LogEntry, ...]
) -> None:
    """Store what the call took, and what it wrote as the title unless a person has given one meanwhile."""
    current = Conversation.objects.for_update().filter(pk=conversation_id).first()
    if current is None or current.deleted_at is not None:
        return
    title = title_of(text)
    # guard: title-of-a-person-stays
    wanted = bool(title) and not _is_named_by_person(conversation_id)
    named = [events.TitleChanged(title=title, model=model)] if wanted else []
    store.append(conversation_id, *usage, *named)


def title_of(text: str) -> str:
    """The title in the reply of a model: one line without marks and quotes; empty if there is none."""
    return title_from(title_from(text).rstrip(" .").strip(f"{QUOTES} ").rstrip(" ."))


def _is_due(conversation_id: UUID) -> bool:
    chats = Conversation.objects.filter(
        pk=conversation_id,
        trigger_type=TriggerType.CHAT_MESSAGE,
        task=None,
        doc=None,
        forked_from=None,
        deleted_at=None,
    )
    asked = ModelCall.objects.filter(conversation=conversation_id, purpose=ModelCallPurpose.TITLE)
    return chats.exists() and not asked.exists() and not _is_named_by_person(conversation_id)


def _is_named_by_person(conversation_id: UUID) -> bool:
    titles = event_log.of_type(conversation_id, events.TitleChanged, after=0)
    return any(event.by for event in titles)
