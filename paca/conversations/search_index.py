"""Keeps the words of conversations in the search index: their titles and messages, not their tool calls.

People look for a conversation by what they and the agent said. Outputs of tools would bury that: they
are long, and they repeat files that are found elsewhere.
"""

from collections.abc import Iterable
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet

from paca import events
from paca.conversations import event_log
from paca.conversations.models import Conversation, Event
from paca.projects import search_entries
from paca.projects.models import SearchEntry, SearchKind

MESSAGES = (
    events.MessageReceived.type,
    events.MessageEdited.type,
    events.MessageWithdrawn.type,
    events.MessageSpoken.type,
)
# A change of a message that is indexed already.
CORRECTIONS = (events.MessageEdited.type, events.MessageWithdrawn.type)
# After these ``store`` updates the index. A message is indexed at the end of its turn, so that sending it
# waits for no index.
CHANGES_WORDS = (
    events.TitleChanged,
    events.TurnFinished,
    events.MessageEdited,
    events.MessageWithdrawn,
)


def update(conversation_id: UUID, new_events: Iterable[events.Event]) -> None:
    """Index what these events change. Call it in the transaction that writes them."""
    if any(isinstance(event, events.TurnFinished) for event in new_events):
        _index_turn(conversation_id)
    elif any(event.type in CORRECTIONS for event in new_events):
        _index_all(conversation_id)
    else:
        _extend(conversation_id, "")


def _index_turn(conversation_id: UUID) -> None:
    """Add the messages since the end of the last turn; a corrected one needs all to be read again."""
    found = list(
        event_log.of_types(conversation_id, MESSAGES, after=_last_turn_end(conversation_id))
    )
    if any(event.type in CORRECTIONS for _, event in found):
        _index_all(conversation_id)
    else:
        _extend(conversation_id, _words_of(found))


def _last_turn_end(conversation_id: UUID) -> int:
    """The number of the event that ended the turn before the one that ends now; 0 if there is none."""
    ends = Event.objects.filter(conversation=conversation_id, type=events.TurnFinished.type)
    last_two = list(ends.order_by("-seq").values_list("seq", flat=True)[:2])
    return last_two[1] if len(last_two) == 2 else 0


def _extend(conversation_id: UUID, text: str) -> None:
    if (place := _place_of(conversation_id)) is not None:
        search_entries.extend_conversation(place[0], conversation_id, title=place[1], text=text)


def index(conversation_id: UUID) -> None:
    """Index the present title and all messages of a conversation."""
    _index_all(conversation_id)


def _index_all(conversation_id: UUID) -> None:
    """Index the present title and all messages of a conversation."""
    if (place := _place_of(conversation_id)) is not None:
        text = _words_of(event_log.of_types(conversation_id, MESSAGES))
        search_entries.put_conversation(place[0], conversation_id, title=place[1], text=text)


def _place_of(conversation_id: UUID) -> tuple[UUID, str] | None:
    """The project and title of a conversation; None if it is deleted, or a helper's, whose report its parent has."""
    # guard: search-leaves-out-helpers
    row = Conversation.objects.top_level().filter(pk=conversation_id, deleted_at=None)
    return row.values_list("project_id", "title").first()


def rebuild() -> int:
    """Index all conversations again; gives how many there are."""
    return _update_all(Conversation.objects.top_level().filter(deleted_at=None))


def add_missing() -> int:
    """Index the conversations that are not in the index: those of a version of Paca without search.

    Gives how many these are.
    """
    entries = SearchEntry.objects.filter(kind=SearchKind.CONVERSATION, object_id=OuterRef("pk"))
    return _update_all(Conversation.objects.top_level().filter(~Exists(entries), deleted_at=None))


def _update_all(conversations: QuerySet[Conversation]) -> int:
    keys = list(conversations.order_by("pk").values_list("pk", flat=True))
    for key in keys:
        # Locked, so that a message that is written meanwhile waits, and is indexed after this.
        with transaction.atomic():
            Conversation.objects.select_for_update(no_key=True).filter(pk=key).first()
            _index_all(key)
    return len(keys)


def _words_of(found: Iterable[tuple[int, events.Event]]) -> str:
    """What people and the agent said, the oldest first, one paragraph each."""
    texts: dict[int, str] = {}
    for seq, event in found:
        match event:
            case events.MessageReceived() | events.MessageSpoken():
                texts[seq] = event.text
            case events.MessageEdited():
                texts[event.event_seq] = event.text
            case events.MessageWithdrawn():
                texts.pop(event.event_seq, None)
    return "\n\n".join(texts.values())
