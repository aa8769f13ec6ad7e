"""Messages that wait for the agent: their author changes them or takes them back, or the agent is first."""

from uuid import uuid4

import pytest

from paca import events
from paca.conversations import event_log, store
from paca.conversations.models import Trigger
from paca.engine.context.history import History, advance
from paca.engine.turn import ModelCallStarted
from tests.conversations.chat import Chat, download, error_of

pytestmark = pytest.mark.django_db


def queued(chat: Chat, text: str = "And the changelog") -> tuple[str, int]:
    """A running conversation with a message that the agent has not read; gives its number too."""
    started = chat.start()["conversation"]
    chat.lease = chat.start_turn(started)
    sent = chat.api.post(chat.url(started, "messages/"), {"text": text})
    return started, sent.data["event_seq"]


def texts_for_the_model(chat: Chat, conversation: str) -> list[str]:
    history = History()
    for seq, event in event_log.load_after(chat.row(conversation).pk, 0):
        history = advance(history, event, seq)
    return [block.text for block in history.messages()[-1].blocks]


def test_queued_message_that_was_changed_is_read_as_changed():
    chat = Chat()
    started, seq = queued(chat)
    answer = chat.api.patch(chat.url(started, f"messages/{seq}/"), {"text": "And the README"})
    assert answer.status_code == 202, answer.data
    assert texts_for_the_model(chat, started) == ["Hello", "And the README"]


def test_queued_message_that_was_taken_back_is_never_read_and_starts_no_turn():
    chat = Chat()
    started, seq = queued(chat)
    for _ in range(2):  # the second time changes nothing
        assert chat.api.delete(chat.url(started, f"messages/{seq}/")).status_code == 202
    assert texts_for_the_model(chat, started) == ["Hello"]
    chat.finish_turn(chat.lease)
    assert chat.row(started).status == "finished"
    withdrawn = [e for _, e in event_log.load_after(chat.row(started).pk, 0)]
    assert len([e for e in withdrawn if isinstance(e, events.MessageWithdrawn)]) == 1


def test_agent_that_was_first_keeps_the_message():
    chat = Chat()
    started, seq = queued(chat)
    started_call = ModelCallStarted(call_id=str(uuid4()), model="m")
    store.append(chat.row(started).pk, started_call, lease=chat.lease)
    for answer in (
        chat.api.patch(chat.url(started, f"messages/{seq}/"), {"text": "Too late"}),
        chat.api.delete(chat.url(started, f"messages/{seq}/")),
    ):
        assert error_of(answer)[:2] == (409, "message_taken")
        assert answer.json()["detail"] == "Rosa was first and has read this message already."
    assert texts_for_the_model(chat, started)[-1] == "And the changelog"
    assert Trigger.objects.get(event_seq=seq).state == "claimed"


def test_change_that_is_sent_again_after_a_lost_answer_counts_once_also_if_the_agent_has_read_it():
    chat = Chat()
    started, seq = queued(chat)
    change = chat.url(started, f"messages/{seq}/"), {"text": "And the README"}
    for _ in range(2):
        assert chat.api.patch(*change).status_code == 202
    started_call = ModelCallStarted(call_id=str(uuid4()), model="m")
    store.append(chat.row(started).pk, started_call, lease=chat.lease)
    assert chat.api.patch(*change).status_code == 202
    assert len(event_log.of_type(chat.row(started).pk, events.MessageEdited, after=0)) == 1
    other = chat.api.patch(change[0], {"text": "Too late"})
    assert error_of(other)[:2] == (409, "message_taken")


def test_conversation_that_waits_for_nothing_else_stops_when_its_message_is_taken_back():
    chat = Chat()
    started = chat.start("Never mind")["conversation"]
    (seq,) = Trigger.objects.values_list("event_seq", flat=True)
    assert chat.api.delete(chat.url(started, f"messages/{seq}/")).data["status"] == "stopped"
    chat.api.post(chat.url(started, "messages/"), {"text": "This instead"})
    chat.start_turn(started)
    assert texts_for_the_model(chat, started) == ["This instead"]


def test_message_of_another_person_cannot_be_changed():
    chat = Chat()
    started, seq = queued(chat)
    bo = chat.api_of(chat.add_member("bo"))
    answer = bo.patch(chat.url(started, f"messages/{seq}/"), {"text": "Mine now"})
    assert error_of(answer)[:2] == (403, "permission_denied")
    assert error_of(bo.delete(chat.url(started, f"messages/{seq}/")))[0] == 403


def test_what_is_no_message_cannot_be_changed():
    chat = Chat()
    started, seq = queued(chat)
    for number in (seq - 1, seq + 7, 10**30):
        answer = chat.api.delete(chat.url(started, f"messages/{number}/"))
        assert error_of(answer)[:2] == (404, "not_found")
    empty = chat.api.patch(chat.url(started, f"messages/{seq}/"), {"text": "  "})
    assert error_of(empty)[:2] == (400, "invalid")


def test_message_that_interrupts_has_its_effect_at_once_and_does_not_wait():
    chat = Chat()
    started = chat.start()["conversation"]
    chat.start_turn(started)
    body = {"text": "Stop that", "on_busy": "interrupt"}
    seq = chat.api.post(chat.url(started, "messages/"), body).data["event_seq"]
    answer = chat.api.delete(chat.url(started, f"messages/{seq}/"))
    assert error_of(answer)[:2] == (409, "message_taken")
    assert "interrupts Rosa at once" in answer.json()["detail"]


def test_export_shows_a_changed_message_and_one_that_was_taken_back():
    chat = Chat()
    started, seq = queued(chat)
    chat.api.patch(chat.url(started, f"messages/{seq}/"), {"text": "And the README"})
    chat.api.delete(chat.url(started, f"messages/{seq}/"))
    text = download(chat.api.get(chat.url(started, "export/?format=markdown"))).decode()
    assert "And the README" in text
    assert "took back a message before it was read" in text


# --- titles -------------------------------------------------------------------------------------


def titled(chat: Chat, text: str) -> tuple[str, int]:
    """A queued conversation with a first message, which gave it its title; gives its number too."""
    started = chat.start(text)["conversation"]
    return started, Trigger.objects.get(conversation=started).event_seq


def test_title_does_not_keep_words_that_were_taken_back():
    chat = Chat()
    started, seq = titled(chat, "My password is tulip")
    assert chat.row(started).title == "My password is tulip"
    chat.api.delete(chat.url(started, f"messages/{seq}/"))
    assert chat.row(started).title == ""
    chat.api.post(chat.url(started, "messages/"), {"text": "Sort the list"})
    assert chat.row(started).title == "Sort the list"


def test_title_follows_its_message_and_falls_to_the_next_one():
    chat = Chat()
    started, seq = titled(chat, "Sort teh list")
    chat.api.post(chat.url(started, "messages/"), {"text": "And the changelog"})
    chat.api.patch(chat.url(started, f"messages/{seq}/"), {"text": "Sort the list"})
    assert chat.row(started).title == "Sort the list"
    chat.api.delete(chat.url(started, f"messages/{seq}/"))
    assert chat.row(started).title == "And the changelog"


def test_title_that_a_person_wrote_stays():
    chat = Chat()
    started, seq = titled(chat, "Sort the list")
    chat.api.patch(chat.url(started), {"title": "Sort the list"})
    chat.api.delete(chat.url(started, f"messages/{seq}/"))
    assert chat.row(started).title == "Sort the list"


# --- what is told of a message that cannot be changed -------------------------------------------


def test_message_that_a_stop_has_ended_is_not_told_as_read():
    chat = Chat()
    started, seq = titled(chat, "Sort the list")
    chat.api.post(chat.url(started, "stop/"))
    for answer in (
        chat.api.patch(chat.url(started, f"messages/{seq}/"), {"text": "Too late"}),
        chat.api.delete(chat.url(started, f"messages/{seq}/")),
    ):
        assert error_of(answer)[:2] == (409, "message_taken")
        assert answer.json()["detail"] == (
            "A Stop has ended this message before Rosa read it. Write it as a new message."
        )
