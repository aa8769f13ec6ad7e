"""Forks a conversation: makes a new one whose log begins with a copy of another's."""

from __future__ import annotations

from uuid import UUID

from django.db import transaction

from paca import events
from paca.common.errors import Invalid
from paca.conversations import event_log, search_index, store
from paca.conversations.models import (
    ChatSession,
    Conversation,
    ConversationStatus,
    Event,
    TriggerType,
    TurnStatus,
)
from paca.conversations.services import messages
from paca.conversations.services.inbox import check_agent_available, check_subject, lock
from paca.projects.models import Member

FORK_OF = "Fork of "
COPIED_AT_ONCE = 1000


@transaction.atomic
def fork(origin: Conversation, *, seq: int, by: Member, text: str = "") -> Conversation:
    """Make a chat of ``by`` that begins with the events of ``origin`` up to ``seq``; 0 is none of them.

    The origin stays as it is, and may run on. The fork has an empty sandbox, and its usage counts from 0.
    With a ``text`` it is sent there, which starts the agent. Raises ``Invalid`` if there is no event
    ``seq`` or the text is too long, ``SubjectDeleted``, and what ``check_agent_available`` raises.
    """
    if text:
        messages.check_text(text)
    origin = lock(origin)  # its log cannot be deleted meanwhile
    if seq > origin.last_seq:
        raise Invalid(
            fields={"seq": [f"The last event of this conversation is {origin.last_seq}."]}
        )
    check_agent_available(origin.agent)
    check_subject(origin)
    turn, is_running = _last_turn(origin.pk, seq)
    made = _create(origin, seq, turn, by=by)
    _copy_events(origin.pk, made.pk, seq)
    if is_running:
        ended = events.TurnFinished(number=turn, status=TurnStatus.STOPPED.value, reason="forked")
        store.append(made.pk, ended)
    store.append(made.pk, *_first_events(origin, seq, by=by))
    search_index.index(made.pk)
    if text:
        messages.send(made, text=text, by=by)
    made.refresh_from_db()
    return made


def _last_turn(conversation_id: UUID, seq: int) -> tuple[int, bool]:
    """The number of the last turn that began up to ``seq``, 0 if there is none, and whether it ran there."""
    number, is_running = 0, False
    types = (events.TurnStarted.type, events.TurnFinished.type)
    for at, event in event_log.of_types(conversation_id, types):
        if at > seq:
            break
        is_running = isinstance(event, events.TurnStarted)
        if isinstance(event, events.TurnStarted):
            number = event.number
    return number, is_running


def _create(origin: Conversation, seq: int, turn: int, *, by: Member) -> Conversation:
    session = ChatSession.objects.create(agent=origin.agent, member=by)
    made = Conversation.objects.create(
        project_id=origin.project_id,
        agent=origin.agent,
        session=session,
        trigger_type=TriggerType.CHAT_MESSAGE,
        triggered_by=by,
        task_id=origin.task_id,
        doc_id=origin.doc_id,
        forked_from=origin,
        status=ConversationStatus.FINISHED,
        reason="answered",
        next_seq=seq + 1,
        turn_number=turn,
    )
    session.conversation = made
    session.save(update_fields=["conversation", "updated_at"])
    return made


def _copy_events(origin_id: UUID, made_id: UUID, seq: int) -> None:
    """Copy the events up to ``seq`` with their numbers. Large payloads are shared."""
    rows = Event.objects.filter(conversation=origin_id, seq__lte=seq).order_by("seq")
    columns = ("seq", "type", "source", "turn", "at", "payload", "blob_id")
    for first in range(1, seq + 1, COPIED_AT_ONCE):
        batch = rows.filter(seq__gte=first, seq__lt=first + COPIED_AT_ONCE).values(*columns)
        Event.objects.bulk_create([Event(conversation_id=made_id, **row) for row in batch])


def _first_events(origin: Conversation, seq: int, *, by: Member) -> list[events.Event]:
    """The events that are the fork's own: its origin, and a title that tells the two apart."""
    forked = events.ConversationForked(
        conversation_id=str(origin.pk), seq=seq, title=origin.title, by=by.name
    )
    title = origin.title.removeprefix(FORK_OF)
    if not title or seq == 0:  # then the first message gives the title
        return [forked]
    named = events.TitleChanged(title=f"{FORK_OF}{title}"[: messages.MAX_TITLE_CHARACTERS])
    return [forked, named]
