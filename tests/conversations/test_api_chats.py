"""Chats over the API: start, write, clear, and who may see them."""

import pytest

from paca.agents import services as agents
from paca.conversations.models import ChatSession, Conversation
from paca.engine.turn import LogEntry
from paca.events import MessageSpoken
from tests.conversations.chat import Chat, error_of

pytestmark = pytest.mark.django_db

HI: list[LogEntry] = [MessageSpoken(text="Hi.")]


def texts(chat: Chat, conversation: str) -> list[str]:
    frames = chat.api.get(chat.url(conversation, "events/")).json()["results"]
    return [frame["data"]["text"] for frame in frames if "message" in frame["type"]]


@pytest.mark.parametrize("name", ["message", "text"])
def test_first_message_starts_a_chat_and_gives_its_ids(name):
    chat = Chat()
    answer = chat.api.post(chat.sessions_url, {name: "Fix the tests\nplease"})
    assert answer.status_code == 201
    session = ChatSession.objects.get()
    assert answer.data == {
        "session": str(session.pk),
        "conversation": str(session.conversation_id),
        "turn": 1,
    }
    row = chat.row(answer.data["conversation"])
    assert (row.status, row.title, row.turn_number) == ("queued", "Fix the tests", 0)
    assert texts(chat, row.pk) == ["Fix the tests\nplease"]


def test_follow_up_continues_the_same_conversation():
    chat = Chat()
    started = chat.start("One")
    chat.run_turn(started["conversation"], *HI)
    answer = chat.api.post(f"{chat.sessions_url}{started['session']}/messages/", {"text": "Two"})
    assert answer.status_code == 202
    assert answer.data["conversation"] == started["conversation"]
    assert answer.data["turn"] == 2
    assert texts(chat, started["conversation"]) == ["One", "Hi.", "Two"]
    frames = chat.api.get(chat.url(started["conversation"], "events/")).json()["results"]
    said = next(frame for frame in frames if frame["data"].get("text") == "Two")
    assert said["seq"] == answer.data["event_seq"]


def test_turn_in_the_response_is_the_one_that_answers():
    chat = Chat()
    started = chat.start("One")
    second = chat.api.post(f"{chat.sessions_url}{started['session']}/messages/", {"text": "Two"})
    assert (started["turn"], second.data["turn"]) == (1, 1)
    chat.start_turn(started["conversation"])
    assert set(chat.row(started["conversation"]).triggers.values_list("turn", flat=True)) == {1}
    third = chat.api.post(f"{chat.sessions_url}{started['session']}/messages/", {"text": "Three"})
    assert third.data["turn"] is None


def test_clear_stops_the_conversation_and_opens_an_empty_one():
    chat = Chat()
    started = chat.start("Old talk")
    cleared = chat.api.post(f"{chat.sessions_url}{started['session']}/clear/")
    assert cleared.status_code == 201
    assert cleared.data["session"] == started["session"]
    assert cleared.data["conversation"] != started["conversation"]
    assert chat.row(started["conversation"]).status == "stopped"
    assert texts(chat, started["conversation"]) == ["Old talk"]
    sent = chat.api.post(f"{chat.sessions_url}{started['session']}/messages/", {"text": "New talk"})
    assert sent.data["conversation"] == cleared.data["conversation"]
    assert texts(chat, sent.data["conversation"]) == ["New talk"]


def test_list_shows_your_own_chats_the_most_recently_active_first():
    chat = Chat()
    first, second = chat.start("First"), chat.start("Second")
    bo = chat.add_member("bo")
    chat.api_of(bo).post(chat.sessions_url, {"message": "Bo's"})
    chat.api.post(f"{chat.sessions_url}{first['session']}/messages/", {"text": "Again"})
    page = chat.api.get(chat.sessions_url).data
    assert [row["id"] for row in page["results"]] == [first["session"], second["session"]]
    assert page["results"][0]["conversation"]["title"] == "First"
    assert page["results"][0]["agent_id"] == chat.world.agent.pk
    assert (page["next"], page["previous"]) == (None, None)


def test_list_is_read_by_cursor_without_a_gap():
    chat = Chat()
    started = [chat.start(f"Chat {number}")["session"] for number in range(5)]
    seen, page = [], chat.api.get(f"{chat.sessions_url}?limit=2").data
    while True:
        seen += [row["id"] for row in page["results"]]
        if page["next"] is None:
            break
        page = chat.api.get(page["next"].partition("/api/v1")[2]).data
    assert seen == started[::-1]


def test_list_costs_the_same_queries_for_one_and_many_chats(django_assert_num_queries):
    chat = Chat()
    chat.start()
    with django_assert_num_queries(5):  # session, person, member, agent, the list
        chat.api.get(chat.sessions_url)
    for _ in range(6):
        chat.start()
    with django_assert_num_queries(5):
        assert len(chat.api.get(chat.sessions_url).data["results"]) == 7


@pytest.mark.parametrize("rest", ["messages/", "clear/"])
def test_chat_of_another_person_is_not_found(rest):
    chat = Chat()
    started = chat.start()
    bo = chat.api_of(chat.add_member("bo", "owner"))
    answer = bo.post(
        f"{chat.sessions_url}{started['session']}/{rest}", {"text": "x"} if "m" in rest else {}
    )
    assert error_of(answer) == (404, "not_found", {})
    assert chat.row(started["conversation"]).last_seq == 3


def test_chat_is_not_found_under_another_agent():
    chat = Chat()
    started = chat.start()
    other = agents.create(
        chat.world.project,
        name="Sam",
        handle="sam",
        model="demo/guide",
        role=chat.world.role("agent"),
        by=chat.world.owner,
    )
    elsewhere = f"{chat.project_url}agents/{other.pk}/chat-sessions/{started['session']}/messages/"
    assert chat.api.post(elsewhere, {"text": "x"}).status_code == 404


def test_agent_of_another_project_is_not_found():
    chat, other = Chat(), Chat("Elsewhere")
    foreign = f"{chat.project_url}agents/{other.world.agent.pk}/chat-sessions/"
    assert chat.api.get(foreign).status_code == 404
    assert chat.api.post(foreign, {"message": "x"}).status_code == 404
    assert not Conversation.objects.exists()


def test_message_to_an_inactive_agent_is_refused_and_not_stored():
    chat = Chat()
    agents.configure(chat.world.agent, by=chat.world.owner, status="inactive")
    answer = chat.api.post(chat.sessions_url, {"message": "x", "client_id": "one"})
    assert error_of(answer)[:2] == (409, "agent_unavailable")
    assert not ChatSession.objects.exists()


def test_viewer_may_read_chats_and_not_write():
    chat = Chat()
    started = chat.start()
    viewer = chat.api_of(chat.add_member("vi", "viewer"))
    assert viewer.get(chat.sessions_url).data["results"] == []
    assert viewer.get(chat.url(started["conversation"])).status_code == 200
    assert viewer.post(chat.sessions_url, {"message": "x"}).status_code == 403


def test_member_may_write_in_the_conversation_of_another_member():
    chat = Chat()
    started = chat.start("Mine")
    bo = chat.add_member("bo")
    answer = chat.api_of(bo).post(
        chat.url(started["conversation"], "messages/"), {"text": "And mine"}
    )
    assert answer.status_code == 202
    frames = chat.api.get(chat.url(started["conversation"], "events/")).json()["results"]
    assert [f["data"]["author_name"] for f in frames if "received" in f["type"]] == [
        chat.world.owner.name,
        "bo",
    ]
