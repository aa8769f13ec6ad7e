"""The commands of a socket and their answers."""

import json
import threading
import time
from uuid import uuid4

import pytest

from paca import events
from paca.conversations import store
from paca.conversations.models import ChatSession, Conversation, Event, Trigger
from paca.realtime import protocol
from tests.realtime.pages import (
    Page,
    bearer_headers,
    conversation_page,
    create_token,
    session_headers,
)
from tests.support.fake_clock import FakeClock

pytestmark = pytest.mark.django_db(transaction=True)


def messages(conversation_id) -> list[dict]:
    rows = Event.objects.filter(conversation_id=conversation_id, type="agent.message.received")
    return [json.loads(row.payload) for row in rows.order_by("seq")]


def start_running(chat, *appended: events.Event) -> None:
    store.append(chat.id, events.ConversationStarted(model="demo/guide"), *appended)


@pytest.fixture
def page(server, chat):
    with conversation_page(server, chat.id, session_headers(server, chat.owner)) as opened:
        opened.until("ready")
        yield opened


def test_socket_says_whose_it_is(server, chat):
    with conversation_page(server, chat.id, session_headers(server, chat.owner)) as opened:
        assert opened.until("ready")["member"] == str(chat.world.owner.pk)


def test_message_command_is_acknowledged_stored_and_shown(page, chat):
    answer = page.ask("message", client_id="m-1", text="How deep is the harbour?")
    assert answer["type"] == "ack"
    assert answer["client_id"] == "m-1"
    assert answer["conversation"] == str(chat.id)
    assert answer["duplicate"] is False
    frames = {frame["seq"]: frame for frame in page.frames if frame.get("source")}
    if answer["event_seq"] not in frames:
        frames[answer["event_seq"]] = page.until("agent.message.received")
    assert frames[answer["event_seq"]]["data"]["text"] == "How deep is the harbour?"
    assert frames[answer["event_seq"]]["data"]["client_id"] == "m-1"
    assert messages(chat.id)[-1]["author_id"] == str(chat.world.owner.pk)


def test_message_sent_twice_within_ten_milliseconds_is_stored_once(server, chat):
    """T-23: a double click, a second tab, or a message that is sent again after a lost answer."""
    headers = session_headers(server, chat.owner)
    with (
        conversation_page(server, chat.id, headers) as one,
        conversation_page(server, chat.id, headers) as two,
    ):
        one.until("ready")
        two.until("ready")
        for n in range(5):
            one.send("message", client_id=f"twice-{n}", text="Only once, please")
            time.sleep(0.010)
            two.send("message", client_id=f"twice-{n}", text="Only once, please")
            first = one.until("ack")
            second = two.until("ack")
            assert first["event_seq"] == second["event_seq"]
            assert sorted([first["duplicate"], second["duplicate"]]) == [False, True]
    said = [message for message in messages(chat.id) if message["client_id"].startswith("twice")]
    assert len(said) == 5
    assert Trigger.objects.filter(conversation=chat.conversation).count() == 6


def test_messages_of_one_socket_keep_their_order(page, chat):
    for n in range(15):
        page.send("message", client_id=f"n-{n}", text=f"line {n}")
    for n in range(15):
        assert page.until("ack")["client_id"] == f"n-{n}"
    assert [m["text"] for m in messages(chat.id)][1:] == [f"line {n}" for n in range(15)]


def test_each_command_calls_its_service(page, chat):
    start_running(chat)
    assert page.ask("pause", client_id="1")["type"] == "ack"
    assert page.ask("interrupt", client_id="2", text="No, the other one")["type"] == "ack"
    assert page.ask("stop", client_id="3")["type"] == "ack"
    asked = Trigger.objects.filter(conversation=chat.conversation).exclude(control="")
    assert sorted(asked.values_list("control", flat=True)) == ["interrupt", "pause", "stop"]
    store.append(chat.id, events.ConversationPaused(reason="by_person"))
    assert page.ask("resume", client_id="4")["type"] == "ack"
    assert Conversation.objects.get(pk=chat.id).status == "queued"
    assert page.ask("stop", client_id="5")["type"] == "ack"
    assert page.ask("continue", client_id="6")["type"] == "ack"
    assert Conversation.objects.get(pk=chat.id).status == "queued"
    assert page.ask("ping", client_id="7") == {"type": "pong", "client_id": "7"}


def test_background_command_is_stopped_by_its_call(page, chat):
    call = uuid4().hex
    started = events.BackgroundStarted(
        call_id=call, handle="bg1", command="make", timeout_seconds=60
    )
    store.append(chat.id, started)
    answer = page.ask("stop_background", client_id="1", call_id=call)
    assert (answer["type"], answer["call_id"], answer["state"]) == ("ack", call, "stopping")
    assert page.ask("stop_background", client_id="2", call_id="none")["code"] == "not_found"
    assert page.ask("stop_background", client_id="3")["code"] == "invalid"


def test_continue_command_sent_again_gives_no_second_portion(page, chat):
    """A page sends it again if the answer was lost; the conversation may have paused again by then."""
    paused = events.ConversationPaused(reason="cost_budget", limit=2)
    start_running(chat)
    store.append(chat.id, paused)
    assert page.ask("continue", client_id="c-1")["type"] == "ack"
    start_running(chat)
    store.append(chat.id, paused)
    assert page.ask("continue", client_id="c-1")["type"] == "ack"
    assert Conversation.objects.get(pk=chat.id).status == "paused"
    assert page.ask("continue", client_id="c-2")["type"] == "ack"
    assert Conversation.objects.get(pk=chat.id).status == "queued"


def test_clear_command_sent_repeatedly_opens_one_new_conversation(page, chat):
    first = page.ask("clear", client_id="1")
    again = page.ask("clear", client_id="1")
    assert first["conversation"] != str(chat.id)
    assert again["conversation"] == first["conversation"]
    assert (
        ChatSession.objects.get().conversation_id
        == Conversation.objects.get(pk=first["conversation"]).pk
    )
    assert Conversation.objects.count() == 2


def test_command_that_a_service_refuses_is_answered_with_its_error_code(page, chat):
    start_running(chat)
    busy = page.ask("message", client_id="1", text="Now!", on_busy="reject")
    assert (busy["type"], busy["client_id"], busy["code"]) == ("error", "1", "conversation_busy")
    idle = page.ask("resume", client_id="2")
    assert (idle["type"], idle["code"]) == ("error", "conflict")
    empty = page.ask("message", client_id="3", text="   ")
    assert (empty["type"], empty["code"]) == ("error", "invalid")
    assert page.ask("ping")["type"] == "pong"


MALFORMED = [
    ("not JSON", "{'type': 'stop'}", "bad_json"),
    ("an empty frame", "", "bad_json"),
    ("cut off", '{"type": "message", "client_id": "a", "te', "bad_json"),
    ("not a number", '{"type": "stop", "client_id": NaN}', "bad_json"),
    (
        "a lone surrogate",
        '{"type": "message", "client_id": "a", "text": "\\ud800"}',
        "bad_json",
    ),
    ("nested too deep", "[" * 100_000 + "]" * 100_000, "bad_json"),
    (
        "nested deep inside",
        '{"type": "stop", "client_id": "a", "x": ' + "[" * 150 + "]" * 150 + "}",
        "invalid",
    ),
    ("a list", "[1, 2]", "invalid"),
    ("a word", '"stop"', "invalid"),
    ("binary", b"\x00\x01\x02", "binary_frame"),
    ("binary JSON", b'{"type": "stop", "client_id": "a"}', "binary_frame"),
    (
        "300 KB",
        json.dumps({"type": "message", "client_id": "a", "text": "x" * 300_000}),
        "too_large",
    ),
    ("256 KiB and one byte, in two-byte letters", '"' + "é" * 131_072 + '"', "too_large"),
    ("no type", '{"client_id": "a"}', "unknown_command"),
    ("an unknown type", '{"type": "fly", "client_id": "a"}', "unknown_command"),
    ("a type of a later version", '{"type": "later", "client_id": "a"}', "unknown_command"),
    ("a type that is no word", '{"type": ["stop"], "client_id": "a"}', "unknown_command"),
    ("a server's frame", '{"type": "ready", "client_id": "a"}', "unknown_command"),
    ("no client_id", '{"type": "stop"}', "invalid"),
    ("client_id is a number", '{"type": "stop", "client_id": 7}', "invalid"),
    ("client_id is empty", '{"type": "stop", "client_id": ""}', "invalid"),
    ("client_id is too long", '{"type": "stop", "client_id": "%s"}' % ("a" * 101), "invalid"),
    ("client_id holds a NUL", '{"type": "stop", "client_id": "a\\u0000"}', "invalid"),
    ("no text", '{"type": "message", "client_id": "a"}', "invalid"),
    ("text is null", '{"type": "message", "client_id": "a", "text": null}', "invalid"),
    ("text is a list", '{"type": "message", "client_id": "a", "text": ["hi"]}', "invalid"),
    ("text is blank", '{"type": "message", "client_id": "a", "text": " \\n "}', "invalid"),
    (
        "an unknown on_busy",
        '{"type": "message", "client_id": "a", "text": "x", "on_busy": "now"}',
        "invalid",
    ),
    (
        "an unknown effort",
        '{"type": "message", "client_id": "a", "text": "x", "effort": "heroic"}',
        "invalid",
    ),
    ("a field that has no effect", '{"type": "stop", "client_id": "a", "force": true}', "invalid"),
    (
        "approve without a call",
        '{"type": "approve", "client_id": "a", "decision": "approve"}',
        "invalid",
    ),
    (
        "an unknown decision",
        '{"type": "approve", "client_id": "a", "call_id": "c", "decision": "banana"}',
        "invalid",
    ),
    (
        "arguments that are no object",
        '{"type": "approve", "client_id": "a", "call_id": "c", "decision": "approve", "arguments": []}',
        "invalid",
    ),
    (
        "a call that does not wait",
        '{"type": "approve", "client_id": "a", "call_id": "c", "decision": "approve"}',
        "not_found",
    ),
    (
        "a flag that is no truth value",
        '{"type": "flags", "client_id": "a", "tracing": "yes"}',
        "invalid",
    ),
    (
        "an unknown flag",
        '{"type": "flags", "client_id": "a", "nonsense": true}',
        "invalid",
    ),
    ("interrupt without text", '{"type": "interrupt", "client_id": "a"}', "invalid"),
]


def test_malformed_frame_gets_its_error_code_and_the_socket_stays_open(page):
    before = Trigger.objects.count()
    for name, frame, code in MALFORMED:
        page.socket.send(frame)
        answer = page.until("error")
        assert answer["code"] == code, (name, answer)
        assert answer["detail"].endswith("."), name
        assert len(answer["detail"]) < 300, name
        time.sleep(0.06)  # no more than 20 frames a second
    assert page.ask("ping", client_id="still-there")["type"] == "pong"
    assert Trigger.objects.count() == before


def test_call_is_approved_over_the_socket_and_the_second_decision_is_refused(page, chat):
    call_id = uuid4().hex
    start_running(chat)
    store.append(
        chat.id,
        events.ApprovalRequested(
            call_id=call_id,
            tool="bash",
            arguments={"command": "rm a"},
            rule="delete_files",
            deadline="2999-01-01T00:00:00+00:00",
        ),
        events.ConversationWaiting(reason="approval"),
    )
    answer = page.ask("approve", client_id="1", call_id=call_id, decision="deny", reason="no")
    assert (answer["type"], answer["state"]) == ("ack", "denied")
    second = page.ask("approve", client_id="2", call_id=call_id, decision="approve")
    assert second["code"] == "approval_decided"
    assert "denied this already" in second["detail"]


def test_error_frame_repeats_the_client_id(page):
    page.socket.send('{"type": "fly", "client_id": "f-1"}')
    assert page.until("error")["client_id"] == "f-1"
    page.socket.send('{"type": "message", "client_id": "f-2"}')
    answer = page.until("error")
    assert answer["client_id"] == "f-2"
    assert "text" in answer["detail"]


def test_queued_message_is_changed_and_taken_back_over_the_socket(page, chat):
    start_running(chat)
    seq = page.ask("message", client_id="1", text="Then this")["event_seq"]
    edited = page.ask("edit", client_id="2", event_seq=seq, text="Then that")
    assert (edited["type"], edited["event_seq"]) == ("ack", seq)
    assert page.ask("withdraw", client_id="3", event_seq=seq)["type"] == "ack"
    assert Trigger.objects.get(event_seq=seq).state == "withdrawn"
    late = page.ask("edit", client_id="4", event_seq=seq, text="Once more")
    assert (late["client_id"], late["code"]) == ("4", "message_taken")


LONGEST = 100_000
LONG_TEXTS = {
    "three bytes each": "漢" * LONGEST,
    "four bytes each": "🦙" * LONGEST,
    "six bytes each, as JSON escapes": "\x01" * (LONGEST - 1) + "x",
}


@pytest.mark.parametrize("text", LONG_TEXTS.values(), ids=LONG_TEXTS)
def test_message_within_the_limit_of_characters_fits_into_a_frame(page, chat, text):
    frame = {"type": "message", "client_id": "long", "text": text}
    page.socket.send(json.dumps(frame, ensure_ascii=False))
    assert page.until("ack")["client_id"] == "long"


REFUSED_WITH_NAME = {
    "too many characters": json.dumps({"type": "message", "text": "x" * 100_001, "client_id": "m"}),
    "too large": json.dumps({"type": "message", "client_id": "m", "text": "x" * 300_000}),
    "too large, of no message": json.dumps({"type": "stop", "client_id": "m", "x": "x" * 300_000}),
    "not JSON": '{"type": "message", "client_id": "m", "text": "\\ud800"}',
}


@pytest.mark.parametrize("frame", REFUSED_WITH_NAME.values(), ids=REFUSED_WITH_NAME)
def test_refusal_names_the_frame_that_it_refuses(page, frame):
    page.socket.send(frame)
    assert page.until("error")["client_id"] == "m"


def test_refusal_of_a_frame_too_many_names_it(page):
    for n in range(60):
        page.send("fly", client_id=str(n))
    refused = [page.until("error") for _ in range(60)]
    assert [each["client_id"] for each in refused] == [str(n) for n in range(60)]
    assert "rate_limited" in {each["code"] for each in refused}


def test_frame_above_one_mebibyte_closes_the_socket_before_it_is_read(page):
    page.socket.send("x" * (1024 * 1024 + 1))
    assert page.close_code() == 1009


def test_frames_above_twenty_a_second_are_refused_one_by_one(page):
    with FakeClock(time.monotonic() + 10) as clock:  # the page has sent nothing for a while
        for n in range(200):
            page.send("fly", client_id=str(n))
        codes = [page.until("error")["code"] for _ in range(200)]
        assert codes == ["unknown_command"] * 20 + ["rate_limited"] * 180
        clock.advance(0.06)  # one more frame
        assert page.ask("ping")["type"] == "pong"
        assert page.ask("ping")["code"] == "rate_limited"


def test_slow_command_delays_neither_its_own_page_nor_others(server, page, chat, monkeypatch):
    from paca.conversations import services

    release, called = threading.Event(), threading.Event()

    def slow_stop(conversation, *, by):
        called.set()
        release.wait(120)

    monkeypatch.setattr(services, "stop", slow_stop)
    page.send("stop", client_id="1")
    assert called.wait(60)
    last = chat.append_messages(5)
    page.until(lambda frame: frame.get("seq") == last, 5)
    with conversation_page(server, chat.id, session_headers(server, chat.owner)) as other:
        assert other.ask("message", client_id="2", text="Still there?")["type"] == "ack"
    release.set()
    assert page.until("ack")["client_id"] == "1"


def test_command_that_raises_is_answered_with_an_error_and_the_socket_stays_open(
    page, monkeypatch, caplog
):
    from paca.conversations import services

    def broken(conversation, *, by):
        raise RuntimeError("a bug in the server with a secret in it")

    monkeypatch.setattr(services, "stop", broken)
    answer = page.ask("stop", client_id="1")
    assert (answer["type"], answer["code"], answer["client_id"]) == ("error", "internal", "1")
    assert "secret" not in answer["detail"]
    assert page.ask("ping")["type"] == "pong"
    assert "a command failed" in caplog.text


def test_every_command_of_the_contract_has_a_permission_and_a_handler():
    from paca.realtime.consumers import _HANDLERS

    assert set(_HANDLERS) == set(protocol.COMMANDS)


def test_project_socket_accepts_only_ping(server, chat):
    url = f"{server.ws_url}/ws/projects/{chat.world.project.pk}/"
    with Page(url, bearer_headers(create_token(chat.owner))) as page:
        assert page.next() == {"type": "ready", "project": str(chat.world.project.pk)}
        assert page.ask("ping") == {"type": "pong", "client_id": ""}
        answer = page.ask("stop", client_id="1")
        assert (answer["code"], answer["client_id"]) == ("unknown_command", "1")


def test_trace_is_switched_on_over_the_socket(page, chat):
    answer = page.ask("flags", client_id="1", tracing=True)
    assert (answer["type"], answer["tracing"]) == ("ack", True)
    assert page.ask("flags", client_id="2")["tracing"] is True
