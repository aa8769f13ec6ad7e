"""The event log over the API: any part of it, by number, in order."""

import pytest

from paca import events
from paca.conversations import store
from tests.conversations.chat import Chat
from tests.support.frames import frames_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def chat() -> Chat:
    return Chat()


def conversation_with_log(chat: Chat, length: int = 10) -> str:
    """A conversation with this number of events."""
    started = chat.start()["conversation"]
    entries = [events.MessageReceived(text=f"Number {seq}") for seq in range(4, length + 1)]
    store.append(chat.row(started).pk, *entries)
    return str(started)


PARTS = [
    ("", range(1, 11)),
    ("?limit=3", range(8, 11)),
    ("?after=0", range(1, 11)),
    ("?after=7", range(8, 11)),
    ("?after=2&limit=3", range(3, 6)),
    ("?after=10", []),
    ("?after=99", []),
    ("?before=4", range(1, 4)),
    ("?before=9&limit=2", range(7, 9)),
    ("?before=1", []),
    ("?before=99&limit=1", [10]),
]


def test_log_page_is_selected_by_number(chat):
    started = conversation_with_log(chat)
    for query, seqs in PARTS:
        page = chat.api.get(chat.url(started, f"events/{query}")).json()
        assert [frame["seq"] for frame in page["results"]] == list(seqs), query
        assert (page["first_seq"], page["last_seq"]) == (1, 10)


def test_empty_log_has_neither_first_nor_last_seq(chat):
    started = chat.start()
    opened = chat.api.post(f"{chat.sessions_url}{started['session']}/clear/").data["conversation"]
    page = chat.api.get(chat.url(opened, "events/")).json()
    assert page == {"results": [], "first_seq": 0, "last_seq": 0}


def test_paging_up_and_down_meets_every_event_once(chat):
    started = conversation_with_log(chat, 25)
    down, after = [], 0
    while page := chat.api.get(chat.url(started, f"events/?after={after}&limit=7")).json()[
        "results"
    ]:
        down += [frame["seq"] for frame in page]
        after = down[-1]
    up, before = [], 26
    while page := chat.api.get(chat.url(started, f"events/?before={before}&limit=7")).json()[
        "results"
    ]:
        up = [frame["seq"] for frame in page] + up
        before = up[0]
    assert down == up == list(range(1, 26))


def test_log_page_has_the_frames_of_the_stored_events(chat):
    started = conversation_with_log(chat)
    frames = chat.api.get(chat.url(started, "events/")).json()["results"]
    assert frames == frames_of(chat.row(started).pk)
    assert frames[0] == {
        "type": "agent.message.received",
        "seq": 1,
        "at": frames[0]["at"],
        "source": "user",
        "turn": None,
        "data": {
            "text": "Hello",
            "author_id": str(chat.world.owner.pk),
            "author_name": chat.world.owner.name,
            "client_id": "",
            "on_busy": "queue",
            "trigger": "chat_message",
            "comment_id": "",
            "effort": "",
            "teammate": "",
            "attachments": [],
        },
    }


def test_log_page_costs_the_same_queries_for_one_and_for_two_hundred_events(
    chat, django_assert_num_queries
):
    started = conversation_with_log(chat, 201)
    for limit in (1, 200):
        with django_assert_num_queries(5):  # session, person, member, conversation, the events
            page = chat.api.get(chat.url(started, f"events/?limit={limit}")).json()
        assert len(page["results"]) == limit


def test_log_page_has_large_payloads_whole(chat):
    started = chat.start()["conversation"]
    store.append(chat.row(started).pk, events.MessageReceived(text="y" * 90_000))
    newest = chat.api.get(chat.url(started, "events/?limit=1")).json()["results"][0]
    assert newest["data"]["text"] == "y" * 90_000
