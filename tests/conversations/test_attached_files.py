"""Files that go with a message: the event names them, and the agent is told."""

import pytest

from paca.common.errors import Invalid
from paca.conversations import event_log, services
from paca.conversations.services import queued_messages
from paca.engine.context.history import History, advance
from paca.events import MessageEdited, MessageReceived
from tests.conversations.chat import Chat

pytestmark = pytest.mark.django_db


@pytest.fixture
def chat() -> Chat:
    return Chat()


def test_message_names_its_files_to_the_agent_and_keeps_them_when_it_is_edited(chat):
    conversation = chat.row(chat.start("Hello")["conversation"])
    sent = services.send(
        conversation, text="Look", by=chat.world.owner, attachments=["a b.png", "src/x.txt"]
    )
    events = event_log.of_type(conversation.pk, MessageReceived, after=0)
    assert events[-1].attachments == ["a b.png", "src/x.txt"]
    queued_messages.edit(
        conversation, event_seq=sent.event_seq, text="Look twice", by=chat.world.owner
    )
    history = History()
    for seq, event in event_log.load_after(conversation.pk, 0):
        if isinstance(event, MessageReceived | MessageEdited):
            history = advance(history, event, seq)
    told = [note.text for note in history.pending]
    named = '[Attached files, which are in your workspace: "a b.png", "src/x.txt"]'
    assert told == ["Hello", f"Look twice\n\n{named}"]


@pytest.mark.parametrize(
    "paths", [["a\nb"], [""], ["x" * 1001], ["a\0"], ["a\u202eb"], ["a"] * 51, ["\ud800"]]
)
def test_attachment_that_is_no_path_is_refused(chat, paths):
    conversation = chat.row(chat.start("Hello")["conversation"])
    with pytest.raises(Invalid):
        services.send(conversation, text="Look", by=chat.world.owner, attachments=paths)
