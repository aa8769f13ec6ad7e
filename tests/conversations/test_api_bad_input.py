"""Invalid input to the API of conversations: each is refused with a clear error and not stored."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.http import HttpResponse

from paca.conversations.models import ChatSession
from paca.conversations.services import MAX_MESSAGE_CHARACTERS
from tests.conversations.chat import Chat, error_of

pytestmark = pytest.mark.django_db

UNKNOWN = "There is no such field."
REQUIRED = "This field is required."
BAD_ID = "1 to 100 letters, digits and . _ : -"

Rows = list[tuple[Any, str, str]]  # the input, and the field and text of its error

MESSAGES: Rows = [
    ({}, "text", REQUIRED),
    ({"text": ""}, "text", "Write something."),
    ({"text": " \n\t"}, "text", "Write something."),
    ({"message": ""}, "text", "Write something."),
    ({"text": None}, "text", "This field may not be null."),
    ({"text": True}, "text", "Not a valid string."),
    ({"text": ["Hello"]}, "text", "Not a valid string."),
    ({"text": "a\0b"}, "text", "Null characters are not allowed."),
    ({"text": "\ud800"}, "text", "Surrogate characters are not allowed: U+D800."),
    ({"text": "a", "message": "b"}, "message", "Differs from text."),
    (
        {"text": "x" * (MAX_MESSAGE_CHARACTERS + 1)},
        "text",
        "At most 100,000 characters; this has 100,001.",
    ),
    ({"text": "a", "client_id": ""}, "client_id", "This field may not be blank."),
    ({"text": "a", "client_id": "two words"}, "client_id", BAD_ID),
    ({"text": "a", "client_id": "x" * 101}, "client_id", BAD_ID),
    ({"text": "a", "client_id": "line\n"}, "client_id", BAD_ID),
    ({"text": "a", "client_id": {"a": 1}}, "client_id", BAD_ID),
    ({"text": "a", "effort": "high"}, "effort", '"high" is not a valid choice.'),
    (["text"], "body", "Invalid data. Expected a dictionary, but got list."),
    ("text", "body", "Invalid data. Expected a dictionary, but got str."),
]
FOLLOW_UPS: Rows = [
    *MESSAGES,
    ({"text": "a", "flags": {"plan": True}}, "flags", UNKNOWN),
    ({"text": "a", "on_busy": "later"}, "on_busy", '"later" is not a valid choice.'),
    ({"text": "a", "on_busy": None}, "on_busy", "This field may not be null."),
]
TITLES: Rows = [
    ({"title": ""}, "title", "Write a title."),
    ({"title": " \n "}, "title", "Write a title."),
    ({"title": "x" * 201}, "title", "At most 200 characters."),
    ({"title": None}, "title", "This field may not be null."),
    ({"title": ["a"]}, "title", "Not a valid string."),
    ({"title": "a\0"}, "title", "Null characters are not allowed."),
    ({"status": "finished"}, "status", UNKNOWN),
    ([], "body", "Invalid data. Expected a dictionary, but got list."),
]
CHOICES = '"lost" is not a valid choice.'
QUERIES: Rows = [
    ("list?status=lost", "status", CHOICES),
    ("list?agent=7", "agent", "Must be a valid UUID."),
    ("list?search=" + "x" * 201, "search", "Ensure this field has no more than 200 characters."),
    ("list?search=%00", "search", "Null characters are not allowed."),
    ("list?cursor=zzz", "cursor", "This cursor is not one of ours; begin again without it."),
    ("list?limit=0", "limit", "Ensure this value is greater than or equal to 1."),
    ("list?limit=201", "limit", "Ensure this value is less than or equal to 200."),
    ("list?limit=many", "limit", "A valid integer is required."),
    ("list?stauts=queued", "stauts", UNKNOWN),
    ("events?after=-1", "after", "Ensure this value is greater than or equal to 0."),
    ("events?after=x", "after", "A valid integer is required."),
    (f"events?after={2**63}", "after", f"Ensure this value is less than or equal to {2**63 - 1}."),
    ("events?before=0", "before", "Ensure this value is greater than or equal to 1."),
    ("events?before=1e3", "before", "A valid integer is required."),
    ("events?limit=201", "limit", "Ensure this value is less than or equal to 200."),
    ("events?after=1&before=3", "before", "Give after or before, not both."),
    ("events?from=1", "from", UNKNOWN),
    ("export?format=pdf", "format", '"pdf" is not a valid choice.'),
    ("export?as=json", "as", UNKNOWN),
    ("chats?limit=0", "limit", "Ensure this value is greater than or equal to 1."),
    ("chats?cursor=zzz", "cursor", "This cursor is not one of ours; begin again without it."),
    ("chats?owner=me", "owner", UNKNOWN),
]  # fmt: skip
BODIES = [
    ("{", "application/json", 400, "malformed"),
    ("\xff", "application/json", 400, "malformed"),
    ('{"text": NaN}', "application/json", 400, "malformed"),
    ("text=hello", "application/x-www-form-urlencoded", 415, "unsupported_media_type"),
    ("hello", "text/plain", 415, "unsupported_media_type"),
    (json.dumps({"text": "a"}), "application/xml", 415, "unsupported_media_type"),
]
METHODS = [("PUT", ""), ("POST", ""), ("DELETE", "events/"), ("GET", "stop/"), ("GET", "messages/")]


@pytest.fixture
def chat() -> Chat:
    return Chat()


def post(chat: Chat, path: str, body: Any) -> HttpResponse:
    """Send the body as plain ASCII, because a lone surrogate can only be sent escaped."""
    kind = "application/json"
    answer: HttpResponse = chat.api.client.generic(
        "POST", f"/api/v1{path}", json.dumps(body), content_type=kind
    )
    return answer


def unexpected(table: Rows, ask: Callable[[Any], HttpResponse]) -> list[str]:
    """The rows of the table whose response is not as the table says."""
    found = []
    for given, field, text in table:
        error = error_of(ask(given))
        if error != (400, "invalid", {field: [text]}):
            found.append(f"{str(given)[:80]}: {error}")
    return found


def test_chat_is_not_started_by_an_invalid_message(chat):
    table = [*MESSAGES, ({"text": "a", "on_busy": "queue"}, "on_busy", UNKNOWN)]
    assert unexpected(table, lambda body: post(chat, chat.sessions_url, body)) == []
    assert not ChatSession.objects.exists()


@pytest.mark.parametrize("door", ["chat", "conversation"])
def test_message_that_is_invalid_is_not_stored(chat, door):
    started = chat.start()
    path = {
        "chat": f"{chat.sessions_url}{started['session']}/messages/",
        "conversation": chat.url(started["conversation"], "messages/"),
    }[door]
    assert unexpected(FOLLOW_UPS, lambda body: post(chat, path, body)) == []
    assert chat.row(started["conversation"]).last_seq == 3


def test_title_that_is_invalid_changes_nothing(chat):
    started = chat.start("Title")["conversation"]
    assert unexpected(TITLES, lambda body: chat.api.patch(chat.url(started), body)) == []
    assert chat.row(started).title == "Title"


def test_if_match_that_is_no_time_is_refused(chat):
    started = chat.start()["conversation"]
    answer = chat.api.patch(chat.url(started), {"title": "x"}, **{"If-Match": "yesterday"})
    assert error_of(answer)[:2] == (400, "invalid")
    assert "updated_at" in answer.data["detail"]


def test_control_command_takes_no_body(chat):
    started = chat.start()["conversation"]
    table = [(order, "why", UNKNOWN) for order in ("stop", "pause", "resume", "continue")]
    body = {"why": "I say so"}
    assert (
        unexpected(table, lambda order: chat.api.post(chat.url(started, f"{order}/"), body)) == []
    )
    assert chat.row(started).last_seq == 3


def test_query_string_that_is_invalid_is_refused_with_the_reason(chat):
    started = chat.start()["conversation"]
    paths = {
        "list": chat.conversations_url,
        "chats": chat.sessions_url,
        "events": chat.url(started, "events/"),
        "export": chat.url(started, "export/"),
    }

    def ask(question: str) -> HttpResponse:
        name, _, query = question.partition("?")
        return chat.api.get(f"{paths[name]}?{query}")

    assert unexpected(QUERIES, ask) == []


def test_body_that_is_no_json_is_refused(chat):
    path = f"/api/v1{chat.sessions_url}"
    for body, kind, status, code in BODIES:
        answer = chat.api.client.generic("POST", path, body.encode("latin-1"), content_type=kind)
        assert error_of(answer)[:2] == (status, code), body
    assert not ChatSession.objects.exists()


def test_body_that_is_too_large_is_refused(chat):
    answer = post(chat, chat.sessions_url, {"text": "x" * 3_000_000})
    assert error_of(answer)[:2] == (413, "too_large")


def test_idempotency_key_that_is_invalid_is_refused(chat):
    for key in ("x" * 256, "tab\there"):
        answer = chat.api.post(chat.sessions_url, {"text": "a"}, **{"Idempotency-Key": key})
        assert error_of(answer)[:2] == (400, "invalid")
    assert not ChatSession.objects.exists()


def test_id_that_is_no_uuid_is_not_found(chat):
    for method, rest in (("GET", ""), ("GET", "events/"), ("GET", "export/"), ("POST", "stop/")):
        assert error_of(chat.api.ask(method, chat.url("7", rest)))[:2] == (404, "not_found")


def test_method_that_does_not_exist_is_refused(chat):
    started = chat.start()["conversation"]
    for method, rest in METHODS:
        answer = chat.api.ask(method, chat.url(started, rest), {} if method != "GET" else None)
        assert error_of(answer)[:2] == (405, "method_not_allowed"), (method, rest)
