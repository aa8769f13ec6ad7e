"""Looking back after a turn: what a model finds worth keeping, as notes of the agent.

A conversation is looked at again only after so many more steps of its agent, and at most so often. The model reads
what people wrote and what the agent answered, no outputs of tools.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from paca import events
from paca.common.errors import PacaError
from paca.conversations import event_log, memory_lists, store
from paca.conversations.models import Conversation, ModelCall, ModelCallPurpose
from paca.conversations.services import memory, memory_notes
from paca.conversations.store import AppendResult
from paca.engine import memory_review
from paca.engine.context.transcript import shorten
from paca.engine.memory_review import ReviewedNote
from paca.engine.turn import LogEntry, ModelCallStarted
from paca.projects import permissions
from paca.projects.models import Member

logger = logging.getLogger(__name__)

# Shorter work holds little that the agent has not noted itself, and each look costs a call.
STEPS_BETWEEN = 8
MAX_REVIEWS = 10  # of one conversation
TALK_CHARACTERS, ONE_TEXT_CHARACTERS = 12_000, 2_000
SEARCHED_EVENTS = 2_000
TALK = (events.MessageReceived.type, events.MessageSpoken.type)


class NoReviewWanted(Exception):
    """Too little has happened in the conversation since it was last looked at."""


@dataclass(frozen=True, slots=True)
class Talk:
    """What a model looks at: the newest texts of people and agent, and what is noted already."""

    text: str
    noted: tuple[str, ...]


def read(conversation_id: UUID) -> Talk | None:
    """The newest talk of the conversation; None if it is not looked at now."""
    if not _is_due(conversation_id):
        return None
    current = Conversation.objects.select_related("agent", "project").get(pk=conversation_id)
    lines = memory_lists.for_prompt(current.agent, current.project, until=timezone.now())
    text = _newest_talk(current)
    return Talk(text, tuple(line.text for line in lines)) if text else None


@transaction.atomic
def append(conversation_id: UUID, *entries: LogEntry) -> AppendResult:
    """Store entries of the call, which has no lease: the turn is over, and the next one may run.

    The row of the call is stored before its request is sent, and counts as a look: a process that dies in between
    leaves the memory as it is, and the conversation is looked at again after more steps.

    Raises ``NoReviewWanted`` if the call may not begin, ``NotFound`` if the conversation is deleted, and
    ``TurnLimitReached`` if a shared budget has no room.
    """
    Conversation.objects.for_update().filter(pk=conversation_id).first()
    # guard: memory-is-looked-for-seldom
    if any(isinstance(each, ModelCallStarted) for each in entries) and not _is_due(conversation_id):
        raise NoReviewWanted
    return store.append(conversation_id, *entries)


@transaction.atomic
def store_notes(
    conversation_id: UUID, text: str, *, model: str, usage: tuple[LogEntry, ...]
) -> None:
    """Store what the call took and what it found, as notes of the agent: they wait where the policy asks."""
    current = (
        Conversation.objects.select_related("agent", "project").filter(pk=conversation_id).first()
    )
    if current is None or current.deleted_at is not None:
        return
    noted = _note(current, memory_review.notes_in(text))
    logger.info("looked for what is worth keeping", extra={"model": model, "notes": len(noted)})
    store.append(conversation_id, *usage, *noted)


def _note(current: Conversation, found: Sequence[ReviewedNote]) -> list[events.MemoryWritten]:
    by = Member.objects.with_names().filter(agent=current.agent, deleted_at=None).first()
    if by is None or not found:
        return []
    # Before the conversation is locked, as each tool of an agent locks them.
    memory.lock(memory_lists.MemoryOwner(current.project))
    noted = []
    for each in found:
        owner = memory_lists.MemoryOwner(
            current.project, None if each.of_project else current.agent
        )
        # guard: memory-review-asks-the-role
        if not permissions.allows(by, memory_notes.PERMISSIONS[owner.about]):
            continue
        try:
            # A note that is refused leaves the others, and what the call took.
            with transaction.atomic():
                result = memory_notes.note(owner, text=each.text, by=by, conversation_id=current.pk)
        except PacaError as error:
            logger.info("a note was refused", extra={"code": error.code})
            continue
        if result.event is not None:
            noted.append(result.event)
    return noted


def _is_due(conversation_id: UUID) -> bool:
    calls = ModelCall.objects.filter(conversation=conversation_id, conversation__deleted_at=None)
    looks = calls.filter(purpose=ModelCallPurpose.MEMORY)
    last = looks.order_by("-started_at").first()
    steps = calls.filter(purpose=ModelCallPurpose.TURN, attempt=1)
    if last is not None:
        steps = steps.filter(started_at__gt=last.started_at)
    return steps.count() >= STEPS_BETWEEN and looks.count() < MAX_REVIEWS


def _newest_talk(current: Conversation) -> str:
    after = max(0, current.last_seq - SEARCHED_EVENTS)
    found = list(event_log.of_types(current.pk, TALK, after=after))
    received = [seq for seq, event in found if isinstance(event, events.MessageReceived)]
    people = event_log.texts_of_people(current.pk, received)
    parts: list[str] = []
    left = TALK_CHARACTERS
    for seq, event in reversed(found):
        match event:
            case events.MessageReceived() if seq in people:
                said = f"{event.author_name or 'A person'}: {people[seq]}"
            case events.MessageSpoken():
                said = f"{current.agent.name}: {event.text}"
            case _:
                continue
        said = shorten(said, ONE_TEXT_CHARACTERS)
        left -= len(said)
        if parts and left < 0:
            break
        parts.append(said)
    return "\n\n".join(reversed(parts))
