"""Assignments, mentions and requests for descriptions that other programs put on the bus."""

from collections.abc import Callable
from typing import Any
from uuid import UUID, uuid4

import pytest

from paca.accounts.models import User
from paca.agents import services as agents
from paca.common.errors import PacaError
from paca.conversations.models import Conversation, Trigger
from paca.projects.models import Comment
from paca.projects.services import comments, members
from paca.worker import external_triggers
from tests.conversations.team import Team

pytestmark = pytest.mark.django_db


@pytest.fixture
def team() -> Team:
    return Team()


def entry(team: Team, type_: str, **changes: object) -> dict[str, str]:
    """The fields of a valid entry of this type. A change of None leaves the field out."""
    fields = {
        "type": f"agent.{type_}",
        "trigger_type": type_,
        "conversation_id": uuid4(),
        "project_id": team.world.project.pk,
        "agent_id": team.world.agent.pk,
        "task_id": team.task.pk,
        "actor_member_id": team.ada.pk,
        "repo_plugin_ids": "com.paca.github",
        **changes,
    }
    return {name: str(value) for name, value in fields.items() if value is not None}


def handle(fields: dict[str, str], entry_id: str = "1-0") -> UUID:
    return external_triggers.handle_entry(entry_id, fields)


def test_assignment_starts_a_conversation_with_the_id_of_the_program(team):
    fields = entry(team, "task_assigned", message="Before noon, please.")
    assert handle(fields) == UUID(fields["conversation_id"])
    started = team.conversation()
    assert (str(started.pk), started.trigger_type) == (fields["conversation_id"], "task_assigned")
    assert started.triggered_by == team.ada
    assert "Before noon, please." in team.messages()[0]
    assert team.timeline[-1] == "agent.session.started"
    team.run_turn("Done.")
    assert team.said == [("Rosa", "Done.")]


def test_assignment_continues_the_conversation_that_the_agent_has_there(team):
    team.assign()
    fields = entry(team, "task_assigned")
    assert handle(fields) == team.conversation().pk
    assert len(team.messages()) == 2


def test_mention_is_answered_in_the_thread_of_its_comment(team):
    comment = comments.add(team.task, text="Why is it so?", by=team.ada)
    handle(entry(team, "comment_mention", task_id=None, comment_id=comment.pk))
    assert "Why is it so?" in team.messages()[0]
    team.run_turn("Because.")
    assert team.task.comments.get(author=team.rosa).parent == comment


def test_mention_without_a_comment_has_the_text_of_the_program(team):
    handle(entry(team, "comment_mention", message="Why is it so?"))
    assert "Why is it so?" in team.messages()[0]


def test_mention_in_a_doc_is_about_the_doc(team):
    doc = team.add_doc()
    handle(entry(team, "comment_mention", task_id=None, doc_id=doc.pk, message="Right?"))
    assert team.conversation().doc == doc


def test_description_is_written_in_a_conversation_of_its_own(team):
    team.assign()
    fields = entry(team, "description_write", message="In one sentence.")
    handle(fields)
    written = Conversation.objects.get(pk=fields["conversation_id"])
    assert (written.trigger_type, written.task) == ("description_write", team.task)


@pytest.mark.parametrize("type_", ["task_assigned", "comment_mention", "description_write"])
def test_entry_sent_three_times_is_one_trigger(team, type_):
    fields = entry(team, type_, message="Go.")
    handled = {handle(fields, f"{number}-0") for number in range(3)}
    assert handled == {UUID(fields["conversation_id"])}
    assert Trigger.objects.count() == 1


def test_entries_of_different_ids_are_different_triggers(team):
    for _ in range(2):
        handle(entry(team, "task_assigned"))
    assert Trigger.objects.count() == 2
    assert Conversation.objects.count() == 1


# --- what is refused -------------------------------------------------------------------------------


def other_team(**ids: str) -> Callable[[Team], dict[str, object]]:
    """A change that takes these ids from another project."""

    def change(_: Team) -> dict[str, object]:
        from tests.support.world import make_world

        other = make_world("Quay")
        found = {"member": other.owner.pk, "agent": other.agent.pk}
        return {field: found[kind] for field, kind in ids.items()}

    return change


def viewer(team: Team) -> dict[str, object]:
    user = User.objects.create_user(username="vic", password="a long password 7")
    team.world.project.workspace.members.create(user=user)
    added = members.add_person(
        team.world.project, user=user, role=team.world.role("viewer"), by=team.ada
    )
    return {"actor_member_id": added.pk}


def deleted_task(team: Team) -> dict[str, object]:
    from paca.projects.services import tasks

    tasks.delete(team.task, by=team.ada)
    return {}


def taken_id(team: Team) -> dict[str, object]:
    from paca.conversations import services

    sent = services.start_chat(team.world.agent, text="Hello", by=team.ada)
    return {"conversation_id": sent.conversation_id}


def inactive(team: Team) -> dict[str, object]:
    agents.configure(team.world.agent, by=team.ada, status="inactive")
    return {}


def comment_elsewhere(team: Team) -> dict[str, object]:
    comment: Comment = comments.add(team.add_task("Another"), text="Hi", by=team.ada)
    return {"comment_id": comment.pk}


TASK, MENTION, WRITE = "task_assigned", "comment_mention", "description_write"
WRONG: list[tuple[str, str, Any, str]] = [
    ("no task", TASK, {"task_id": None}, "task_id is missing"),
    ("a task that is no id", TASK, {"task_id": "HARB-1"}, "is not a UUID"),
    ("no task of this id", TASK, {"task_id": uuid4()}, "task_id is no task of the project"),
    ("a deleted task", TASK, deleted_task, "task_id is no task of the project"),
    ("another trigger type", TASK, {"trigger_type": "chat_message"}, "does not fit type"),
    ("a member of another project", TASK, other_team(actor_member_id="member"), "is no person"),
    ("an agent of another project", TASK, other_team(agent_id="agent"), "agent_id is no agent"),
    ("a viewer", TASK, viewer, "it needs tasks:write"),
    ("a viewer's mention", MENTION, viewer, "it needs tasks:write"),
    ("a viewer's description", WRITE, viewer, "it needs tasks:write"),
    ("an inactive agent", TASK, inactive, "is inactive"),
    ("a taken id", TASK, taken_id, "conversation_id is taken"),
    ("no conversation id", MENTION, {"conversation_id": None}, "conversation_id is missing"),
    ("a message too long", TASK, {"message": "x" * 100_001}, "too long"),
    ("a mention of nothing", MENTION, {"task_id": None}, "names a task, a doc or a comment"),
    ("a mention without words", MENTION, {"message": None}, "message is empty"),
    ("no comment of this id", MENTION, {"comment_id": uuid4()}, "comment_id is no comment"),
    ("a comment on another task", MENTION, comment_elsewhere, "no comment on what"),
    ("no doc of this id", MENTION, {"task_id": None, "doc_id": uuid4()}, "doc_id is no doc"),
]


@pytest.mark.parametrize(
    ("type_", "changes", "reason"), [row[1:] for row in WRONG], ids=[row[0] for row in WRONG]
)
def test_entry_that_is_invalid_is_refused_with_the_reason(team, type_, changes, reason):
    changed = changes(team) if callable(changes) else changes
    before = Trigger.objects.count()
    with pytest.raises(PacaError) as refused:
        handle(entry(team, type_, **{"message": "Go.", **changed}))
    assert reason in refused.value.detail
    assert Trigger.objects.count() == before
