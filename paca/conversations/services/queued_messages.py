"""Services for messages that the agent has not read yet: their author can change them or take them back."""

from __future__ import annotations

from uuid import UUID

from django.db import transaction
from django.db.models.functions import Now

from paca import events
from paca.common.errors import Conflict, NotAllowed, NotFound
from paca.common.text import to_storable
from paca.conversations import event_log, store
from paca.conversations.models import (
    ControlCommand,
    Conversation,
    ConversationStatus,
    Trigger,
    TriggerState,
    TriggerType,
)
from paca.conversations.models.inbox import TriggerQuerySet
from paca.conversations.services.inbox import lock
from paca.conversations.services.messages import check_text
from paca.conversations.services.skill_loading import skill_events
from paca.conversations.services.titles import title_from
from paca.projects.models import Member


class MessageTaken(Conflict):
    """The agent was first and has read the message, its author has taken it back, or a Stop has ended it."""

    code = "message_taken"


@transaction.atomic
def edit(conversation: Conversation, *, event_seq: int, text: str, by: Member) -> None:
    """Replace the text of a message that the agent has not read. ``event_seq`` is the message's event.

    To give it the text that it has changes nothing: a page repeats a command whose answer was lost. A title
    that was made of the message follows it. Raises ``Invalid`` for an empty or too long text, ``NotFound``
    if there is no such message, ``NotAllowed`` if another person or Paca wrote it, and ``MessageTaken`` if the agent
    was faster or a Stop has ended the message.
    """
    check_text(text)
    current, waiting = _waiting_trigger(conversation, event_seq, by)
    # The worker takes a message by the same column: whichever update comes first decides.
    is_waiting = waiting.update(updated_at=Now())
    if _is_withdrawn(current, event_seq):
        raise MessageTaken("This message was taken back before.")
    # guard: queued-message-is-changed-once
    if _text_of_last_edit(current, event_seq) == to_storable(text):
        return
    if not is_waiting:
        raise _taken(current, event_seq)
    edited = events.MessageEdited(event_seq=event_seq, text=text, by=by.name)
    retitled = _title_after(current, event_seq, text)
    store.append(current.id, edited, *retitled, *skill_events(current, text))


@transaction.atomic
def withdraw(conversation: Conversation, *, event_seq: int, by: Member) -> None:
    """Take a message back that the agent has not read. A conversation that waits for nothing else stops.

    To take back a message again changes nothing. A title that was made of the message is replaced by one of
    another message, or none. Raises what ``edit`` raises.
    """
    current, waiting = _waiting_trigger(conversation, event_seq, by)
    if not waiting.move(TriggerState.WITHDRAWN):
        if _is_withdrawn(current, event_seq):
            return
        raise _taken(current, event_seq)
    withdrawn: list[events.Event] = [events.MessageWithdrawn(event_seq=event_seq, by=by.name)]
    withdrawn += _title_after(current, event_seq, None)
    rest = Trigger.objects.filter(conversation=current, state=TriggerState.NEW)
    if current.status == ConversationStatus.QUEUED and not rest.exists():
        withdrawn.append(events.ConversationStopped(reason="by_person", by=by.name))
    store.append(current.id, *withdrawn)


def _waiting_trigger(
    conversation: Conversation, event_seq: int, by: Member
) -> tuple[Conversation, TriggerQuerySet]:
    """The locked conversation, and a query of the message's trigger while the agent has not read it."""
    current = lock(conversation)
    found = event_log.page_after(current.id, event_seq - 1, limit=1)
    message = found[0].load() if found and found[0].seq == event_seq else None
    if not isinstance(message, events.MessageReceived):
        raise NotFound("There is no such message in this conversation.")
    if message.trigger != TriggerType.CHAT_MESSAGE:
        raise NotAllowed("Paca has written this message of a task or a comment. Change those.")
    if message.author_id != str(by.id):
        raise NotAllowed("Only its author can change a message or take it back.")
    # A message that interrupts has its effect at once, so it does not wait.
    waiting = {"state": TriggerState.NEW, "control": ControlCommand.NONE}
    return current, _triggers(current, event_seq).filter(**waiting)


def _title_after(current: Conversation, event_seq: int, text: str | None) -> list[events.Event]:
    """The event that changes the title with its message, which has a new text, or None if it is taken back.

    Empty if the title stays: a person wrote it, or it was made of another message.
    """
    if not current.title or not _title_is_made(current.id):
        return []
    texts = event_log.texts_of_people(current.id)
    if title_from(texts.get(event_seq, "")) != current.title:
        return []
    texts |= {event_seq: text or ""}
    title = next((made for each in texts.values() if (made := title_from(each))), "")
    return [] if title == current.title else [events.TitleChanged(title=title)]


def _title_is_made(conversation_id: UUID) -> bool:
    """Whether the title was made of a message, and not written by a person."""
    titles = event_log.of_type(conversation_id, events.TitleChanged, after=0)
    return bool(titles) and not titles[-1].by


def _text_of_last_edit(current: Conversation, event_seq: int) -> str | None:
    """The text that the author gave the message last; None if it was not changed."""
    edits = event_log.of_type(current.id, events.MessageEdited, after=event_seq)
    texts = [edit.text for edit in edits if edit.event_seq == event_seq]
    return texts[-1] if texts else None


def _triggers(current: Conversation, event_seq: int) -> TriggerQuerySet:
    message = {"kind": TriggerType.CHAT_MESSAGE, "event_seq": event_seq}
    return Trigger.objects.filter(conversation=current, **message)


def _is_withdrawn(current: Conversation, event_seq: int) -> bool:
    return _triggers(current, event_seq).filter(state=TriggerState.WITHDRAWN).exists()


def _taken(current: Conversation, event_seq: int) -> MessageTaken:
    """The error that says why a message cannot be changed any more."""
    agent, trigger = current.agent.name, _triggers(current, event_seq).first()
    if trigger is not None and trigger.turn is None:
        if trigger.state == TriggerState.DONE:
            return MessageTaken(
                f"A Stop has ended this message before {agent} read it. Write it as a new message."
            )
        if trigger.control != ControlCommand.NONE:
            return MessageTaken(f"This message interrupts {agent} at once, so it does not wait.")
    return MessageTaken(f"{agent} was first and has read this message already.")
