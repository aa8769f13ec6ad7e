"""Boards show which agent works on a task, and triggers that come at once make one conversation."""

import functools
from typing import Any
from uuid import UUID

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from paca import events
from paca.bus import get_bus
from paca.bus.base import project_topic
from paca.conversations import selectors, store
from paca.conversations.models import Conversation, PendingTrigger, Trigger
from paca.projects.services import comments, tasks
from paca.worker import turn_end
from tests.conversations.team import ANSWERED, Team
from tests.database.concurrency import run_concurrently

pytestmark = pytest.mark.django_db


@pytest.fixture
def team() -> Team:
    return Team()


# --- states -----------------------------------------------------------------------------------------


def test_state_of_the_agent_that_works_on_a_task_is_among_the_task(team):
    team.assign()
    shown = team.api.get(f"/projects/{team.world.project.pk}/tasks/{team.task.number}/").data
    assert shown["agent_state"] == {
        "conversation": str(team.conversation().pk),
        "agent": {"id": str(team.world.agent.pk), "name": "Rosa", "handle": "rosa"},
        "status": "queued",
        "activity": "waiting_for_worker",
    }
    team.run_turn()
    shown = team.api.get(f"/projects/{team.world.project.pk}/tasks/{team.task.number}/").data
    assert shown["agent_state"] is None


def test_running_agent_is_shown_before_one_that_waits_for_a_worker(team):
    team.assign()
    team.start_turn()
    team.assign(team.hire("Bo"))
    state = selectors.agent_states([team.task.pk])[team.task.pk]
    assert (state["status"], state["agent"]["handle"]) == ("running", "rosa")


def test_states_of_many_tasks_take_one_query(team):
    found = []
    for number in range(5):
        team.task = team.add_task(f"Task {number}")
        team.assign()
        found.append(team.task.pk)
    unassigned = team.add_task("Alone")
    with CaptureQueriesContext(
        connection,
    ) as asked:
        states = selectors.agent_states([*found, unassigned.pk])
    assert len(asked) == 1
    assert states.keys() == set(found)
    assert selectors.agent_states([]) == {}


# --- last words -------------------------------------------------------------------------------------


def listed(team: Team, query: str = "last_words=true") -> list[dict[str, Any]]:
    path = f"/projects/{team.world.project.pk}/conversations/?task={team.task.number}&{query}"
    answer = team.api.get(path)
    assert answer.status_code == 200, answer.data
    rows: list[dict[str, Any]] = answer.data["results"]
    return rows


def test_list_has_the_last_words_of_the_agent_when_they_are_asked_for(team):
    team.assign()
    assert [row["last_words"] for row in listed(team)] == [""]
    team.run_turn("All is **done**.", events.MessageSpoken(text="First I look around."))
    assert [row["last_words"] for row in listed(team)] == ["All is **done**."]
    assert [row["last_words"] for row in listed(team, "last_words=false")] == [None]


def test_last_words_are_cut_and_read_from_beside_the_log_too(team):
    team.assign()
    team.run_turn("x" * 100_000)
    assert [row["last_words"] for row in listed(team)] == ["x" * 400]


def test_last_words_cost_one_query_however_many_agents_work(team):
    counts = []
    for number in range(12):
        team.hire(f"A{number}")
        team.comment(f"@a{number} Look.")
        team.run_turn(f"Words {number}")
        if number in (2, 11):
            with CaptureQueriesContext(connection) as asked:
                words = [row["last_words"] for row in listed(team)]
            assert words == [f"Words {each}" for each in range(number, -1, -1)]
            counts.append(len(asked))
    assert counts[0] == counts[1]


def shown_frames(team: Team, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The frames that the project's sockets get from now on."""
    frames: list[dict[str, Any]] = []
    topic = project_topic(team.world.project.pk)

    def live(to: str, frame: dict[str, Any]) -> None:
        if to == topic:
            frames.append(frame)

    monkeypatch.setattr(get_bus(), "live", live)
    return frames


def test_project_socket_tells_what_the_agent_of_a_task_does(
    team, monkeypatch, django_capture_on_commit_callbacks
):
    team.assign()
    frames = shown_frames(team, monkeypatch)
    with django_capture_on_commit_callbacks(execute=True):
        lease = team.start_turn()
        call = events.ToolCalled(call_id=str(UUID(int=7)), tool="bash", arguments={})
        store.append(lease.conversation_id, call, lease=lease)
        store.append(lease.conversation_id, events.ToolStarted(call_id=call.call_id), lease=lease)
        turn_end.end_turn(lease, [events.MessageSpoken(text="Done.")], ANSWERED, steps=1)
    told = [frame for frame in frames if frame["type"] == "agent.state.changed"]
    assert [(frame["status"], frame["activity"]) for frame in told] == [
        ("running", "thinking"),
        ("running", "running_tool"),
        ("finished", ""),
    ]
    assert {frame["task_id"] for frame in told} == {str(team.task.pk)}
    assert {frame["id"] for frame in told} == {str(lease.conversation_id)}
    assert "comment.changed" in {frame["type"] for frame in frames}


def test_project_socket_tells_no_states_of_chats(
    team, monkeypatch, django_capture_on_commit_callbacks
):
    from paca.conversations import services

    frames = shown_frames(team, monkeypatch)
    with django_capture_on_commit_callbacks(execute=True):
        services.start_chat(team.world.agent, text="Hello", by=team.ada)
    assert {frame["type"] for frame in frames} == {"conversation.changed"}


# --- at the same time -------------------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
def test_triggers_at_the_same_time_make_one_conversation(team):
    def mention(number: int) -> None:
        comments.add(team.task, text=f"@rosa number {number}", by=team.ada)

    run_concurrently([functools.partial(mention, number) for number in range(4)])
    assert Conversation.objects.count() == 1
    assert Trigger.objects.count() == 4
    assert not PendingTrigger.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_answers_that_mention_one_another_at_the_same_time_do_not_block(team):
    """Each turn ends with a lock on its own conversation, and calls the agent of the other."""
    bo = team.hire("Bo")
    for agent in (team.rosa, bo):
        tasks.assign(team.task, to=agent, by=team.ada)
    leases = [team.start_turn(), team.start_turn()]

    def end(lease: store.Lease) -> None:
        called = (
            bo
            if Conversation.objects.get(pk=lease.conversation_id).agent == team.rosa.agent
            else team.rosa
        )
        spoken = [events.MessageSpoken(text=f"Over to @{called.handle}.")]
        turn_end.end_turn(lease, spoken, ANSWERED, steps=1)

    run_concurrently([functools.partial(end, lease) for lease in leases])
    assert not PendingTrigger.objects.exists()
    # Read by the next turn, or by one that began at once because the mention was there already.
    assert Trigger.objects.filter(hops=1).count() == 2
    assert not Conversation.objects.exclude(status__in=["queued", "running"]).exists()


@pytest.mark.django_db(transaction=True)
def test_cause_that_is_rolled_back_starts_nothing(team):
    with transaction.atomic():
        tasks.assign(team.task, to=team.rosa, by=team.ada)
        transaction.set_rollback(True)
    assert not Conversation.objects.exists()
    assert not PendingTrigger.objects.exists()
