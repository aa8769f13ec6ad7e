"""Repeated requests over the API: with one client id or Idempotency-Key they have one effect."""

import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.http import HttpResponse

from paca.conversations.models import ChatSession, Conversation, Event, Trigger
from paca.events import MessageReceived
from tests.conversations.chat import Chat, error_of
from tests.support.api import Api

pytestmark = pytest.mark.django_db(transaction=True)


def messages(conversation: Any = None) -> int:
    found = Event.objects.filter(type=MessageReceived.type)
    return found.filter(conversation=conversation).count() if conversation else found.count()


def at_once(ask: Callable[[int], HttpResponse], times: int = 2) -> list[HttpResponse]:
    """Make the same request in several threads that start together. Gives their responses."""
    gate, answers = threading.Barrier(times), []

    def one(number: int) -> None:
        gate.wait()
        try:
            answers.append(ask(number))
        finally:
            connection.close()

    threads = [threading.Thread(target=one, args=(number,)) for number in range(times)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == times
    return answers


def same(*answers: HttpResponse) -> None:
    first, *others = answers
    assert first.status_code < 300, first.json()
    for other in others:
        assert (other.status_code, other.json()) == (first.status_code, first.json())


def test_chat_started_twice_with_one_client_id_is_one_chat():
    chat = Chat()
    body = {"message": "Hello", "client_id": "tab-1"}
    same(chat.api.post(chat.sessions_url, body), chat.api.post(chat.sessions_url, body))
    assert (Conversation.objects.count(), ChatSession.objects.count(), messages()) == (1, 1, 1)


def test_chat_started_concurrently_with_one_client_id_is_one_chat():
    chat = Chat()
    body = {"message": "Hello", "client_id": "tab-1"}
    same(*at_once(lambda _: Api(chat.world.user).post(chat.sessions_url, body), 4))
    assert (Conversation.objects.count(), ChatSession.objects.count(), messages()) == (1, 1, 1)


def test_chat_started_concurrently_with_one_key_is_one_chat():
    chat = Chat()
    ask = lambda _: Api(chat.world.user).post(  # noqa: E731
        chat.sessions_url, {"message": "Hello"}, **{"Idempotency-Key": "k-1"}
    )
    same(*at_once(ask, 4))
    assert (Conversation.objects.count(), ChatSession.objects.count(), messages()) == (1, 1, 1)


@pytest.mark.parametrize("door", ["chat", "conversation"])
@pytest.mark.parametrize("by", ["client_id", "key"])
def test_message_sent_concurrently_is_one_message(door, by):
    chat = Chat()
    started = chat.start()
    chat.run_turn(started["conversation"])
    path = {
        "chat": f"{chat.sessions_url}{started['session']}/messages/",
        "conversation": chat.url(started["conversation"], "messages/"),
    }[door]
    body = {"text": "Go on", **({"client_id": "m-1"} if by == "client_id" else {})}
    headers = {"Idempotency-Key": "m-1"} if by == "key" else {}
    answers = at_once(lambda _: Api(chat.world.user).post(path, body, **headers), 4)
    same(*answers)
    assert answers[0].json()["turn"] == 2
    assert messages(started["conversation"]) == 2
    assert Trigger.objects.filter(state="new").count() == 1


def test_repeated_message_names_the_same_turn_after_it_has_started():
    chat = Chat()
    body = {"message": "Hello", "client_id": "tab-1"}
    first = chat.api.post(chat.sessions_url, body)
    chat.run_turn(first.json()["conversation"])
    same(first, chat.api.post(chat.sessions_url, body))


def test_messages_of_two_tabs_are_queued_in_one_conversation():
    chat = Chat()
    started = chat.start()
    chat.run_turn(started["conversation"])
    path = chat.url(started["conversation"], "messages/")
    answers = at_once(
        lambda number: Api(chat.world.user).post(
            path, {"text": f"From tab {number}", "client_id": f"tab-{number}"}
        )
    )
    assert [answer.json()["turn"] for answer in answers] == [2, 2]
    assert messages(started["conversation"]) == 3
    chat.start_turn(started["conversation"])
    assert chat.row(started["conversation"]).turns.filter(status="running").count() == 1


def test_client_id_used_by_two_people_is_two_messages():
    chat = Chat()
    started = chat.start()
    path = chat.url(started["conversation"], "messages/")
    body = {"text": "Me too", "client_id": "same"}
    chat.api.post(path, body)
    chat.api_of(chat.add_member("bo")).post(path, body)
    assert messages(started["conversation"]) == 3


def test_idempotency_key_used_for_another_request_is_refused():
    chat = Chat()
    started = chat.start()
    path = chat.url(started["conversation"], "messages/")
    chat.api.post(path, {"text": "One"}, **{"Idempotency-Key": "k"})
    answer = chat.api.post(path, {"text": "Two"}, **{"Idempotency-Key": "k"})
    assert error_of(answer) == (409, "idempotency_key_reused", {})
    assert messages(started["conversation"]) == 2


def test_idempotency_key_of_a_failed_request_may_be_used_again():
    chat = Chat()
    started = chat.start()
    lease = chat.start_turn(started["conversation"])
    path = chat.url(started["conversation"], "messages/")
    body, key = {"text": "Now", "on_busy": "reject"}, {"Idempotency-Key": "k"}
    assert error_of(chat.api.post(path, body, **key)) == (409, "conversation_busy", {})
    assert messages(started["conversation"]) == 1
    chat.finish_turn(lease)
    assert chat.api.post(path, body, **key).status_code == 202
    assert messages(started["conversation"]) == 2


def test_clear_repeated_with_one_key_opens_one_conversation():
    chat = Chat()
    started = chat.start()
    path, key = f"{chat.sessions_url}{started['session']}/clear/", {"Idempotency-Key": "k"}
    same(*at_once(lambda _: Api(chat.world.user).post(path, **key)))
    assert Conversation.objects.count() == 2


def test_continue_repeated_with_one_key_is_one_trigger():
    chat = Chat()
    started = chat.start()
    chat.run_turn(started["conversation"])
    path, key = chat.url(started["conversation"], "continue/"), {"Idempotency-Key": "k"}
    same(chat.api.post(path, **key), chat.api.post(path, **key))
    assert Trigger.objects.filter(kind="continue").count() == 1
