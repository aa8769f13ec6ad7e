"""Keeps the words of conversations in the search index: their titles and messages, not their tool calls.

People look for a conversation by what they and the agent said. Outputs of tools would bury that: they
are long, and they repeat files that are found elsewhere.
"""

from uuid import UUID

from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet

from paca import events
from paca.conversations import event_log
from paca.conversations.models import Conversation
from paca.projects import search
from paca.projects.models import SearchEntry, SearchKind

MESSAGES = (
    events.MessageReceived.type,
    events.MessageEdited.type,
    events.MessageWithdrawn.type,
    events.MessageSpoken.type,
)
# After these ``store`` updates the index. The messages of the agent are read at the end of its turn.
CHANGES_WORDS = (
    events.MessageReceived,
    events.MessageEdited,
    events.MessageWithdrawn,
    events.TitleChanged,
    events.TurnFinished,
)


def update(conversation_id: UUID) -> None:
    """Index the present title and messages of a conversation. Call it in the transaction that writes them."""
    row = Conversation.objects.filter(pk=conversation_id, deleted_at=None)
    found = row.values_list("project_id", "title").first()
    if found is not None:
        project_id, title = found
        text = _read_messages(conversation_id)
        search.index_conversation(project_id, conversation_id, title=title, text=text)


def rebuild() -> int:
    """Index all conversations again; gives how many there are."""
    return _update_all(Conversation.objects.filter(deleted_at=None))


def add_missing() -> int:
    """Index the conversations that are not in the index: those of a version of Paca without search.

    Gives how many these are.
    """
    entries = SearchEntry.objects.filter(kind=SearchKind.CONVERSATION, object_id=OuterRef("pk"))
    return _update_all(Conversation.objects.filter(~Exists(entries), deleted_at=None))


def _update_all(conversations: QuerySet[Conversation]) -> int:
    keys = list(conversations.order_by("pk").values_list("pk", flat=True))
    for key in keys:
        # Locked, so that a message that is written meanwhile waits, and is indexed after this.
        with transaction.atomic():
            Conversation.objects.select_for_update(no_key=True).filter(pk=key).first()
            update(key)
    return len(keys)


def _read_messages(conversation_id: UUID) -> str:
    """What people and the agent said, the oldest first, one paragraph each."""
    texts: dict[int, str] = {}
    for seq, event in event_log.of_types(conversation_id, MESSAGES):
        match event:
            case events.MessageReceived() | events.MessageSpoken():
                texts[seq] = event.text
            case events.MessageEdited():
                texts[event.event_seq] = event.text
            case events.MessageWithdrawn():
                texts.pop(event.event_seq, None)
    return "\n\n".join(texts.values())
