"""Deletion of conversations over the API: the messages are deleted, the figures are kept."""

from uuid import UUID

import pytest

from paca import events
from paca.accounts.models import AuditEntry
from paca.bus import get_bus
from paca.bus.base import project_topic
from paca.conversations import deletion, sandbox_lifecycle, services, store
from paca.conversations.models import (
    Blob,
    ChatSession,
    Conversation,
    Event,
    ModelCall,
    Sandbox,
    SandboxState,
    Trigger,
)
from paca.engine.turn import ModelCallStarted
from tests.conversations.chat import CALL, Chat, error_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def chat() -> Chat:
    return Chat()


def test_deleted_conversation_is_not_found_anywhere(chat):
    started, other = chat.start("Bury this"), chat.start("Keep that")
    chat.run_turn(started["conversation"])
    assert chat.api.delete(chat.url(started["conversation"])).status_code == 204
    for rest in ("", "events/", "export/"):
        assert chat.api.get(chat.url(started["conversation"], rest)).status_code == 404
    assert chat.api.delete(chat.url(started["conversation"])).status_code == 404
    listed = chat.api.get(chat.conversations_url).data["results"]
    assert [row["id"] for row in listed] == [other["conversation"]]
    chats = chat.api.get(chat.sessions_url).data["results"]
    assert [row["id"] for row in chats] == [other["session"]]
    assert chat.api.get(f"{chat.conversations_url}?search=bury").data["results"] == []


def test_deletion_removes_messages_from_every_table(chat):
    started = chat.start("Bury this")["conversation"]
    chat.run_turn(started, events.MessageSpoken(text="z" * 70_000))
    assert Blob.objects.count() == 1
    chat.api.delete(chat.url(started))
    assert not Event.objects.filter(conversation=started).exists()
    assert not Trigger.objects.filter(conversation=started).exists()
    assert not Blob.objects.exists()
    assert not ChatSession.objects.exists()
    assert chat.row(started).title == ""
    entry = AuditEntry.objects.get(action="conversation.deleted")
    assert (entry.object_id, entry.actor_id) == (started, chat.world.user.pk)
    assert "Bury" not in f"{entry.object_name} {entry.facts}"


def test_deletion_is_announced_to_open_lists(chat, django_capture_on_commit_callbacks, monkeypatch):
    started = chat.start()["conversation"]
    chat.run_turn(started)
    announced: list[tuple[str, dict]] = []
    monkeypatch.setattr(get_bus(), "live", lambda topic, frame: announced.append((topic, frame)))
    with django_capture_on_commit_callbacks(execute=True):
        chat.api.delete(chat.url(started))
    changed = {"type": "conversation.changed", "id": started, "version": 7}
    assert announced == [(project_topic(chat.world.project.pk), changed)]


def test_deletion_keeps_the_cost(chat):
    started = chat.start()["conversation"]
    chat.run_turn(
        started,
        ModelCallStarted(call_id=CALL, model="m"),
        events.UsageRecorded(call_id=CALL, model="m", input=10, output=5, cost_usd=0.25),
    )
    chat.api.delete(chat.url(started))
    assert ModelCall.objects.get().cost_usd == 0.25
    assert chat.row(started).usage["cost_usd"] == 0.25


def test_deletion_keeps_a_blob_that_another_log_uses(chat):
    first, second = chat.start()["conversation"], chat.start()["conversation"]
    for conversation in (first, second):
        store.append(chat.row(conversation).pk, events.MessageReceived(text="w" * 70_000))
    assert Blob.objects.count() == 1
    chat.api.delete(chat.url(first))
    newest = chat.api.get(chat.url(second, "events/?limit=1")).json()["results"][0]
    assert newest["data"]["text"] == "w" * 70_000


def test_deletion_of_a_running_conversation_is_refused(chat):
    started = chat.start()["conversation"]
    lease = chat.start_turn(started)
    answer = chat.api.delete(chat.url(started))
    assert error_of(answer) == (409, "conversation_running", {})
    assert "Stop it first" in answer.data["detail"]
    assert chat.row(started).last_seq == 5
    chat.finish_turn(lease)
    assert chat.api.delete(chat.url(started)).status_code == 204


@pytest.mark.parametrize("status", ["queued", "paused"])
def test_deleted_queued_conversation_is_claimed_by_no_worker(chat, status):
    started = chat.start()["conversation"]
    if status == "paused":
        lease = chat.start_turn(started)
        store.append(
            lease.conversation_id,
            events.TurnFinished(number=1, status="paused", reason="by_person"),
            events.ConversationPaused(reason="by_person"),
            lease=lease,
        )
    assert chat.row(started).status == status
    assert chat.api.delete(chat.url(started)).status_code == 204
    assert not Conversation.objects.claimable().exists()


def test_message_to_a_deleted_conversation_is_refused(chat):
    row = chat.row(chat.start()["conversation"])
    deletion.delete(row, by=chat.world.owner)
    with pytest.raises(deletion.NotFound):
        services.send(row, text="Too late", by=chat.world.owner)
    with pytest.raises(deletion.NotFound):
        deletion.delete(row, by=chat.world.owner)


def test_deletion_keeps_the_earlier_conversations_of_the_chat(chat):
    started = chat.start("The first")
    opened = chat.api.post(f"{chat.sessions_url}{started['session']}/clear/").data["conversation"]
    assert chat.api.delete(chat.url(opened)).status_code == 204
    assert chat.api.get(chat.url(started["conversation"])).data["title"] == "The first"
    gone = chat.api.post(f"{chat.sessions_url}{started['session']}/messages/", {"text": "x"})
    assert gone.status_code == 404


def test_deletion_of_an_earlier_conversation_keeps_the_chat(chat):
    started = chat.start("The first")
    chat.api.post(f"{chat.sessions_url}{started['session']}/clear/")
    assert chat.api.delete(chat.url(started["conversation"])).status_code == 204
    sent = chat.api.post(f"{chat.sessions_url}{started['session']}/messages/", {"text": "On"})
    assert sent.status_code == 202


# --- deletion of files----------------------------------------------------------------------------


def with_files(chat: Chat) -> str:
    started = chat.start()["conversation"]
    chat.run_turn(started, events.SandboxStarted(backend="bubblewrap", boot_id="b"))
    return started


def test_files_can_be_deleted_without_the_log(chat):
    started = with_files(chat)
    answer = chat.api.delete(chat.url(started, "workspace/"))
    assert answer.status_code == 202
    assert answer.data["id"] == started
    assert Sandbox.objects.get(conversation=started).state == SandboxState.FILES_TO_DELETE
    assert Event.objects.filter(conversation=started).exists()
    entry = AuditEntry.objects.get(action="conversation.workspace_freed")
    assert (entry.object_id, entry.actor_id) == (started, chat.world.user.pk)
    assert chat.api.delete(chat.url(started, "workspace/")).status_code == 202


def test_files_that_do_not_exist_or_are_in_use_are_not_deleted(chat):
    without = chat.start()["conversation"]
    chat.run_turn(without)
    running = with_files(chat)
    assert error_of(chat.api.delete(chat.url(without, "workspace/"))) == (409, "no_workspace", {})
    Conversation.objects.filter(pk=running).update(status="queued")
    Conversation.objects.filter(pk=running).update(status="running")
    assert error_of(chat.api.delete(chat.url(running, "workspace/"))) == (
        409,
        "conversation_running",
        {},
    )
    assert Sandbox.objects.get(conversation=running).state == SandboxState.RUNNING


# --- the size of files ---------------------------------------------------------------------------


def test_size_of_files_is_shown_as_measured_at_the_last_use(chat):
    started = with_files(chat)
    address = chat.url(started, "workspace/")
    before = chat.api.get(address).data
    assert (before["exists"], before["bytes"], before["limit_bytes"]) == (True, None, None)
    sandbox_lifecycle.record_use(UUID(started), size=12_400_000, limit=1 << 31)
    sandbox_lifecycle.record_use(UUID(started))  # it was not measured this time
    after = chat.api.get(address).data
    assert (after["bytes"], after["limit_bytes"]) == (12_400_000, 1 << 31)
    assert after["last_used_at"] > before["last_used_at"]
    chat.api.delete(address)
    assert chat.api.get(address).data == {
        "exists": False, "bytes": None, "limit_bytes": None, "last_used_at": None, "archive_keeps_seconds": None,
    }  # fmt: skip


def test_size_of_files_is_shown_to_readers_and_to_nobody_of_another_project(chat):
    started = with_files(chat)
    reader = chat.api_of(chat.add_member("rea", role="viewer"))
    assert reader.get(chat.url(started, "workspace/")).status_code == 200
    assert reader.delete(chat.url(started, "workspace/")).status_code == 403
    stranger = Chat("Other").api
    assert stranger.get(chat.url(started, "workspace/")).status_code == 404
