"""Conversations over the API: list, show, rename, control, and who may see them."""

from uuid import uuid4

import pytest

from paca import events
from paca.agents import services as agents
from paca.conversations import services, store
from tests.conversations.chat import Chat, error_of

pytestmark = pytest.mark.django_db


def ids(answer) -> list[str]:
    assert answer.status_code == 200, answer.data
    return [row["id"] for row in answer.data["results"]]


def test_conversation_has_exactly_the_fields_of_the_schema():
    chat = Chat()
    started = chat.start("Hello")
    shown = chat.api.get(chat.url(started["conversation"])).json()
    schema = chat.api.client.get("/api/v1/schema/", HTTP_ACCEPT="application/json").json()
    assert set(shown) == set(schema["components"]["schemas"]["Conversation"]["properties"])
    assert shown["agent"] == {
        "id": str(chat.world.agent.pk),
        "name": "Rosa",
        "handle": "rosa",
    }
    assert (shown["status"], shown["activity"]) == ("queued", "waiting_for_worker")
    assert shown["chat_session_id"] == started["session"]
    assert shown["last_seq"] == 3


def test_queued_conversation_says_what_it_waits_for():
    chat = Chat(limit_concurrent=1)
    first, second = chat.start("One")["conversation"], chat.start("Two")["conversation"]

    def waits_for(conversation: str) -> str:
        listed = chat.api.get(chat.conversations_url).json()["results"]
        shown = chat.api.get(chat.url(conversation)).json()["waits_for"]
        assert [row["waits_for"] for row in listed if row["id"] == conversation] == [shown]
        return str(shown)

    assert waits_for(second) == "worker"
    lease = chat.start_turn(first)
    assert (waits_for(first), waits_for(second)) == ("", "agent_busy")
    chat.finish_turn(lease)
    assert waits_for(second) == "worker"
    agents.configure(chat.world.agent, by=chat.world.owner, status="paused")
    assert (waits_for(first), waits_for(second)) == ("", "agent_paused")


def test_usage_tells_the_known_part_of_a_cost_that_is_not_known_whole():
    chat = Chat()
    started = chat.start()["conversation"]
    used = [
        events.UsageRecorded(call_id=uuid4().hex, model="m", input=10, cost_usd=cost)
        for cost in (0.25, None)
    ]
    chat.run_turn(started, *used)
    usage = chat.api.get(chat.url(started)).json()["usage"]
    known = ("cost_usd", "unpriced_calls", "priced_cost_usd")
    assert [usage[name] for name in known] == [None, 1, 0.25]


def test_list_has_the_most_recently_active_conversation_first():
    chat = Chat()
    first, second = chat.start("First")["conversation"], chat.start("Second")["conversation"]
    assert ids(chat.api.get(chat.conversations_url)) == [second, first]
    chat.api.post(chat.url(first, "messages/"), {"text": "Again"})
    assert ids(chat.api.get(chat.conversations_url)) == [first, second]


def test_list_is_filtered_by_status_and_agent():
    chat = Chat()
    done = chat.start("Done")["conversation"]
    chat.run_turn(done)
    waits = chat.start("Waits")["conversation"]
    other = agents.create(
        chat.world.project,
        name="Sam",
        handle="sam",
        model="demo/guide",
        role=chat.world.role("agent"),
        by=chat.world.owner,
    )
    sent = services.start_chat(other, text="Hi Sam", by=chat.world.owner)
    of_sam = str(sent.conversation_id)
    assert ids(chat.api.get(f"{chat.conversations_url}?status=finished")) == [done]
    assert ids(chat.api.get(f"{chat.conversations_url}?status=queued")) == [of_sam, waits]
    assert ids(chat.api.get(f"{chat.conversations_url}?agent={other.pk}")) == [of_sam]
    assert ids(chat.api.get(f"{chat.conversations_url}?agent={other.pk}&status=finished")) == []


def test_conversations_of_a_retired_agent_can_be_read_and_found():
    chat = Chat()
    started = chat.start("Hello")["conversation"]
    agents.retire(chat.world.agent, by=chat.world.owner)
    assert ids(chat.api.get(f"{chat.conversations_url}?agent={chat.world.agent.pk}")) == [started]
    assert chat.api.get(chat.url(started, "events/")).status_code == 200
    answer = chat.api.post(chat.url(started, "messages/"), {"text": "Hello?"})
    assert error_of(answer)[:2] == (409, "agent_unavailable")


@pytest.mark.parametrize("search", ["lighthouse", "LIGHT", "keeper lighthouse", "salt"])
def test_search_covers_titles_and_messages(search):
    chat = Chat()
    found = chat.start("The lighthouse keeper")["conversation"]
    chat.run_turn(found, events.MessageSpoken(text="He eats salt fish."))
    if search == "salt":
        chat.start("Pepper")
    else:
        chat.start("The lamp of a keeper")
    assert ids(chat.api.get(f"{chat.conversations_url}?search={search}")) == [found]


def test_search_takes_wildcard_characters_literally():
    chat = Chat()
    for signs in ("100%", "a_b", "'; --", "\\", '"'):
        found = chat.start(f"It says {signs} here")["conversation"]
        other = chat.start("It says 100 axb nothing here")["conversation"]
        answer = chat.api.client.get(f"/api/v1{chat.conversations_url}", {"search": signs})
        assert ids(answer) == [found], signs
        for conversation in (found, other):
            chat.api.delete(chat.url(conversation))


def test_search_ignores_payload_fields_that_are_no_text():
    chat = Chat()
    chat.start("Hello there")
    for name in ("author_name", "text", "queue", "client_id"):
        assert ids(chat.api.get(f"{chat.conversations_url}?search={name}")) == [], name


def test_search_finds_a_word_in_a_message_too_large_for_a_row():
    chat = Chat()
    found = chat.start("Read this\n" + "filler " * 13_000 + "treasure")["conversation"]
    chat.start("Read that")
    assert ids(chat.api.get(f"{chat.conversations_url}?search=treasure")) == [found]


def test_list_costs_the_same_queries_for_one_and_many_conversations(django_assert_num_queries):
    chat = Chat()
    chat.start()
    with django_assert_num_queries(4):  # session, person, member, the list
        chat.api.get(chat.conversations_url)
    for _ in range(8):
        chat.start()
    with django_assert_num_queries(4):
        assert len(ids(chat.api.get(chat.conversations_url))) == 9
    with django_assert_num_queries(4):
        chat.api.get(f"{chat.conversations_url}?search=hello&status=queued&limit=3")


def test_list_is_read_by_cursor_without_a_gap():
    chat = Chat()
    started = [chat.start(f"Talk {number}")["conversation"] for number in range(5)]
    page = chat.api.get(f"{chat.conversations_url}?limit=2&status=queued").data
    seen = [row["id"] for row in page["results"]]
    while page["next"]:
        page = chat.api.get(page["next"].partition("/api/v1")[2]).data
        seen += [row["id"] for row in page["results"]]
    assert seen == started[::-1]


def test_title_change_is_stored_in_the_log_with_its_author():
    chat = Chat()
    started = chat.start("First title")["conversation"]
    answer = chat.api.patch(chat.url(started), {"title": "  A   better\none "})
    assert (answer.status_code, answer.data["title"]) == (200, "A better one")
    last = chat.api.get(chat.url(started, "events/")).json()["results"][-1]
    assert last["data"] == {"title": "A better one", "by": chat.world.owner.name, "model": ""}


def test_title_change_is_refused_after_a_change_that_the_client_has_not_seen():
    chat = Chat()
    started = chat.start("First title")["conversation"]
    seen = chat.api.get(chat.url(started)).data["updated_at"]
    assert (
        chat.api.patch(chat.url(started), {"title": "Two"}, **{"If-Match": seen}).status_code == 200
    )
    answer = chat.api.patch(chat.url(started), {"title": "Three"}, **{"If-Match": seen})
    assert error_of(answer) == (412, "changed_meanwhile", {})
    assert chat.row(started).title == "Two"


def test_patch_without_fields_changes_nothing():
    chat = Chat()
    started = chat.start("Title")["conversation"]
    assert chat.api.patch(chat.url(started), {}).data["title"] == "Title"
    assert chat.row(started).last_seq == 3


# --- lifecycle commands -------------------------------------------------------------------------


def test_stop_ends_a_queued_conversation_at_once():
    chat = Chat()
    started = chat.start()["conversation"]
    answer = chat.api.post(chat.url(started, "stop/"))
    assert (answer.status_code, answer.data["status"]) == (202, "stopped")
    assert answer.data["reason"] == "by_person"


def test_stop_reaches_a_running_turn_as_a_control_command():
    chat = Chat()
    started = chat.start()["conversation"]
    chat.start_turn(started)
    answer = chat.api.post(chat.url(started, "stop/"))
    assert (answer.status_code, answer.data["status"]) == (202, "running")
    assert chat.row(started).triggers.get(state="new").control == "stop"


def test_pause_needs_a_running_and_resume_a_paused_conversation():
    chat = Chat()
    started = chat.start()["conversation"]
    assert error_of(chat.api.post(chat.url(started, "pause/")))[:2] == (409, "conflict")
    lease = chat.start_turn(started)
    assert chat.api.post(chat.url(started, "pause/")).status_code == 202
    assert chat.row(started).triggers.get(state="new").control == "pause"
    assert error_of(chat.api.post(chat.url(started, "resume/")))[:2] == (409, "conflict")
    paused = events.ConversationPaused(reason="by_person")
    finished = events.TurnFinished(number=1, status="paused", reason="by_person")
    store.append(lease.conversation_id, finished, paused, lease=lease)
    answer = chat.api.post(chat.url(started, "resume/"))
    assert (answer.status_code, answer.data["status"]) == (202, "queued")


def test_continue_leaves_every_end_and_does_not_change_a_running_conversation():
    chat = Chat()
    started = chat.start()["conversation"]
    chat.api.post(chat.url(started, "stop/"))
    answer = chat.api.post(chat.url(started, "continue/"))
    assert (answer.status_code, answer.data["status"]) == (202, "queued")
    before = chat.row(started).last_seq
    assert chat.api.post(chat.url(started, "continue/")).status_code == 202
    assert chat.row(started).last_seq == before


def test_interrupt_reaches_the_running_turn_and_is_shown_at_once():
    chat = Chat()
    started = chat.start()["conversation"]
    chat.start_turn(started)
    body = {"text": "Wait, rather this", "on_busy": "interrupt"}
    answer = chat.api.post(chat.url(started, "messages/"), body)
    assert (answer.status_code, answer.data["turn"]) == (202, None)
    assert chat.row(started).triggers.get(state="new").control == "interrupt"
    newest = chat.api.get(chat.url(started, "events/")).json()["results"][-1]
    assert newest["data"]["text"] == "Wait, rather this"


# --- permissions --------------------------------------------------------------------------------

ADDRESSES = [
    ("GET", ""),
    ("PATCH", ""),
    ("DELETE", ""),
    ("GET", "events/"),
    ("GET", "export/"),
    ("POST", "messages/"),
    ("POST", "stop/"),
    ("POST", "pause/"),
    ("POST", "resume/"),
    ("POST", "continue/"),
    ("POST", "compact/"),
]
BODIES = {"messages/": {"text": "x"}, "": {"title": "x"}}


def body_for(method: str, rest: str) -> object:
    return None if method in ("GET", "DELETE") else BODIES.get(rest, {})


def test_conversation_of_another_project_is_not_found():
    chat, other = Chat(), Chat("Elsewhere")
    foreign = other.start("Secret")["conversation"]
    for method, rest in ADDRESSES:
        for address in (chat.url(foreign, rest), other.url(foreign, rest)):
            answer = chat.api.ask(method, address, body_for(method, rest))
            assert error_of(answer) == (404, "not_found", {}), (method, address)
    assert other.row(foreign).last_seq == 3


def test_viewer_may_only_read():
    chat = Chat()
    started = chat.start()["conversation"]
    viewer = chat.api_of(chat.add_member("vi", "viewer"))
    for method, rest in ADDRESSES:
        answer = viewer.ask(method, chat.url(started, rest), body_for(method, rest))
        assert answer.status_code == (200 if method == "GET" else 403), (method, rest)
    assert chat.row(started).last_seq == 3


def test_filter_by_an_agent_of_another_project_is_refused():
    chat, other = Chat(), Chat("Elsewhere")
    other.start()
    answer = chat.api.get(f"{chat.conversations_url}?agent={other.world.agent.pk}")
    assert error_of(answer) == (404, "not_found", {})


def test_search_never_covers_another_project():
    chat, other = Chat(), Chat("Elsewhere")
    other.start("A secret word")
    assert ids(chat.api.get(f"{chat.conversations_url}?search=secret")) == []
