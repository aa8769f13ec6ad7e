"""Keep times: what is older is shown first, and removed only if a keep time is set."""

from datetime import timedelta
from io import StringIO
from typing import Any
from uuid import uuid4

import pytest
from django.core.management import call_command
from django.utils import timezone

from paca.accounts.models import AuditEntry
from paca.conversations import retention
from paca.conversations.models import (
    Conversation,
    ConversationStatus,
    Event,
    FullOutput,
    Sandbox,
    SandboxState,
    ToolCall,
)
from paca.conversations.retention import KeepTimes
from tests.conversations.chat import Chat

pytestmark = pytest.mark.django_db

ALL = KeepTimes(workspaces=30, outputs=30, conversations=30)


@pytest.fixture
def chat() -> Chat:
    return Chat()


def used(chat: Chat, *, days_ago: int, words: str = "Hello") -> Conversation:
    """An ended conversation with files and a full output, last used that many days ago."""
    started = chat.start(words)["conversation"]
    chat.run_turn(started)
    at = timezone.now() - timedelta(days=days_ago)
    ToolCall.objects.filter(conversation=started).update(conversation=started)
    at = timezone.now() - timedelta(days=days_ago)
    call = ToolCall.objects.create(
        id=uuid4(), conversation_id=started, turn=1, tool="bash", epoch=1, called_at=at
    )
    FullOutput.objects.create(call=call, size_bytes=9, stored_bytes=5000)
    Sandbox.objects.create(
        conversation_id=started, backend="docker", state=SandboxState.ENDED, last_used_at=at,
        workspace_bytes=3000, workspace_limit_bytes=1 << 31,
    )  # fmt: skip
    Conversation.objects.filter(pk=started).update(last_activity_at=at)
    return Conversation.objects.get(pk=started)


def remove_old(*options: str) -> str:
    out = StringIO()
    call_command("remove_old", *options, stdout=out)
    return out.getvalue()


def test_nothing_is_removed_without_keep_times(chat):
    used(chat, days_ago=5000)
    assert not any(retention.remove_old_data(KeepTimes.from_settings()).values())
    assert "kept for ever (KEEP_WORKSPACE_DAYS is 0)" in remove_old()


def test_remove_old_shows_what_it_would_remove_and_changes_nothing(chat):
    used(chat, days_ago=40)
    said = remove_old("--workspaces=30", "--outputs=30", "--conversations=60")
    old = "of 1 conversation, unused for more than 30 days"
    assert f"files of sandboxes: {old}, about 2.9 KiB" in said
    assert f"full outputs: {old}, about 4.9 KiB" in said
    assert "conversations: of 0 conversations, unused for more than 60 days" in said
    assert "Nothing was removed" in said
    assert FullOutput.objects.exists()
    assert Sandbox.objects.get().state == SandboxState.ENDED


def test_keep_times_remove_files_and_outputs_and_keep_the_history(chat):
    old = used(chat, days_ago=40)
    events = Event.objects.filter(conversation=old).count()
    assert remove_old("--workspaces=30", "--outputs=30", "--yes")
    assert Sandbox.objects.get().state == SandboxState.FILES_TO_DELETE
    assert not FullOutput.objects.exists()
    assert Event.objects.filter(conversation=old).count() == events
    actors = AuditEntry.objects.filter(object_id=str(old.pk)).values_list("action", "actor")
    assert ("conversation.workspace_freed", "system") in actors
    assert ("conversation.outputs_removed", "system") in actors


def test_keep_time_of_conversations_deletes_them_and_keeps_their_cost(chat):
    old, new = used(chat, days_ago=40), used(chat, days_ago=20)
    removed = retention.remove_old_data(KeepTimes(conversations=30))
    assert removed["conversations"] == 1
    assert list(Conversation.objects.filter(deleted_at=None)) == [new]
    assert not Event.objects.filter(conversation=old).exists()
    assert Conversation.objects.filter(pk=old.pk).exists()


@pytest.mark.parametrize(
    "facts",
    [
        {"status": ConversationStatus.QUEUED},
        {"last_activity_at": timezone.now()},
        {"deleted_at": timezone.now()},
    ],
)
def test_conversation_that_is_used_while_old_data_is_removed_stays(
    chat, monkeypatch, facts: dict[str, Any]
):
    old = used(chat, days_ago=40)

    def use() -> bool:
        Conversation.objects.filter(pk=old.pk).update(**facts)
        return True

    assert not any(retention.remove_old_data(ALL, may_go_on=use).values())
    assert Event.objects.filter(conversation=old).exists()
    assert FullOutput.objects.exists()


def test_removal_of_old_data_stops_where_it_is_told(chat):
    used(chat, days_ago=40)
    assert not any(retention.remove_old_data(ALL, may_go_on=lambda: False).values())
    assert retention.remove_old_data(ALL) == {
        "files of sandboxes": 1,
        "full outputs": 1,
        "traces": 0,
        "conversations": 1,
    }


def test_admin_shows_what_a_conversation_stores(chat, admin_client):
    old = used(chat, days_ago=40)
    page = admin_client.get(f"/admin/conversations/conversation/{old.pk}/change/").content.decode()
    assert "KB" in page
    assert "files: 2.9\xa0KB of 2.0\xa0GB, last used" in page
