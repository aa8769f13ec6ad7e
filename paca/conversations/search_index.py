"""Keeps the words of conversations in the search index: their titles and messages, not their tool calls.

People look for a conversation by what they and the agent said. Outputs of tools would bury that: they
are long, and they repeat files that are found elsewhere.
"""

from uuid import UUID

from paca import events
from paca.conversations import event_log
from paca.conversations.models import Conversation
from paca.projects import search

REBUILD_BATCH = 500
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
    keys = Conversation.objects.filter(deleted_at=None).values_list("pk", flat=True)
    count = 0
    for key in keys.order_by("pk").iterator(REBUILD_BATCH):
        update(key)
        count += 1
    return count


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
