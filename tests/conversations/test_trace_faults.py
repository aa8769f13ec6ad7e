"""Traces beside faults: hostile answers, keys in other places, lost keys of encryption, and large exports."""

import base64
import gzip
import json
import logging
import zlib
from datetime import timedelta
from typing import Any
from urllib.parse import quote
from uuid import UUID, uuid4

import pytest
from cryptography.fernet import Fernet
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from paca.accounts.models import AuditEntry
from paca.agents import encryption
from paca.agents.services import rotation
from paca.conversations import event_log, known_secrets, retention
from paca.conversations.models import ToolCall, Trace, TracedCall
from paca.conversations.retention import KeepTimes
from paca.conversations.telemetry import turn_ends
from paca.conversations.traces import contents, export, store
from paca.engine.llm.base import Reply, StopReason, Text, Usage
from paca.engine.llm.call_recording import MAX_REFUSAL_BYTES, CallRecording, Exchange
from paca.engine.llm.retrying import Attempt
from tests.conversations.chat import Chat, bash_call, download
from tests.conversations.traced_calls import NOTHING_KNOWN, body_of, ended_call, keep

pytestmark = pytest.mark.django_db
KEY = "sk-secret-key-0123456789"


@pytest.fixture
def chat() -> Chat:
    return Chat()


@pytest.fixture
def conversation(chat: Chat) -> str:
    started = chat.start("Hello")["conversation"]
    chat.run_turn(started, *bash_call("ls", "notes.txt"))
    return str(started)


# --- the body of a refusal ------------------------------------------------------------------------------


def kept_refusal(body: bytes, encoding: str = "") -> str:
    """What the trace holds of a refusal with this body."""
    recording = CallRecording(secrets={KEY})
    headers = [(b"Content-Encoding", encoding.encode())] if encoding else []
    now = recording.started
    recording.add(Exchange("POST", "https://x/v1", [], b"{}", now, 401, headers, body, now, now))
    (exchange,) = contents.make(recording, Attempt(1), ()).facts["exchanges"]
    return str(exchange["refusal"])


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


REFUSAL = f"The key {KEY} is wrong.".encode()


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("", REFUSAL),
        ("identity", REFUSAL),
        ("gzip", gzip.compress(REFUSAL, mtime=0)),
        ("x-gzip", gzip.compress(REFUSAL, mtime=0)),
        ("deflate", zlib.compress(REFUSAL)),
        ("deflate", raw_deflate(REFUSAL)),
    ],
)
def test_refusal_is_kept_readable_and_without_the_key(encoding: str, body: bytes) -> None:
    assert kept_refusal(body, encoding) == "The key *** is wrong."


@pytest.mark.parametrize("encoding", ["br", "zstd", "gzip, br", "gzip,deflate", "gzip"])
def test_refusal_that_cannot_be_read_is_not_kept(encoding: str) -> None:
    body = raw_deflate(REFUSAL) if encoding != "gzip" else REFUSAL
    assert kept_refusal(body, encoding) == f"[{len(body)} bytes that cannot be read]"


def test_few_bytes_that_stand_for_many_take_no_memory() -> None:
    assert len(kept_refusal(gzip.compress(bytes(20 << 20)), "gzip")) <= MAX_REFUSAL_BYTES


@pytest.mark.parametrize("encoding", ["", "gzip"])
def test_cut_refusal_ends_with_no_beginning_of_a_key(encoding: str) -> None:
    whole = b"x" * (MAX_REFUSAL_BYTES - 20) + KEY.encode() + b"y" * 100
    body = gzip.compress(whole) if encoding else whole[:MAX_REFUSAL_BYTES]
    found = kept_refusal(body, encoding)
    assert KEY[:8] not in found
    assert len(found) > MAX_REFUSAL_BYTES // 2


# --- secrets in other places ----------------------------------------------------------------------------


def test_secrets_of_the_installation_are_known_without_what_stands_around_them(
    settings: Any,
) -> None:
    settings.REDIS_URL = "redis://me:pass%40word-1@host:6379/0"
    settings.OTEL_EXPORTER_OTLP_ENDPOINT = "https://me:collector-password@collector:4318"
    basic = base64.b64encode(b"me:basic-password").decode()
    settings.OTEL_EXPORTER_OTLP_HEADERS = {
        "authorization": "Bearer token-of-the-collector",
        "x-other": f"Basic {basic}",
        "api-key": "plain-api-key",
        "x-broken": "Basic not=base64",
    }
    found = known_secrets.of_installation()
    assert {"pass@word-1", "pass%40word-1", "collector-password"} <= found
    assert {"token-of-the-collector", basic, "basic-password", "plain-api-key"} <= found


# --- downloads ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["json", "otlp"])
def test_export_is_written_before_the_transaction_of_its_entry(
    chat: Chat, conversation: str, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(conversation, body_of(1))
    depths = []

    def write_file(pieces: Any, *rest: Any) -> Any:
        def noted() -> Any:
            for piece in pieces:
                depths.append((len(connection.savepoint_ids), AuditEntry.objects.filter(action="traces.exported").count()))  # fmt: skip
                yield piece

        return written(noted(), *rest)

    written = export.write_file
    monkeypatch.setattr(export, "write_file", write_file)
    outside = len(connection.savepoint_ids)
    row, member = chat.row(conversation), chat.world.owner
    made = export.to_json(row, {}, by=member) if form == "json" else export.to_otlp(row, by=member)
    assert set(depths) == {(outside, 0)}
    assert AuditEntry.objects.filter(action="traces.exported").count() == 1
    made.file.close()


def test_export_is_not_given_away_if_its_entry_cannot_be_written(
    chat: Chat, conversation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise RuntimeError("no entry")

    monkeypatch.setattr(export.audit, "record", refuse)
    with pytest.raises(RuntimeError):
        export.to_json(chat.row(conversation), {}, by=chat.world.owner)


def test_exported_requests_have_a_limit_and_the_newest_are_kept(
    chat: Chat, conversation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    known, sent = NOTHING_KNOWN, [body_of(step) for step in range(4)]
    for body in sent:
        _, known = keep(conversation, body, known)
    monkeypatch.setattr(export, "MAX_BODIES_BYTES", len(sent[3]) + len(sent[2]) + 10)
    found = json.loads(download(chat.api.get(chat.url(conversation, "trace/export/"))))
    shown = [call["exchanges"][0] for call in found["calls"]]
    assert [each["body"].encode() for each in shown] == [b"", b"", sent[2], sent[3]]
    assert [each["omitted_bytes"] for each in shown] == [len(sent[0]), len(sent[1]), 0, 0]


def test_reply_with_half_a_character_is_shown(chat: Chat, conversation: str) -> None:
    call = ended_call(b"{}")
    call.attempt.reply = Reply((Text("half \ud83d of one"),), StopReason.END, Usage(1, 1))
    store.store(
        UUID(conversation), call, contents.make(call.recording, call.attempt, ()), NOTHING_KNOWN
    )
    answer = chat.api.get(chat.url(conversation, f"trace/calls/{call.usage.call_id}/"))
    assert answer.json()["reply"]["blocks"][0]["text"] == "half ? of one"


def test_spans_of_a_conversation_read_its_log_once_and_need_no_call_of_a_model(
    chat: Chat, conversation: str
) -> None:
    counts = []
    for text in ("More", "And more"):
        chat.api.post(chat.url(conversation, "messages/"), {"text": text})
        chat.run_turn(conversation)
        with CaptureQueriesContext(connection) as queries:
            made = export.to_otlp(chat.row(conversation), by=chat.world.owner)
        assert b"invoke_agent" in made.file.read()
        made.file.close()
        counts.append(len([each for each in queries if "conversations_event" in each["sql"]]))
    assert counts == [1, 1]


def test_messages_of_one_turn_are_read_without_those_of_others(
    chat: Chat, conversation: str
) -> None:
    chat.api.post(chat.url(conversation, "messages/"), {"text": "Second"})
    everything = event_log.texts_of_people(UUID(conversation))
    assert list(everything.values()) == ["Hello", "Second"]
    last = max(everything)
    assert event_log.texts_of_people(UUID(conversation), {last}) == {last: "Second"}
    assert event_log.texts_of_people(UUID(conversation), set()) == {}


# --- the timeline ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [1, 2, 5, 100])
def test_calls_of_one_moment_are_all_in_the_timeline(
    chat: Chat, conversation: str, limit: int
) -> None:
    ToolCall.objects.all().delete()
    chat.row(conversation).model_calls.all().delete()
    now = timezone.now()
    made = [
        ToolCall.objects.create(
            id=uuid4(), conversation=chat.row(conversation), turn=1, tool="read", epoch=1,
            called_at=now + timedelta(seconds=moment),
        )
        for moment in (0, 1, 1, 1, 1, 2)
    ]  # fmt: skip
    found, before = [], ""
    while True:
        answer = chat.api.get(chat.url(conversation, f"trace/?limit={limit}{before}")).json()
        found = [*answer["results"], *found]
        if answer["before"] is None:
            break
        before = f"&before={quote(answer['before'])}"
    ids = [call["call_id"] for call in found]
    assert sorted(ids) == sorted(each.pk.hex for each in made)
    assert (ids[0], ids[-1]) == (made[0].pk.hex, made[-1].pk.hex)


# --- what cannot be read any more -------------------------------------------------------------------------


def test_traces_whose_key_is_lost_are_removed_in_time_and_hold_no_rotation_up(
    conversation: str, settings: Any
) -> None:
    known = NOTHING_KNOWN
    for step in range(4):
        _, known = keep(conversation, body_of(step), known, days_ago=40 if step < 2 else 0)
    settings.ENCRYPTION_KEY = [Fernet.generate_key().decode()]
    with pytest.raises(encryption.SecretUnreadable):
        rotation.check_readable()
    assert retention.remove_old_data(KeepTimes(traces=30))["traces"] == 1
    assert not TracedCall.objects.exists()  # the newer ones needed the older ones
    assert not Trace.objects.exists()
    rotation.check_readable()
    keep(conversation, body_of(5))
    assert [body for _, each in store.read_all(conversation) for body in each.bodies] == [
        body_of(5)
    ]


def test_changed_row_does_not_end_a_trace(conversation: str) -> None:
    _, known = keep(conversation, body_of(1))
    _, known = keep(conversation, body_of(2), known)
    TracedCall.objects.filter(number=2).update(contents=b"changed by another hand")
    keep(conversation, body_of(3))  # by another worker, which has to read what is stored
    third = TracedCall.objects.get(number=3)
    assert third.first_number == 3
    assert store.read(third).bodies == [body_of(3)]


def test_deletion_locks_the_trace_first(chat: Chat, conversation: str) -> None:
    keep(conversation, body_of(1))
    row = chat.row(conversation)
    with CaptureQueriesContext(connection) as queries, transaction.atomic():
        store.delete_all(row)
    selected, *_ = [each["sql"] for each in queries if "SAVEPOINT" not in each["sql"]]
    assert ("FOR UPDATE" in selected) is connection.features.has_select_for_update
    assert not TracedCall.objects.exists()


# --- the end of a turn ------------------------------------------------------------------------------------


def test_fault_of_a_listener_keeps_nothing_back_that_follows_the_end_of_a_turn(
    django_capture_on_commit_callbacks: Any, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: Any) -> None:
        raise RuntimeError("the loop is closed")

    told = []
    turn_ends.listen(fail)
    try:
        with (
            caplog.at_level(logging.CRITICAL, logger="django.test"),
            django_capture_on_commit_callbacks(execute=True),
        ):
            turn_ends.announce(uuid4(), 1)
            transaction.on_commit(lambda: told.append(1))
    finally:
        turn_ends.unlisten(fail)
    assert told == [1]
