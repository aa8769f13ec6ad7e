"""The agent's to-do list as the API, exports and forks show it: the newest change of the log."""

import pytest

from paca.conversations import deletion, export
from paca.conversations.models import Conversation
from paca.events import MessageSpoken, TodoChanged
from tests.conversations.chat import Chat

pytestmark = pytest.mark.django_db
SINCE = "2026-01-05T09:00:00+00:00"
FIRST = TodoChanged(items=[{"text": "Look", "state": "now"}], since=SINCE)
SECOND = TodoChanged(
    items=[{"text": "Look", "state": "done"}, {"text": "Mend <b>", "state": "now"}], since=SINCE
)
CLEARED = TodoChanged()


def worked(chat: Chat, *changes: TodoChanged) -> str:
    conversation = str(chat.start("Mend it")["conversation"])
    chat.run_turn(conversation, *changes, MessageSpoken(text="Done."))
    return conversation


def described(chat: Chat, conversation: str) -> dict:
    return dict(chat.api.get(chat.url(conversation)).json())


def test_conversation_has_the_newest_list():
    chat = Chat()
    assert described(chat, worked(chat))["todo"] is None
    shown = described(chat, worked(chat, FIRST, SECOND))["todo"]
    assert shown == {"items": SECOND.items, "since": SINCE}
    assert described(chat, worked(chat, FIRST, CLEARED))["todo"] is None


def test_list_is_the_same_as_that_of_the_replayed_log():
    chat = Chat()
    conversation = worked(chat, FIRST, SECOND)
    frames = chat.api.get(chat.url(conversation, "events/")).json()["results"]
    (newest, source) = [(f["data"], f["source"]) for f in frames if f["type"] == TodoChanged.type][-1]  # fmt: skip
    shown = described(chat, conversation)["todo"]
    assert {name: newest[name] for name in shown} == shown
    assert source == "agent"


@pytest.mark.parametrize(("changes", "left"), [((FIRST, SECOND), "Look"), ((CLEARED, FIRST), None)])
def test_fork_has_the_list_as_it_was_at_its_event(changes, left):
    chat = Chat()
    conversation = worked(chat, *changes)
    frames = chat.api.get(chat.url(conversation, "events/")).json()["results"]
    seq = next(frame["seq"] for frame in frames if frame["type"] == TodoChanged.type)
    answer = chat.api.post(chat.url(conversation, "fork/"), {"seq": seq})
    todo = answer.data["todo"]
    assert (todo and todo["items"][0]["text"]) == left
    assert described(chat, answer.data["id"])["todo"] == todo


def test_deleted_conversation_keeps_no_list():
    chat = Chat()
    conversation = worked(chat, SECOND)
    row = Conversation.objects.get(pk=conversation)
    deletion.delete(row, by=chat.world.owner)
    assert Conversation.objects.get(pk=conversation).todo is None


def test_transcript_tells_how_far_the_list_is():
    chat = Chat()
    row = Conversation.objects.get(pk=worked(chat, SECOND, CLEARED))
    with export.to_markdown(row).file as file:
        text = file.read().decode()
    assert "*To-do list: 1 of 2 done; now: Mend \\<b\\>*" in text
    assert "*To-do list cleared*" in text
