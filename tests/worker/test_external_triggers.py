"""Triggers of other programs: each is checked, and executed once."""

import threading
from collections.abc import Callable
from uuid import uuid4

import pytest
from django.db import connection
from django.db.models import QuerySet
from django.utils import timezone

from paca import events
from paca.agents import services as agents
from paca.agents.models import Agent
from paca.common.errors import PacaError
from paca.conversations import deletion, event_log, services
from paca.conversations.models import ChatSession, Conversation, ConversationStatus, Event, Trigger
from paca.projects.models import Member
from paca.projects.services import members
from paca.worker import external_triggers
from tests.realtime.pages import Chat, make_chat
from tests.support.world import World, make_world

pytestmark = pytest.mark.django_db


@pytest.fixture
def harbor() -> World:
    return make_world()


def message_fields(of: World, **changes: object) -> dict[str, str]:
    """The fields of a valid message. A change of None leaves the field out."""
    fields = {
        "type": "agent.chat_message",
        "trigger_type": "chat_message",
        "conversation_id": uuid4(),
        "project_id": of.project.pk,
        "agent_id": of.agent.pk,
        "actor_member_id": of.owner.pk,
        "message": "Look at the build, please.",
        "repo_plugin_ids": "com.paca.github",
        **changes,
    }
    return {name: str(value) for name, value in fields.items() if value is not None}


def handle(fields: dict[str, str], entry_id: str = "1-0") -> None:
    external_triggers.handle_entry(entry_id, fields)


# --- a message ----------------------------------------------------------------------------------


def test_message_starts_a_conversation_with_the_id_of_the_program(harbor: World):
    fields = message_fields(harbor)
    handle(fields)
    started = Conversation.objects.get(pk=fields["conversation_id"])
    assert (started.status, started.agent, started.title) == (
        ConversationStatus.QUEUED,
        harbor.agent,
        "Look at the build, please.",
    )
    assert started.session.member == harbor.owner
    (trigger,) = started.triggers.all()
    assert (trigger.source, trigger.kind, trigger.by) == ("stream", "chat_message", "ada-harbor")


def test_message_sent_three_times_starts_one_conversation(harbor: World):
    fields = message_fields(harbor, message="A NUL \0 in it")
    for number in range(3):
        handle(fields, f"{number}-0")
    assert Conversation.objects.count() == ChatSession.objects.count() == 1
    assert Trigger.objects.count() == 1
    assert Event.objects.filter(type="agent.message.received").count() == 1


@pytest.mark.django_db(transaction=True)
def test_concurrent_copies_of_a_message_start_one_conversation(harbor: World):
    fields, problems = message_fields(harbor), []

    def take() -> None:
        try:
            handle(fields)
        except PacaError as problem:
            problems.append(problem)
        finally:
            connection.close()

    together = [threading.Thread(target=take) for _ in range(4)]
    for thread in together:
        thread.start()
    for thread in together:
        thread.join()
    assert problems == []
    assert Trigger.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_concurrent_messages_with_one_new_id_start_one_conversation_and_lose_none(harbor: World):
    fields, refused = message_fields(harbor), []

    def take(number: int) -> None:
        try:
            handle({**fields, "message": f"Message {number}"}, f"{number}-0")
        except external_triggers.TriggerRefused as reason:
            refused.append(reason.detail)
        finally:
            connection.close()

    together = [threading.Thread(target=take, args=[number]) for number in range(4)]
    for thread in together:
        thread.start()
    for thread in together:
        thread.join()
    assert Trigger.objects.count() == 1
    assert len(refused) == 3
    assert {"Choose a new UUID" in reason for reason in refused} == {True}


@pytest.mark.parametrize("in_one_chat", [True, False])
def test_message_whose_id_another_one_takes_at_the_same_moment_is_refused(
    harbor: World, monkeypatch, in_one_chat: bool
):
    """Both look for the conversation before either of them has started it."""
    first = message_fields(harbor, message="One")
    person = harbor.owner if in_one_chat else add_person(harbor, "Owner")
    second = {**first, "message": "Two", "actor_member_id": str(person.pk)}
    handle(first, "1-0")
    exists, looked = QuerySet.exists, []

    def not_at_the_first_look(rows):
        looked.append(rows.model)
        return exists(rows) and looked.count(Conversation) > 1

    monkeypatch.setattr(QuerySet, "exists", not_at_the_first_look)
    with pytest.raises(external_triggers.TriggerRefused, match="conversation_id") as refused:
        handle(second, "2-0")
    assert "Choose a new UUID" in refused.value.detail


# --- a message that goes on -----------------------------------------------------------------------


def follow_up(started: dict[str, str], **changes: object) -> dict[str, str]:
    facts = {"message": "And now?", "continue": "true", "client_id": "m-2", **changes}
    return {**started, **{name: str(value) for name, value in facts.items() if value is not None}}


def test_message_goes_on_in_the_conversation_that_it_names(harbor: World):
    started = message_fields(harbor)
    handle(started)
    for number in (2, 3):
        handle(follow_up(started), f"{number}-0")
    current = Conversation.objects.get()
    assert current.triggers.count() == 2
    log = event_log.load_after(current.pk, 0)
    texts = [event.text for _, event in log if isinstance(event, events.MessageReceived)]
    assert texts == [started["message"], "And now?"]


def test_message_that_goes_on_with_a_used_client_id_and_another_text_is_refused(harbor: World):
    started = message_fields(harbor)
    handle(started)
    handle(follow_up(started), "2-0")
    with pytest.raises(external_triggers.TriggerRefused, match="client_id was used before"):
        handle(follow_up(started, message="Something else"), "3-0")
    assert Conversation.objects.get().triggers.count() == 2


def test_message_to_a_conversation_that_does_not_exist_yet_is_too_early(harbor: World):
    with pytest.raises(external_triggers.TriggerTooEarly):
        handle(follow_up(message_fields(harbor)))


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"client_id": None}, "client_id is missing"),
        ({"client_id": "a b"}, "client_id is 'a b'"),
        ({"continue": "yes"}, "continue is 'yes'"),
        ({"on_busy": "shout"}, "on_busy"),
    ],
)
def test_message_that_goes_on_and_is_invalid_is_refused_with_the_reason(harbor, changes, reason):
    started = message_fields(harbor)
    handle(started)
    given = {name: value for name, value in follow_up(started).items() if name not in changes}
    with pytest.raises(PacaError) as refused:
        handle({**given, **{name: value for name, value in changes.items() if value}})
    assert reason in refused.value.detail or reason in str(refused.value)


def test_message_goes_on_only_in_a_conversation_of_its_agent(harbor: World):
    started, other = message_fields(harbor), make_world("Lagoon")
    handle(started)
    fields = follow_up(message_fields(other), conversation_id=started["conversation_id"])
    with pytest.raises(external_triggers.TriggerRefused, match="no conversation of this agent"):
        handle(fields)


def test_message_with_a_chat_starts_the_next_conversation_of_the_chat(harbor: World):
    first = message_fields(harbor)
    handle(first)
    chat = ChatSession.objects.get()
    second = message_fields(harbor, chat_session_id=chat.pk)
    for _ in range(2):
        handle(second)
    chat.refresh_from_db()
    assert str(chat.conversation_id) == second["conversation_id"]
    assert ChatSession.objects.count() == 1
    assert Conversation.objects.filter(session=chat, status=ConversationStatus.QUEUED).count() == 2


def test_message_of_a_deleted_conversation_does_not_start_it_again(harbor: World):
    fields = message_fields(harbor)
    handle(fields)
    deletion.delete(Conversation.objects.get(), by=harbor.owner)
    handle(fields)
    assert Trigger.objects.count() == 0
    assert Conversation.objects.get().deleted_at is not None


def test_message_whose_transaction_fails_stores_nothing(harbor: World):
    with pytest.raises(PacaError):
        handle(message_fields(harbor, message=" "))
    assert not ChatSession.objects.exists()
    assert not Conversation.objects.exists()


def add_person(of: World, role: str, name: str = "grace") -> Member:
    return Chat(of, None).add_member(name, role)  # type: ignore[arg-type] # it needs no conversation


def viewer(of: World) -> dict[str, object]:
    return {"actor_member_id": add_person(of, "Viewer").pk}


def removed(of: World) -> dict[str, object]:
    member = add_person(of, "Member")
    members.remove(member, by=of.owner)
    return {"actor_member_id": member.pk}


def deactivated(of: World) -> dict[str, object]:
    member = add_person(of, "Member")
    type(member.user).objects.filter(pk=member.user_id).update(is_active=False)
    return {"actor_member_id": member.pk}


def agent_as_actor(of: World) -> dict[str, object]:
    return {"actor_member_id": of.agent.member.pk}


def owner_of_another_project(of: World) -> dict[str, object]:
    return {"actor_member_id": make_world("Quay").owner.pk}


def foreign_agent(of: World) -> dict[str, object]:
    return {"agent_id": make_world("Quay").agent.pk}


def another_project(of: World) -> dict[str, object]:
    return {"project_id": make_world("Quay").project.pk}


def deleted_project(of: World) -> dict[str, object]:
    type(of.project).objects.update(deleted_at=timezone.now())
    return {}


def retired(of: World) -> dict[str, object]:
    agents.retire(of.agent, by=of.owner)
    return {}


def inactive(of: World) -> dict[str, object]:
    Agent.objects.update(status=Agent.Status.INACTIVE)
    return {}


def taken_id(of: World) -> dict[str, object]:
    return {"conversation_id": make_chat("Quay").id}


def own_taken_id(of: World) -> dict[str, object]:
    sent = services.start_chat(of.agent, text="Hello", by=of.owner)
    return {"conversation_id": sent.conversation_id}


def id_of_another_message(of: World) -> dict[str, object]:
    fields = message_fields(of)
    handle(fields)
    return {"conversation_id": fields["conversation_id"], "message": "Something else"}


def foreign_chat(of: World) -> dict[str, object]:
    make_chat("Quay")
    return {"chat_session_id": ChatSession.objects.get().pk}


WRONG: list[tuple[str, dict[str, object] | Callable[[World], dict[str, object]], str]] = [
    (
        "no type",
        {"type": None},
        "type is missing; it must be one of agent.chat_message, agent.task_",
    ),
    ("a type unheard of", {"type": "agent.dance"}, "type is 'agent.dance'"),
    ("a type without prefix", {"type": "chat_message"}, "type is 'chat_message'"),
    ("a very long type", {"type": "x" * 5000}, "…"),
    ("another trigger type", {"trigger_type": "task_assigned"}, "does not fit type"),
    ("a task", {"task_id": uuid4()}, "task_id is set"),
    ("a comment", {"comment_id": uuid4()}, "comment_id is set"),
    ("no conversation id", {"conversation_id": None}, "conversation_id is missing"),
    ("an id that is none", {"conversation_id": "7"}, "conversation_id is '7', which is not a UUID"),
    ("an id with a NUL", {"conversation_id": "\0" * 36}, "is not a UUID"),
    ("no project", {"project_id": ""}, "project_id is missing"),
    ("no agent", {"agent_id": None}, "agent_id is missing"),
    ("no agent of this id", {"agent_id": uuid4()}, "agent_id is no agent of the project"),
    ("an agent of another project", foreign_agent, "agent_id is no agent of the project"),
    ("another project", another_project, "agent_id is no agent of the project"),
    ("a deleted project", deleted_project, "agent_id is no agent of the project"),
    ("nobody", {"actor_member_id": None}, "actor_member_id is missing"),
    ("a stranger", {"actor_member_id": uuid4()}, "actor_member_id is no person of the project"),
    ("a member of another project", owner_of_another_project, "is no person of the project"),
    ("somebody removed", removed, "is no person of the project"),
    ("somebody deactivated", deactivated, "is no person of the project"),
    ("the agent as actor", agent_as_actor, "is no person of the project"),
    ("a viewer", viewer, "it needs conversations:write"),
    ("no message", {"message": None}, "message is empty"),
    ("a blank message", {"message": " \n"}, "message is empty"),
    ("a message too long", {"message": "x" * 100_001}, "message is too long"),
    ("a retired agent", retired, "retired"),
    ("an inactive agent", inactive, "inactive"),
    ("somebody's chat", foreign_chat, "no chat of this member with this agent"),
    ("a chat that is no id", {"chat_session_id": "mine"}, "chat_session_id is 'mine'"),
    ("the id of another conversation", taken_id, "conversation_id is taken"),
    ("the id of a chat in the browser", own_taken_id, "conversation_id is taken"),
    ("the id of another message", id_of_another_message, "with another message"),
]


@pytest.mark.parametrize(
    ("changes", "reason"), [row[1:] for row in WRONG], ids=[r[0] for r in WRONG]
)
def test_message_that_is_invalid_is_refused_with_the_reason(harbor, changes, reason):
    given = changes(harbor) if callable(changes) else changes
    before = Trigger.objects.count()
    with pytest.raises(PacaError) as refused:
        handle(message_fields(harbor, **given))
    assert not isinstance(refused.value, external_triggers.TriggerTooEarly)
    assert reason in refused.value.detail
    assert len(refused.value.detail) < 300
    assert Trigger.objects.count() == before


def test_message_needs_the_permission_and_no_owner(harbor: World):
    handle(message_fields(harbor, actor_member_id=add_person(harbor, "Member").pk))
    assert Conversation.objects.get().status == ConversationStatus.QUEUED


# --- a stop -------------------------------------------------------------------------------------


def stop_fields(conversation: object, **changes: object) -> dict[str, str]:
    fields = {"type": "agent.stop", "conversation_id": conversation, **changes}
    return {name: str(value) for name, value in fields.items()}


def test_stop_ends_a_queued_conversation(harbor: World):
    fields = message_fields(harbor)
    handle(fields)
    handle(stop_fields(fields["conversation_id"], actor_member_id=harbor.owner.pk))
    stopped = Conversation.objects.get()
    assert (stopped.status, stopped.reason) == (ConversationStatus.STOPPED, "by_person")
    assert Event.objects.filter(type="agent.conversation.stopped").count() == 1


def test_stop_without_a_member_is_by_another_program(harbor: World):
    fields = message_fields(harbor)
    handle(fields)
    handle(stop_fields(fields["conversation_id"]))
    assert "another program" in Event.objects.get(type="agent.conversation.stopped").payload


def test_stop_that_is_repeated_does_not_stop_a_continued_conversation(harbor: World):
    fields = message_fields(harbor)
    handle(fields)
    stop = stop_fields(fields["conversation_id"])
    handle(stop, "5-0")
    current = Conversation.objects.get()
    services.send(current, text="Go on", by=harbor.owner)
    handle(stop, "5-0")
    current.refresh_from_db()
    assert current.status == ConversationStatus.QUEUED
    handle(stop, "6-0")
    current.refresh_from_db()
    assert current.status == ConversationStatus.STOPPED


def test_stop_of_an_ended_conversation_counts_as_executed(harbor: World):
    fields = message_fields(harbor)
    handle(fields)
    handle(stop_fields(fields["conversation_id"]), "5-0")
    handle(stop_fields(fields["conversation_id"]), "6-0")
    current = Conversation.objects.get()
    services.send(current, text="Go on", by=harbor.owner)
    handle(stop_fields(fields["conversation_id"]), "6-0")
    current.refresh_from_db()
    assert current.status == ConversationStatus.QUEUED


def test_stop_of_an_unknown_conversation_is_too_early(harbor: World):
    with pytest.raises(external_triggers.TriggerTooEarly):
        handle(stop_fields(uuid4()))


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        (another_project, "project_id is not that of the conversation"),
        (foreign_agent, "agent_id is not that of the conversation"),
        (viewer, "does not allow"),
        (owner_of_another_project, "is no person of the project"),
        (lambda _: {"conversation_id": "this one"}, "is not a UUID"),
    ],
)
def test_stop_that_is_invalid_stops_nothing(harbor, changes, reason):
    fields = message_fields(harbor)
    handle(fields)
    with pytest.raises(PacaError, match=reason):
        handle(
            stop_fields(fields["conversation_id"]) | {k: str(v) for k, v in changes(harbor).items()}
        )
    assert (
        Conversation.objects.get(pk=fields["conversation_id"]).status == ConversationStatus.QUEUED
    )
