"""The archive of conversations over the API: what it leaves out, and what brings one back."""

import pytest

from paca.events import MessageSpoken
from tests.conversations.chat import Chat, error_of

pytestmark = pytest.mark.django_db


def done(chat: Chat, text: str = "Sum up the week") -> str:
    """A conversation in which the agent has answered."""
    conversation = str(chat.start(text)["conversation"])
    chat.run_turn(conversation, MessageSpoken(text="Quiet."))
    return conversation


def listed(chat: Chat, query: str = "") -> set[str]:
    answer = chat.api.get(f"{chat.conversations_url}{query}")
    assert answer.status_code == 200, answer.data
    return {row["id"] for row in answer.data["results"]}


def archive(chat: Chat, conversation: str, archived: bool = True) -> dict[str, object]:
    answer = chat.api.patch(chat.url(conversation), {"archived": archived})
    assert answer.status_code == 200, answer.data
    return dict(answer.data)


def test_archived_conversation_is_left_out_where_it_is_asked_for_and_comes_back():
    chat = Chat()
    first, second = done(chat), done(chat)
    assert archive(chat, first)["archived"] is True
    assert listed(chat) == {first, second}
    assert listed(chat, "?archived=false") == {second}
    assert listed(chat, "?archived=true") == {first}
    last = chat.row(first).last_seq
    archive(chat, first)
    assert chat.row(first).last_seq == last, "it is there already"
    assert archive(chat, first, archived=False)["archived"] is False
    assert listed(chat, "?archived=false") == {first, second}
    told = [
        (row["data"]["archived"], row["data"]["by"])
        for row in chat.api.get(chat.url(first, "events/")).json()["results"]
        if row["type"] == "agent.conversation.archived"
    ]
    assert told == [(True, chat.world.owner.name), (False, chat.world.owner.name)]


def test_message_to_the_agent_brings_a_conversation_back():
    chat = Chat()
    conversation = done(chat)
    archive(chat, conversation)
    assert (
        chat.api.post(chat.url(conversation, "messages/"), {"text": "And May?"}).status_code == 202
    )
    assert listed(chat, "?archived=true") == set()
    assert chat.api.get(chat.url(conversation)).data["archived"] is False


def test_continue_brings_a_conversation_back():
    chat = Chat()
    conversation = done(chat)
    archive(chat, conversation)
    assert chat.api.post(chat.url(conversation, "continue/")).status_code == 202
    assert listed(chat, "?archived=false") == {conversation}
    assert chat.api.get(chat.url(conversation)).data["archived"] is False


def test_conversation_in_which_the_agent_works_is_not_archived():
    chat = Chat()
    conversation = chat.start()["conversation"]
    refused = chat.api.patch(chat.url(conversation), {"archived": True, "title": "Other"})
    assert error_of(refused)[:2] == (409, "conversation_running")
    assert chat.row(conversation).title == "Hello", "nothing of the change is stored"
    chat.run_turn(conversation, MessageSpoken(text="Hi."))
    archive(chat, conversation)
