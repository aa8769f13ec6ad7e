"""Files of an ephemeral sandbox go some time after their conversation was archived; those of a persistent one stay."""

from datetime import timedelta

import pytest
from django.utils import timezone

from paca.agents.services import agents
from paca.conversations import ephemeral_files
from paca.conversations.models import Conversation, Sandbox, SandboxState
from paca.conversations.services import messages
from tests.conversations.chat import Chat

pytestmark = pytest.mark.django_db
HOUR = 3600.0


@pytest.fixture
def chat() -> Chat:
    return Chat()


def archived(chat: Chat, *, seconds_ago: float) -> Conversation:
    started = chat.start("Hello")["conversation"]
    chat.run_turn(started)
    Sandbox.objects.create(
        conversation_id=started,
        backend="docker",
        state=SandboxState.ENDED,
        last_used_at=timezone.now(),
    )
    conversation = Conversation.objects.get(pk=started)
    messages.archive(conversation, archived=True, by=chat.world.owner)
    at = timezone.now() - timedelta(seconds=seconds_ago)
    Conversation.objects.filter(pk=started).update(archived_at=at)
    return conversation


def state(conversation: Conversation) -> str:
    return Sandbox.objects.get(conversation=conversation).state


def remove() -> int:
    return ephemeral_files.remove_of_archived(after_seconds=HOUR)


def test_files_of_an_ephemeral_sandbox_go_after_the_time_in_the_archive(chat: Chat) -> None:
    conversation = archived(chat, seconds_ago=HOUR - 60)
    assert (remove(), state(conversation)) == (0, SandboxState.ENDED)
    Conversation.objects.update(archived_at=timezone.now() - timedelta(seconds=HOUR + 1))
    assert (remove(), state(conversation)) == (1, SandboxState.FILES_TO_DELETE)
    assert remove() == 0


def test_files_of_a_persistent_sandbox_stay(chat: Chat) -> None:
    agents.configure(chat.world.agent, by=chat.world.owner, sandbox_life="persistent")
    conversation = archived(chat, seconds_ago=2 * HOUR)
    assert (remove(), state(conversation)) == (0, SandboxState.ENDED)


def test_files_of_a_conversation_stay_that_was_archived_without_that_notice(chat: Chat) -> None:
    conversation = archived(chat, seconds_ago=2 * HOUR)
    Conversation.objects.update(files_go=None)  # as an earlier version has archived it
    assert (remove(), state(conversation)) == (0, SandboxState.ENDED)


def test_files_stay_if_the_sandbox_was_persistent_when_it_was_archived(chat: Chat) -> None:
    agents.configure(chat.world.agent, by=chat.world.owner, sandbox_life="persistent")
    conversation = archived(chat, seconds_ago=2 * HOUR)
    agents.configure(chat.world.agent, by=chat.world.owner, sandbox_life="ephemeral")
    assert (remove(), state(conversation)) == (0, SandboxState.ENDED)


def test_people_read_how_long_the_archive_keeps_files(chat: Chat) -> None:
    conversation = archived(chat, seconds_ago=0)
    url = chat.url(conversation.pk, "workspace/")
    assert chat.api.get(url).json()["archive_keeps_seconds"] == HOUR
    agents.configure(chat.world.agent, by=chat.world.owner, sandbox_life="persistent")
    assert chat.api.get(url).json()["archive_keeps_seconds"] is None


def test_conversation_that_is_taken_back_keeps_its_files(chat: Chat) -> None:
    conversation = archived(chat, seconds_ago=2 * HOUR)
    messages.archive(conversation, archived=False, by=chat.world.owner)
    assert (remove(), state(conversation)) == (0, SandboxState.ENDED)
    assert ephemeral_files._remove(conversation.pk, HOUR) is False
    assert state(conversation) == SandboxState.ENDED
