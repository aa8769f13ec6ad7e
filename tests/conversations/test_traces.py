"""Traces in the database: exact, small, bounded, encrypted, for those with the permission, and gone in time."""

import base64
import json
from datetime import timedelta
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import pytest
from cryptography.fernet import Fernet
from django.apps import apps
from django.db import connection
from django.db.models import Sum
from django.db.models.functions import Length
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from paca.accounts.models import AuditEntry
from paca.agents import encryption
from paca.agents.models import ModelKey
from paca.agents.services import rotation
from paca.common.secret_removal import text_without_secrets
from paca.conversations import deletion, known_secrets, retention
from paca.conversations.models import Conversation, ModelCall, ToolCall, Trace, TracedCall
from paca.conversations.retention import KeepTimes
from paca.conversations.traces import contents, store
from paca.projects.models import Member, Role
from tests.conversations.chat import Chat, bash_call, download
from tests.conversations.test_usage_after_update import EDITOR, migration
from tests.conversations.traced_calls import NOTHING_KNOWN, body_of, ended_call, keep

pytestmark = pytest.mark.django_db


@pytest.fixture
def chat() -> Chat:
    return Chat()


@pytest.fixture
def conversation(chat: Chat) -> str:
    started = chat.start("Hello")["conversation"]
    chat.run_turn(started, *bash_call("ls", "notes.txt"))
    return str(started)


def read_bodies(conversation: str) -> list[bytes]:
    return [body for _, each in store.read_all(conversation) for body in each.bodies]


def stored_bytes(conversation: str) -> int:
    rows = TracedCall.objects.filter(trace=conversation)
    return int(rows.aggregate(n=Sum(Length("contents")))["n"])


# --- exact and small ----------------------------------------------------------------------------------


def test_each_request_is_rebuilt_exactly_whatever_the_writer_remembers(conversation: str) -> None:
    sent = [body_of(n, words=3) for n in (1, 2, 3, 1, 4)]
    sent[2] = sent[2].replace(b"word0", b"other")  # the history was rewritten from its beginning
    known = NOTHING_KNOWN
    ids = []
    for number, body in enumerate(sent):
        call_id, known = keep(conversation, body, NOTHING_KNOWN if number % 2 else known)
        ids.append(call_id)
    assert read_bodies(conversation) == sent
    single = [store.read(TracedCall.objects.get(call_id=each)).bodies for each in ids]
    assert single == [[body] for body in sent]


def test_fifty_steps_take_little_more_than_what_is_new_in_each(conversation: str) -> None:
    known, sizes = NOTHING_KNOWN, []
    for step in range(50):
        _, known = keep(conversation, body_of(step), known)
        if step in (24, 49):
            sizes.append(stored_bytes(conversation))
    assert read_bodies(conversation)[-1] == body_of(49)
    # Whole requests would take four times as much for twice the steps.
    assert sizes[1] < 2.3 * sizes[0]
    assert sizes[1] < sum(len(body_of(step)) for step in range(50)) / 50
    assert Trace.objects.get(pk=conversation).stored_bytes == sizes[1]


def test_long_chain_begins_again(conversation: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "MAX_CHAIN", 3)
    known, sent = NOTHING_KNOWN, [body_of(n, words=2) for n in range(8)]
    for body in sent:
        _, known = keep(conversation, body, known)
    firsts = TracedCall.objects.order_by("number").values_list("first_number", flat=True)
    assert list(firsts) == [1, 1, 1, 4, 4, 4, 7, 7]
    assert read_bodies(conversation) == sent


def test_too_large_body_is_cut_in_the_middle_and_says_so(
    conversation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contents, "MAX_BODY_BYTES", 1000)
    monkeypatch.setattr(contents, "KEPT_END_BYTES", 100)
    keep(conversation, b"a" * 950 + b"b" * 1000 + b"end")
    row = TracedCall.objects.get()
    (kept,) = store.read(row).bodies
    assert row.omitted_bytes == 953
    assert kept == b"a" * 900 + b"\n[953 bytes are not kept]\n" + b"b" * 97 + b"end"


def test_full_trace_drops_its_oldest_calls_and_the_rest_stays_readable(
    conversation: str, settings: Any, chat: Chat
) -> None:
    settings.CONVERSATION_TRACE_MIB = 1
    known, sent = NOTHING_KNOWN, []
    for number in range(12):
        noise = base64.b64encode(uuid4().bytes * 1).decode()
        filler = "".join(uuid4().hex for _ in range(6000))  # cannot be compressed below half
        sent.append(json.dumps({"n": number, "noise": noise, "filler": filler}).encode())
        _, known = keep(conversation, sent[-1], known)
        assert stored_bytes(conversation) <= 1 << 20
    kept = read_bodies(conversation)
    assert 2 < len(kept) < 12
    assert kept == sent[-len(kept) :]
    answer = chat.api.get(chat.url(conversation, "trace/")).json()
    assert answer["dropped_calls"] == 12 - len(kept)
    assert answer["stored_bytes"] == stored_bytes(conversation)


# --- secrets and encryption -----------------------------------------------------------------------------

SECRET = 'sk-"quoted"/+é-0123456789'


@pytest.mark.parametrize(
    "form",
    [
        SECRET,
        json.dumps(SECRET),
        json.dumps(SECRET, ensure_ascii=False),
        json.dumps({"arguments": json.dumps({"content": json.dumps({"key": SECRET})})}),
        json.dumps(SECRET).replace("/", "\\/"),
        quote(SECRET, safe=""),
        quote(SECRET, safe="").replace("%2F", "%2f").replace("%2B", "%2b").replace("%C3%A9", "%c3%a9"),
        SECRET.encode().hex(),
        SECRET.encode().hex().upper(),
        *(base64.b64encode((before + SECRET + after).encode()).decode() for before in ("", "u", "us:") for after in ("", "!")),
        base64.urlsafe_b64encode(f"user:{SECRET}".encode()).decode(),
    ],
)  # fmt: skip
def test_secret_is_removed_in_each_form(form: str) -> None:
    cleaned = text_without_secrets(f"before {form} after", [SECRET])
    assert "***" in cleaned
    assert cleaned.startswith("before ")
    assert cleaned.endswith(" after")
    for decoded in (SECRET, json.dumps(SECRET)[1:-1], SECRET.encode().hex()):
        assert decoded not in cleaned
    longest_rest = max(len(word) for word in cleaned.split("***"))
    assert longest_rest < len(form) - 12


def test_lines_of_a_private_key_are_removed_one_by_one() -> None:
    line = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQ"
    key = f"-----BEGIN PRIVATE KEY-----\n{line}\n-----END PRIVATE KEY-----\n"
    assert text_without_secrets(f"> {line}", [key]) == "> ***"
    assert text_without_secrets("a short word", ["short"]) == "a short word"


def test_secrets_of_the_call_and_its_credentials_are_not_stored(conversation: str) -> None:
    call = ended_call(b'{"text": "the key is sk-other-secret"}', secrets={"sk-other-secret"})
    call.recording.exchanges[0].url = "https://me:pw@models.example/v1?key=abc&version=2"
    call.attempt.error = None
    made = contents.make(call.recording, call.attempt, ["Hello."])
    (exchange,) = made.facts["exchanges"]
    assert made.bodies == [b'{"text": "the key is ***"}']
    assert exchange["url"] == "https://models.example/v1?key=***&version=2"
    assert exchange["headers"] == [["authorization", "***"], ["content-type", "application/json"]]
    assert exchange["reply_headers"] == [["x-request-id", "req_1"], ["set-cookie", "***"]]
    assert made.request_id == "req_1"


def test_keys_of_agent_project_people_and_server_are_known_and_those_of_others_are_not() -> None:
    chat, other = Chat(llm_api_key="sk-of-the-agent"), Chat("Lighthouse")
    project, user = chat.world.project, chat.world.user
    for key, owner in (
        ("sk-of-the-project", {"project": project}),
        ("sk-of-the-person", {"user": user}),
        ("sk-of-the-server", {}),
        ("sk-of-another-project", {"project": other.world.project}),
        ("sk-of-a-stranger", {"user": other.world.user}),
    ):
        ModelKey.objects.create(provider="openai", encrypted_key=encryption.encrypt(key), **owner)
    found = {each for each in known_secrets.of_agent(chat.world.agent.pk) if each.startswith("sk-")}
    assert found == {
        "sk-of-the-agent",
        "sk-of-the-project",
        "sk-of-the-person",
        "sk-of-the-server",
    }


def test_contents_are_encrypted_and_bound_to_their_place(conversation: str) -> None:
    keep(conversation, body_of(1))
    keep(conversation, body_of(2))
    first, second = TracedCall.objects.order_by("number")
    assert b"word" not in bytes(first.contents)
    TracedCall.objects.filter(pk=second.pk).update(contents=first.contents)
    with pytest.raises(encryption.SecretUnreadable):
        store.read(TracedCall.objects.get(pk=second.pk))


def test_rotation_of_the_encryption_key_keeps_traces_readable(
    conversation: str, settings: Any
) -> None:
    keep(conversation, body_of(1))
    old, new = settings.ENCRYPTION_KEY[0], Fernet.generate_key().decode()
    settings.ENCRYPTION_KEY = [new, old]
    list(rotation.rotate())
    settings.ENCRYPTION_KEY = [new]
    assert read_bodies(conversation) == [body_of(1)]


# --- who may read ---------------------------------------------------------------------------------------


def test_traces_are_read_with_their_permission_only(chat: Chat, conversation: str) -> None:
    call_id, _ = keep(conversation, body_of(1))
    addresses = ["trace/", "trace/export/", f"trace/calls/{call_id}/"]
    for role, status in (("owner", 200), ("member", 200), ("viewer", 403)):
        api = chat.api if role == "owner" else chat.api_of(chat.add_member(role, role))
        for each in addresses:
            assert api.get(chat.url(conversation, each)).status_code == status, (role, each)
    limited = type(chat.api).by_token(chat.world.user, "conversations:read")
    assert limited.get(chat.url(conversation, "trace/")).status_code == 403


def test_trace_of_another_conversation_or_project_is_not_found(
    chat: Chat, conversation: str
) -> None:
    call_id, _ = keep(conversation, body_of(1))
    other = Chat("Lighthouse")
    theirs = other.start("Hello")["conversation"]
    assert other.api.get(chat.url(conversation, "trace/")).status_code == 404
    assert other.api.get(other.url(conversation, "trace/")).status_code == 404
    assert other.api.get(other.url(theirs, f"trace/calls/{call_id}/")).status_code == 404
    second = chat.start("Another")["conversation"]
    assert chat.api.get(chat.url(second, f"trace/calls/{call_id}/")).status_code == 404
    for wrong in ("x", "0" * 32, "%00"):
        assert chat.api.get(chat.url(conversation, f"trace/calls/{wrong}/")).status_code == 404


def test_agents_and_viewers_have_no_right_to_traces_until_they_are_given_it(chat: Chat) -> None:
    from paca.projects import permissions

    agent = chat.world.agent.member
    assert not permissions.allows(agent, "traces:read")
    agent.role.permissions = [*agent.role.permissions, "traces:read"]
    assert permissions.allows(agent, "traces:read")


@pytest.mark.parametrize(
    ("name", "held", "reads"),
    [
        ("Member", ["conversations:write"], True),
        ("Manager", ["conversations:write"], True),
        ("Member", ["conversations:read"], False),
        ("Viewer", ["conversations:write"], False),
        ("Agent", ["conversations:write"], False),
    ],
)
def test_present_members_and_managers_read_traces(name: str, held: list[str], reads: bool) -> None:
    role = Role.objects.get(project=Chat().world.project, name=name)
    role.permissions = held
    role.save()
    changes = migration("projects", "0012_members_may_read_traces")
    changes.grant(apps, EDITOR)
    role.refresh_from_db()
    from paca.projects import permissions

    assert permissions.allows(Member(role=role, kind="human"), "traces:read") is reads
    changes.take_back(apps, EDITOR)
    role.refresh_from_db()
    assert role.permissions == held


def test_export_has_every_call_and_is_audited(chat: Chat, conversation: str) -> None:
    known = NOTHING_KNOWN
    for step in range(3):
        _, known = keep(conversation, body_of(step), known)
    answer = chat.api.get(chat.url(conversation, "trace/export/"))
    found = json.loads(download(answer))
    assert [call["exchanges"][0]["body"].encode() for call in found["calls"]] == [
        body_of(step) for step in range(3)
    ]
    assert found["conversation"]["id"] == conversation
    assert found["calls"][0]["reply"]["blocks"] == [{"type": "Text", "text": "Hello."}]
    entry = AuditEntry.objects.filter(action="traces.exported").get()
    assert entry.object_id == conversation
    assert answer["Content-Disposition"].startswith("attachment; ")


@pytest.mark.parametrize(
    ("address", "field"),
    [
        ("trace/?limit=0", "limit"),
        ("trace/?limit=201", "limit"),
        ("trace/?before=yesterday", "before"),
        ("trace/?nonsense=1", "nonsense"),
        ("trace/export/?format=xml", "format"),
        ("events/?type=" + "x" * 101, "type.0"),
    ],
)
def test_wrong_query_of_a_trace_is_refused(
    chat: Chat, conversation: str, address: str, field: str
) -> None:
    answer = chat.api.get(chat.url(conversation, address))
    assert answer.status_code == 400
    assert field in answer.json()["fields"]


def test_forbidden_traces_are_neither_shown_nor_begun(
    chat: Chat, conversation: str, settings: Any
) -> None:
    call_id, _ = keep(conversation, body_of(1))
    settings.TRACING = False
    assert chat.api.get(chat.url(conversation, f"trace/calls/{call_id}/")).status_code == 404
    exported = json.loads(download(chat.api.get(chat.url(conversation, "trace/export/"))))
    assert exported["calls"] == []
    refused = chat.api.patch(chat.url(conversation), {"tracing": True})
    assert (refused.status_code, refused.json()["code"]) == (409, "tracing_forbidden")
    assert chat.api.patch(chat.url(conversation), {"tracing": False}).status_code == 200


# --- the timeline -----------------------------------------------------------------------------------------


def add_calls(chat: Chat, conversation: str, count: int) -> None:
    """Model calls and tool calls, one a minute, none of them traced."""
    row = chat.row(conversation)
    start = timezone.now() - timedelta(days=1)
    for number in range(count):
        at = start + timedelta(minutes=number)
        if number % 2:
            ToolCall.objects.create(
                id=uuid4(), conversation=row, turn=1, tool="bash", epoch=1, called_at=at,
                started_at=at, finished_at=at + timedelta(seconds=2),
            )  # fmt: skip
        else:
            ModelCall.objects.create(
                id=uuid4(), conversation=row, project_id=row.project_id, agent_id=row.agent_id,
                turn=1, model="m/x", started_at=at, finished_at=at + timedelta(seconds=3),
                status="done", input_tokens=5, output_tokens=7, cost_usd=0.01,
            )  # fmt: skip


def test_timeline_needs_no_trace_and_comes_in_pages(chat: Chat, conversation: str) -> None:
    ToolCall.objects.all().delete()
    add_calls(chat, conversation, 7)
    pages, before = [], ""
    while True:
        answer = chat.api.get(chat.url(conversation, f"trace/?limit=3{before}")).json()
        pages.insert(0, answer["results"])
        if answer["before"] is None:
            break
        before = f"&before={quote(answer['before'])}"
    calls = [call for page in pages for call in page]
    assert [len(page) for page in pages] == [1, 3, 3]
    assert [call["kind"] for call in calls] == ["model", "tool"] * 3 + ["model"]
    assert (calls[0]["seconds"], calls[1]["seconds"], calls[0]["trace"]) == (3.0, 2.0, None)
    assert calls[0]["tokens"] == {"input": 5, "output": 7, "cache_read": 0, "cache_write": 0}
    assert answer["tracing"] is False


def test_timeline_takes_the_same_queries_for_any_number_of_calls(
    chat: Chat, conversation: str
) -> None:
    counts = []
    for more in (3, 27):
        add_calls(chat, conversation, more)
        with CaptureQueriesContext(
            connection,
        ) as queries:
            assert chat.api.get(chat.url(conversation, "trace/")).status_code == 200
        counts.append(len(queries))
    assert counts[0] == counts[1]


def test_events_are_filtered_by_type(chat: Chat, conversation: str) -> None:
    answer = chat.api.get(
        chat.url(conversation, "events/?type=agent.tool.called&type=agent.turn.started")
    ).json()
    assert {each["type"] for each in answer["results"]} == {
        "agent.tool.called",
        "agent.turn.started",
    }
    newest = chat.api.get(chat.url(conversation, "events/?type=agent.turn.started&limit=1")).json()
    assert len(newest["results"]) == 1
    assert newest["last_seq"] > newest["results"][0]["seq"]


# --- flags ------------------------------------------------------------------------------------------------


def test_tracing_is_switched_over_the_api_and_kept_by_a_fork(chat: Chat) -> None:
    started = chat.start("Hello", flags={"tracing": True})["conversation"]
    assert chat.api.get(chat.url(started)).json()["tracing"] is True
    chat.run_turn(started)
    while_on = chat.row(started).last_seq
    assert chat.api.patch(chat.url(started), {"tracing": False}).json()["tracing"] is False
    for fork_seq, tracing in ((while_on, True), (chat.row(started).last_seq, False), (0, False)):
        made = chat.api.post(chat.url(started, "fork/"), {"seq": fork_seq})
        assert made.json()["tracing"] is tracing, fork_seq
    assert Conversation.objects.get(pk=started).tracing is False
    seq = chat.row(started).last_seq
    assert chat.api.patch(chat.url(started), {"tracing": False}).status_code == 200
    assert chat.row(started).last_seq == seq


def test_agents_default_holds_where_nobody_has_chosen(chat: Chat) -> None:
    address = f"{chat.project_url}agents/{chat.world.agent.pk}/"
    assert chat.api.get(address).json()["tracing"] is False
    first, second = (chat.start(text)["conversation"] for text in ("One", "Two"))
    chat.api.patch(chat.url(second), {"tracing": False})
    assert chat.api.patch(address, {"tracing": True}).json()["tracing"] is True
    shown = [chat.api.get(chat.url(each)).json()["tracing"] for each in (first, second)]
    assert shown == [True, False]


# --- the end of a trace -------------------------------------------------------------------------------------


def test_old_calls_are_removed_also_while_the_conversation_is_used(
    chat: Chat, conversation: str
) -> None:
    known, sent = NOTHING_KNOWN, [body_of(step) for step in range(6)]
    for step, body in enumerate(sent):
        _, known = keep(conversation, body, known, days_ago=40 - 5 * step)
    chat.api.post(chat.url(conversation, "messages/"), {"text": "More"})
    keep_times = KeepTimes(traces=30)
    found = {each.kind: each for each in retention.find_old_data(keep_times)}
    assert (found["traces"].conversations, found["traces"].days) == (1, 30)
    assert found["traces"].size_bytes
    assert retention.remove_old_data(keep_times)["traces"] == 1
    assert (
        read_bodies(conversation) == sent[3:]
    )  # rebuilt, though they were stored against the rest
    assert Trace.objects.get(pk=conversation).dropped_calls == 3
    assert retention.remove_old_data(keep_times)["traces"] == 0
    assert retention.remove_old_data(KeepTimes())["traces"] == 0
    _, known = keep(conversation, body_of(7), known)
    assert read_bodies(conversation) == [*sent[3:], body_of(7)]


def test_deleted_conversation_keeps_no_trace_and_gets_none(chat: Chat, conversation: str) -> None:
    keep(conversation, body_of(1))
    deletion.delete(chat.row(conversation), by=chat.world.owner)
    assert not Trace.objects.exists()
    assert not TracedCall.objects.exists()
    keep(conversation, body_of(2))  # one that was being stored meanwhile
    assert not Trace.objects.exists()
