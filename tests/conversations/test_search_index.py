"""Conversations in the search index: titles and messages, as they are now."""

from uuid import uuid4

import pytest
from django.core.management import call_command

from paca import events
from paca.conversations import deletion, services, store
from paca.conversations.models import Conversation
from paca.projects import search
from paca.projects.models import Notification, NotificationKind, SearchEntry
from paca.projects.services import notifications
from tests.support.world import World, make_world

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    return make_world()


@pytest.fixture
def conversation(world: World) -> Conversation:
    sent = services.start_chat(world.agent, text="Paint the boat", by=world.owner)
    return Conversation.objects.get(pk=sent.conversation_id)


def found(world: World, words: str) -> list[str]:
    hits = search.find(world.project, words, may=lambda _: True)
    return [f"{hit.kind} {hit.title}" for hit in hits]


def finish(conversation: Conversation, number: int) -> None:
    """End a turn, at whose end the messages are indexed."""
    finished = events.TurnFinished(number=number, status="finished", reason="answered", steps=1)
    store.append(conversation.pk, finished)


def test_conversation_is_found_by_its_title_and_messages(
    world: World, conversation: Conversation
) -> None:
    services.send(conversation, text="in harbor blue", by=world.owner)
    finish(conversation, 1)
    services.rename(conversation, title="Colors", by=world.owner)
    for words in ("colors", "boat", "harbor blue"):
        assert found(world, words) == ["conversation Colors"]


def test_message_that_was_taken_back_or_edited_is_not_found(
    world: World, conversation: Conversation
) -> None:
    taken, edited = (
        services.send(conversation, text=text, by=world.owner) for text in ("purple", "green")
    )
    services.withdraw(conversation, event_seq=taken.event_seq, by=world.owner)
    services.edit(conversation, event_seq=edited.event_seq, text="yellow", by=world.owner)
    assert [len(found(world, word)) for word in ("purple", "green", "yellow")] == [0, 0, 1]


def test_answer_of_the_agent_is_found_after_its_turn(
    world: World, conversation: Conversation
) -> None:
    store.append(conversation.pk, events.TurnStarted(number=1))
    store.append(conversation.pk, events.MessageSpoken(text="It is turquoise now."))
    output = events.ToolReturned(call_id=str(uuid4()), output="crimson", failed=False)
    store.append(conversation.pk, output)
    finish(conversation, 1)
    assert len(found(world, "turquoise")) == 1
    assert found(world, "crimson") == []


def test_message_that_was_indexed_and_is_taken_back_is_not_found(
    world: World, conversation: Conversation
) -> None:
    sent = services.send(conversation, text="purple", by=world.owner)
    finish(conversation, 1)
    assert len(found(world, "purple")) == 1
    services.withdraw(conversation, event_seq=sent.event_seq, by=world.owner)
    assert found(world, "purple") == []


def test_each_turn_adds_its_messages_once(world: World, conversation: Conversation) -> None:
    for number, text in enumerate(("mauve", "ochre"), start=1):
        services.send(conversation, text=text, by=world.owner)
        finish(conversation, number)
    entry = SearchEntry.objects.get(object_id=conversation.pk)
    assert entry.text == "Paint the boat\n\nmauve\n\nochre"


def test_deleted_conversation_is_not_found_and_nobody_is_told_of_it(
    world: World, conversation: Conversation
) -> None:
    notifications.tell(
        world.owner, NotificationKind.FINISHED, key="f", conversation_id=conversation.pk
    )
    deletion.delete(conversation, by=world.owner)
    assert found(world, "boat") == []
    assert not Notification.objects.exists()


def test_rebuild_search_finds_what_was_there_before_the_index(
    world: World, conversation: Conversation, capsys: pytest.CaptureFixture[str]
) -> None:
    SearchEntry.objects.all().delete()
    call_command("rebuild_search")
    assert found(world, "boat") == [f"conversation {conversation.title}"]
    assert "1 conversations" in capsys.readouterr().out


def test_migrate_makes_conversations_of_former_versions_searchable(
    world: World, conversation: Conversation
) -> None:
    SearchEntry.objects.all().delete()
    call_command("migrate", verbosity=0)
    assert found(world, "boat") == [f"conversation {conversation.title}"]
