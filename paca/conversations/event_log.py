"""Queries of the event log of a conversation. ``store`` writes it."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar
from uuid import UUID

from django.db.models import BigIntegerField, OuterRef, Q, QuerySet, Subquery, UUIDField

from paca import events
from paca.common.frames import StoredEvent
from paca.common.prepared_queries import Parameter, Select
from paca.conversations.models import Conversation, Event

PAGE_EVENTS = 200
LAST_WORDS_EVENTS = 500  # how far back from the end of a log the last words are looked for
MESSAGES_OF_PEOPLE = (
    events.MessageReceived.type,
    events.MessageEdited.type,
    events.MessageWithdrawn.type,
)
E = TypeVar("E", bound=events.Event)

_COLUMNS = ("seq", "type", "source", "turn", "at", "payload", "blob__body")

# Prepared, and columns instead of objects: at every turn a long log may be read whole.
_ALL_AFTER = Select(
    lambda: (
        Event.objects.filter(
            conversation=Parameter("id", UUIDField()), seq__gt=Parameter("seq", BigIntegerField())
        )
        .order_by("seq")
        .values_list(*_COLUMNS)
    )
)


@dataclass(frozen=True, slots=True)
class LogPage:
    """Some events in order, and the first and last ``seq`` of the whole log (0: it is empty)."""

    events: list[StoredEvent]
    first_seq: int
    last_seq: int

    def json(self) -> str:
        """The page as an object of the API."""
        frames = ",".join(event.frame() for event in self.events)
        return f'{{"results":[{frames}],"first_seq":{self.first_seq},"last_seq":{self.last_seq}}}'


def load_after(conversation_id: UUID, seq: int) -> list[tuple[int, events.Event]]:
    """All events above ``seq`` in order, each as its ``seq`` and the decoded event."""
    rows = _ALL_AFTER.rows(id=conversation_id, seq=seq)
    return [(stored.seq, stored.load()) for stored in map(_stored, rows)]


def page_after(
    conversation_id: UUID, seq: int, limit: int = PAGE_EVENTS, types: Collection[str] = ()
) -> list[StoredEvent]:
    """The first ``limit`` events above ``seq``, in order; of these ``types`` if there are any."""
    rows = _rows(conversation_id, types).filter(seq__gt=seq).order_by("seq")
    return [_stored(row) for row in rows[:limit]]


def page_before(
    conversation_id: UUID, seq: int, limit: int = PAGE_EVENTS, types: Collection[str] = ()
) -> list[StoredEvent]:
    """The last ``limit`` events below ``seq``, in order; of these ``types`` if there are any."""
    rows = _rows(conversation_id, types).filter(seq__lt=seq).order_by("-seq")
    return [_stored(row) for row in reversed(rows[:limit])]


def newest_page(
    conversation_id: UUID, limit: int = PAGE_EVENTS, types: Collection[str] = ()
) -> list[StoredEvent]:
    """The last ``limit`` events, in order; of these ``types`` if there are any."""
    rows = _rows(conversation_id, types).order_by("-seq")
    return [_stored(row) for row in reversed(rows[:limit])]


def page(
    conversation: Conversation,
    *,
    after: int | None = None,
    before: int | None = None,
    limit: int = PAGE_EVENTS,
    types: Collection[str] = (),
) -> LogPage:
    """At most ``limit`` events: above ``after``, or below ``before``, or else the newest; of these ``types``."""
    if after is not None:
        found = page_after(conversation.id, after, limit, types)
    elif before is not None:
        found = page_before(conversation.id, before, limit, types)
    else:
        found = newest_page(conversation.id, limit, types)
    # The log may have grown since the conversation's row was read.
    last_seq = max(conversation.last_seq, found[-1].seq if found else 0)
    return LogPage(found, first_seq=min(1, last_seq), last_seq=last_seq)


def of_type(conversation_id: UUID, type_: type[E], *, after: int) -> list[E]:
    """The events of one type above ``after``, in order."""
    rows = _rows(conversation_id).filter(type=type_.type, seq__gt=after).order_by("seq")
    loaded = (_stored(row).load() for row in rows)
    return [event for event in loaded if isinstance(event, type_)]


def of_types(
    conversation_id: UUID, types: Collection[str], *, after: int = 0
) -> Iterator[tuple[int, events.Event]]:
    """All events of these types above the number ``after``, each as its ``seq`` and the decoded event."""
    rows = _rows(conversation_id).filter(type__in=types, seq__gt=after).order_by("seq")
    return ((stored.seq, stored.load()) for stored in map(_stored, rows))


def of_turn(conversation_id: UUID, turn: int, types: Collection[str]) -> Iterator[events.Event]:
    """The events of these types of one turn, in order."""
    rows = _rows(conversation_id, types).filter(turn=turn).order_by("seq")
    return (_stored(row).load() for row in rows)


def backwards(
    conversation_id: UUID, types: Collection[str], *, upto_seq: int
) -> Iterator[events.Event]:
    """The events of these types up to the number ``upto_seq``, the newest first. Few at once are in memory."""
    rows = _rows(conversation_id).filter(type__in=types, seq__lte=upto_seq).order_by("-seq")
    return (_stored(row).load() for row in rows.iterator(chunk_size=20))


def texts_of_people(
    conversation_id: UUID, numbers: Collection[int] | None = None
) -> dict[int, str]:
    """The messages of people as their authors last changed them, by ``seq``; without those taken back.

    With ``numbers`` only the messages of these ``seq``, and no text of another is read.
    """
    rows = _rows(conversation_id, MESSAGES_OF_PEOPLE)
    if numbers is not None:
        others = Q(type=events.MessageReceived.type) & ~Q(seq__in=numbers)
        rows = rows.exclude(others)
    texts: dict[int, str] = {}
    for stored in map(_stored, rows.order_by("seq").iterator()):
        seq, event = stored.seq, stored.load()
        match event:
            case events.MessageReceived():
                texts[seq] = event.text
            case events.MessageEdited():
                texts[event.event_seq] = event.text
            case events.MessageWithdrawn():
                texts.pop(event.event_seq, None)
    return texts if numbers is None else {seq: texts[seq] for seq in texts if seq in numbers}


# What stands before the final answer of a turn: a step with tool calls, or a correction by the loop.
_BEFORE_ANSWER = (
    events.ToolCalled.type,
    events.GuardNoticed.type,
    events.ReminderGiven.type,
    events.TurnStarted.type,
)


def final_answer(conversation_id: UUID, turn: int) -> str:
    """The text of the turn's last reply, after its last tool call; empty if it said nothing.

    Parts of an answer that the model's output limit cut are put together.
    """
    rows = _rows(conversation_id).filter(
        turn=turn, type__in=(*_BEFORE_ANSWER, events.MessageSpoken.type)
    )
    parts: list[str] = []
    for stored in map(_stored, rows.order_by("-seq").iterator(chunk_size=20)):
        event = stored.load()
        # guard: answer-that-was-not-checked
        if isinstance(event, events.ReminderGiven) and not parts:
            continue  # a limit has left no room to check the answer
        if not isinstance(event, events.MessageSpoken) or (parts and not event.truncated):
            break
        parts.append(event.text)
    return "".join(reversed(parts)).strip()


def last_words(conversation_ids: Collection[UUID]) -> dict[UUID, str]:
    """What the agent said last in each of these conversations, by their ids, in one query.

    There is no entry for one in whose last 500 events the agent says nothing.
    """
    if not conversation_ids:
        return {}
    spoken = Event.objects.filter(
        conversation=OuterRef("pk"),
        seq__gte=OuterRef("next_seq") - LAST_WORDS_EVENTS,
        type=events.MessageSpoken.type,
    ).order_by("-seq")
    newest = (
        Conversation.objects.filter(pk__in=conversation_ids)
        .annotate(newest=Subquery(spoken.values("pk")[:1]))
        .values("newest")
    )
    rows = Event.objects.filter(pk__in=newest).values_list("conversation_id", *_COLUMNS)
    loaded = ((pk, _stored(tuple(row)).load()) for pk, *row in rows)
    return {pk: event.text for pk, event in loaded if isinstance(event, events.MessageSpoken)}


def last_stopped_turn(conversation_id: UUID) -> int:
    """The last finished turn that a stop ended or followed; 0 if there is none.

    An interruption is no stop: the conversation goes on with the message that interrupts.
    """
    number = stopped = 0
    types = (events.TurnFinished.type, events.ConversationStopped.type)
    for _, event in of_types(conversation_id, types):
        match event:
            case events.TurnFinished():
                number = event.number
            case events.ConversationStopped() if event.reason != "interrupted":
                stopped = number
    return stopped


def all_events(conversation_id: UUID) -> Iterator[StoredEvent]:
    """Every event in order. One page at a time is in memory."""
    seq = 0
    while found := page_after(conversation_id, seq):
        yield from found
        seq = found[-1].seq


def _rows(conversation_id: UUID, types: Collection[str] = ()) -> QuerySet[Event, tuple[Any, ...]]:
    found = Event.objects.filter(conversation_id=conversation_id)
    if types:
        found = found.filter(type__in=types)
    return found.values_list(*_COLUMNS)


def _stored(row: tuple[Any, ...]) -> StoredEvent:
    seq, type_, source, turn, at, payload, blob = row
    return StoredEvent(seq, type_, source, turn, at, payload or blob)
