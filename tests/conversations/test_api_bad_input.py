"""Wrong input to the conversations' API, and the clear answer each gets. Nothing of it is stored."""

import json
from typing import Any

import pytest

from paca.conversations.models import ChatSession
from paca.conversations.services import LONGEST_MESSAGE
from tests.conversations.chatting import Chat, refusal

pytestmark = pytest.mark.django_db

UNKNOWN = "There is no such field."
REQUIRED = "This field is required."
BAD_ID = "1 to 100 letters, digits and . _ : -"

MESSAGES: list[tuple[Any, str, str]] = [
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
        {"text": "x" * (LONGEST_MESSAGE + 1)},
        "text",
        "At most 100,000 characters; this has 100,001.",
    ),
    ({"text": "a", "client_id": ""}, "client_id", "This field may not be blank."),
    ({"text": "a", "client_id": "two words"}, "client_id", BAD_ID),
    ({"text": "a", "client_id": "x" * 101}, "client_id", BAD_ID),
    ({"text": "a", "client_id": "line\n"}, "client_id", BAD_ID),
    ({"text": "a", "client_id": {"a": 1}}, "client_id", BAD_ID),
    ({"text": "a", "flags": {"plan": True}}, "flags", UNKNOWN),
    ({"text": "a", "effort": "high"}, "effort", UNKNOWN),
    (["text"], "body", "Invalid data. Expected a dictionary, but got list."),
    ("text", "body", "Invalid data. Expected a dictionary, but got str."),
]
FOLLOW_UPS = [
    *MESSAGES,
    ({"text": "a", "on_busy": "later"}, "on_busy", '"later" is not a valid choice.'),
    ({"text": "a", "on_busy": None}, "on_busy", "This field may not be null."),
]


@pytest.fixture
def chat() -> Chat:
    return Chat()


def post(chat: Chat, path: str, body: Any) -> Any:
    """In plain ASCII, as half a character can only be sent."""
    kind = "application/json"
    return chat.api.client.generic("POST", f"/api/v1{path}", json.dumps(body), content_type=kind)


def complaint(answer: Any) -> tuple[str, str]:
    """The one field that an answer of 400 complains about, and how."""
    status, code, fields = refusal(answer)
    assert (status, code) == (400, "invalid"), answer.data
    ((field, (text,)),) = fields.items()
    return field, text


@pytest.mark.parametrize(("body", "field", "text"), MESSAGES)
def test_a_first_message_that_is_wrong_begins_nothing(chat, body, field, text):
    assert complaint(post(chat, chat.sessions, body)) == (field, text)
    assert not ChatSession.objects.exists()


def test_a_first_message_cannot_say_what_happens_while_a_turn_runs(chat):
    answer = chat.api.post(chat.sessions, {"text": "a", "on_busy": "queue"})
    assert complaint(answer) == ("on_busy", UNKNOWN)


@pytest.mark.parametrize(("body", "field", "text"), FOLLOW_UPS)
@pytest.mark.parametrize("door", ["chat", "conversation"])
def test_a_message_that_is_wrong_is_not_stored(chat, door, body, field, text):
    begun = chat.begin()
    path = {
        "chat": f"{chat.sessions}{begun['session']}/messages/",
        "conversation": chat.of(begun["conversation"], "messages/"),
    }[door]
    assert complaint(post(chat, path, body)) == (field, text)
    assert chat.row(begun["conversation"]).last_seq == 3


@pytest.mark.parametrize(
    ("body", "field", "text"),
    [
        ({"title": ""}, "title", "Write a title."),
        ({"title": " \n "}, "title", "Write a title."),
        ({"title": "x" * 201}, "title", "At most 200 characters."),
        ({"title": None}, "title", "This field may not be null."),
        ({"title": ["a"]}, "title", "Not a valid string."),
        ({"title": "a\0"}, "title", "Null characters are not allowed."),
        ({"status": "finished"}, "status", UNKNOWN),
        ([], "body", "Invalid data. Expected a dictionary, but got list."),
    ],
)
def test_a_title_that_is_wrong_changes_nothing(chat, body, field, text):
    begun = chat.begin("Title")["conversation"]
    assert complaint(chat.api.patch(chat.of(begun), body)) == (field, text)
    assert chat.row(begun).title == "Title"


def test_an_if_match_that_is_no_time_is_told(chat):
    begun = chat.begin()["conversation"]
    answer = chat.api.patch(chat.of(begun), {"title": "x"}, **{"If-Match": "yesterday"})
    assert refusal(answer)[:2] == (400, "invalid")
    assert "updated_at" in answer.data["detail"]


@pytest.mark.parametrize("order", ["stop", "pause", "resume", "continue"])
def test_an_order_takes_no_body(chat, order):
    begun = chat.begin()["conversation"]
    answer = chat.api.post(chat.of(begun, f"{order}/"), {"why": "I say so"})
    assert complaint(answer) == ("why", UNKNOWN)


CHOICES = '"lost" is not a valid choice.'
QUERIES = [
    ("", "status=lost", "status", CHOICES),
    ("", "agent=7", "agent", "Must be a valid UUID."),
    ("", "search=" + "x" * 201, "search", "Ensure this field has no more than 200 characters."),
    ("", "search=%00", "search", "Null characters are not allowed."),
    ("", "cursor=zzz", "cursor", "This cursor is not one of ours; begin again without it."),
    ("", "limit=0", "limit", "Ensure this value is greater than or equal to 1."),
    ("", "limit=201", "limit", "Ensure this value is less than or equal to 200."),
    ("", "limit=many", "limit", "A valid integer is required."),
    ("", "stauts=queued", "stauts", UNKNOWN),
    ("events/", "after=-1", "after", "Ensure this value is greater than or equal to 0."),
    ("events/", "after=x", "after", "A valid integer is required."),
    ("events/", f"after={2**63}", "after", f"Ensure this value is less than or equal to {2**63 - 1}."),
    ("events/", "before=0", "before", "Ensure this value is greater than or equal to 1."),
    ("events/", "before=1e3", "before", "A valid integer is required."),
    ("events/", "limit=201", "limit", "Ensure this value is less than or equal to 200."),
    ("events/", "after=1&before=3", "before", "Give after or before, not both."),
    ("events/", "from=1", "from", UNKNOWN),
    ("export/", "format=pdf", "format", '"pdf" is not a valid choice.'),
    ("export/", "as=json", "as", UNKNOWN),
]  # fmt: skip


@pytest.mark.parametrize(("rest", "query", "field", "text"), QUERIES)
def test_a_question_that_is_wrong_is_told_what_is_wrong(chat, rest, query, field, text):
    path = chat.of(chat.begin()["conversation"], rest) if rest else chat.conversations
    assert complaint(chat.api.get(f"{path}?{query}")) == (field, text)


@pytest.mark.parametrize("query", ["limit=0", "cursor=%20", "cursor=zzz", "owner=me"])
def test_a_question_about_chats_that_is_wrong_is_told_what_is_wrong(chat, query):
    field, _ = complaint(chat.api.get(f"{chat.sessions}?{query}"))
    assert query.startswith(field)


@pytest.mark.parametrize(
    ("body", "kind", "status", "code"),
    [
        ("{", "application/json", 400, "malformed"),
        ("\xff", "application/json", 400, "malformed"),
        ('{"text": NaN}', "application/json", 400, "malformed"),
        ("text=hello", "application/x-www-form-urlencoded", 415, "unsupported_media_type"),
        ("hello", "text/plain", 415, "unsupported_media_type"),
        (json.dumps({"text": "a"}), "application/xml", 415, "unsupported_media_type"),
    ],
)
def test_a_body_that_is_no_json_is_refused(chat, body, kind, status, code):
    path = f"/api/v1{chat.sessions}"
    answer = chat.api.client.generic("POST", path, body.encode("latin-1"), content_type=kind)
    assert refusal(answer)[:2] == (status, code)


@pytest.mark.parametrize("key", ["x" * 256, "tab\there"])
def test_a_key_that_is_no_key_is_refused(chat, key):
    answer = chat.api.post(chat.sessions, {"text": "a"}, **{"Idempotency-Key": key})
    assert refusal(answer)[:2] == (400, "invalid")
    assert not ChatSession.objects.exists()


@pytest.mark.parametrize("rest", ["", "events/", "export/", "stop/"])
def test_an_id_that_is_no_id_is_not_there(chat, rest):
    method = "POST" if rest == "stop/" else "GET"
    assert refusal(chat.api.ask(method, chat.of("7", rest)))[:2] == (404, "not_found")


@pytest.mark.parametrize(
    ("method", "rest"),
    [("PUT", ""), ("POST", ""), ("DELETE", "events/"), ("GET", "stop/"), ("GET", "messages/")],
)
def test_a_method_that_is_none_is_refused(chat, method, rest):
    begun = chat.begin()["conversation"]
    answer = chat.api.ask(method, chat.of(begun, rest), {} if method != "GET" else None)
    assert refusal(answer)[:2] == (405, "method_not_allowed")
