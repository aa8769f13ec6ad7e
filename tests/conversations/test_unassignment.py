"""An agent that is unassigned from a task stops its work there."""

from datetime import timedelta
from functools import partial
from uuid import uuid4

import pytest
from django.utils import timezone

from paca import events
from paca.conversations import event_log, services
from paca.conversations.models import Conversation, PendingTrigger, StopReason, Trigger
from paca.conversations.services import delivery, instructions
from paca.engine.turn import TurnOutcome
from paca.projects.models import Activity, Member
from paca.projects.services import comments, tasks
from paca.worker import background_looks, claim, turn_end
from tests.conversations.team import Team
from tests.database.concurrency import run_concurrently

pytestmark = pytest.mark.django_db


@pytest.fixture
def team() -> Team:
    return Team()


def unassign(team: Team, *, by: Member | None = None) -> None:
    """Unassign everybody. The delivery is up to the test."""
    tasks.change(team.task, by=by or team.ada, assignees=[])


def status(team: Team, agent: Member | None = None) -> tuple[str, str]:
    current = team.conversation(agent)
    return current.status, current.reason


def test_agent_that_is_unassigned_by_the_api_stops_and_the_timeline_tells_it(
    team, django_capture_on_commit_callbacks
):
    team.assign()
    url = f"/projects/{team.world.project.pk}/tasks/{team.task.number}/"
    with django_capture_on_commit_callbacks(execute=True):
        assert team.api.patch(url, {"assignee_ids": []}).status_code == 200
    assert status(team) == ("stopped", "unassigned")
    stopped = [
        event
        for _, event in event_log.load_after(team.conversation().pk, 0)
        if isinstance(event, events.ConversationStopped)
    ]
    assert [(event.reason, event.by) for event in stopped] == [("unassigned", "ada-harbor")]
    entry = Activity.objects.get(kind="agent.session.stopped")
    assert (entry.task, entry.actor) == (team.task, team.ada)
    assert entry.conversation_id == team.conversation().pk
    shown = team.api.get(f"{url}activity/").data["results"]
    assert "agent.session.stopped" in {each["kind"] for each in shown}
    assert not Trigger.objects.filter(state="new").exists()


def test_what_an_unassigned_agent_runs_in_the_background_is_to_end(team):
    team.assign()
    fields = {"handle": "bg1", "command": "make", "boot_id": "b", "timeout_seconds": 300.0}
    call = uuid4().hex
    team.run_turn("Done.", events.BackgroundStarted(call_id=call, **fields))
    unassign(team)
    team.deliver()
    assert background_looks.read_stops(team.conversation().pk) == {call: "ada-harbor"}


def test_running_turn_of_an_unassigned_agent_is_told_to_stop(team):
    team.assign()
    lease = team.start_turn()
    unassign(team)
    team.deliver()
    (command,) = team.conversation().triggers.filter(control="stop")
    assert (command.kind, command.by) == (StopReason.UNASSIGNED, "ada-harbor")
    turn_end.end_turn(lease, [], TurnOutcome("stopped", command.kind), steps=1, by=command.by)
    assert status(team) == ("stopped", "unassigned")
    assert team.said == []


def test_unassigned_work_is_not_begun_before_the_stop_is_delivered(team):
    team.assign()
    unassign(team)
    assert claim.claim("test", lease_seconds=60, limit=9) == []
    PendingTrigger.objects.update(due_at=timezone.now() - timedelta(seconds=1))
    assert delivery.deliver_due() == 1
    assert status(team) == ("stopped", "unassigned")
    assert claim.claim("test", lease_seconds=60, limit=9) == []


def test_work_on_other_tasks_is_begun_while_a_stop_waits(team):
    team.assign()
    unassign(team)
    other = team.add_task("Another one")
    team.comment("@rosa this", on=other)
    PendingTrigger.objects.all().delete()
    tasks.assign(team.task, to=team.rosa, by=team.ada)
    unassign(team)
    (claimed,) = claim.claim("test", lease_seconds=60, limit=9)
    assert Conversation.objects.get(pk=claimed.lease.conversation_id).task == other


def test_agent_that_is_unassigned_before_it_was_told_does_not_start(team):
    tasks.assign(team.task, to=team.rosa, by=team.ada)
    unassign(team)
    team.deliver()
    assert not Conversation.objects.exists()
    assert not PendingTrigger.objects.exists()


def test_agent_that_is_assigned_again_at_once_goes_on(team):
    team.assign()
    unassign(team)
    tasks.assign(team.task, to=team.rosa, by=team.ada)
    team.deliver()
    assert status(team)[0] == "queued"
    assert len(team.messages()) == 2


def test_agent_that_unassigns_itself_ends_its_turn_as_it_likes(team):
    team.assign()
    unassign(team, by=team.rosa)
    team.deliver()
    assert status(team)[0] == "queued"
    assert "agent.session.stopped" not in team.timeline


def test_other_agents_and_other_conversations_on_the_task_go_on(team):
    bo = team.hire("Bo")
    team.assign()
    team.assign(bo)
    asked = instructions.start(team.world.agent, instruction="Look.", task=team.task, by=team.ada)
    tasks.change(team.task, by=team.ada, assignees=[bo])
    team.deliver()
    assert status(team, bo)[0] == "queued"
    assert Conversation.objects.get(pk=asked.pk).status == "queued"
    mine = Conversation.objects.get(agent=team.world.agent, trigger_type="task_assigned")
    assert mine.status == "stopped"


def test_mention_after_the_unassignment_is_not_lost_if_it_is_delivered_first(team):
    team.assign()
    unassign(team)
    comments.add(team.task, text="@rosa only the log, please", by=team.ada)
    stop, mention = PendingTrigger.objects.all()
    delivery.deliver(mention.pk)
    delivery.deliver(stop.pk)
    assert status(team) == ("stopped", "unassigned")
    delivery.deliver(mention.pk)
    assert status(team)[0] == "queued"
    assert "only the log" in team.messages()[-1]
    assert team.run_turn("Done.").status == "finished"


def test_stopped_agent_goes_on_when_it_is_assigned_again(team):
    team.assign()
    unassign(team)
    team.deliver()
    team.assign()
    assert status(team)[0] == "queued"
    assert team.run_turn("Done.").status == "finished"


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("delivered", [True, False])
def test_claim_at_the_same_time_as_the_unassignment_runs_nothing_for_long(
    team, delivered, monkeypatch
):
    """Either the claim comes first and its turn is told to stop, or nothing is claimed."""
    with monkeypatch.context() as undelivered:
        if not delivered:
            undelivered.setattr(delivery, "deliver", lambda _: None)
        tasks.assign(team.task, to=team.rosa, by=team.ada)
    PendingTrigger.objects.update(due_at=timezone.now())
    claimed: list[claim.Claimed] = []
    run_concurrently(
        [
            partial(unassign, team),
            lambda: claimed.extend(claim.claim("one", lease_seconds=60, limit=1)),
            delivery.deliver_due,
        ]
    )
    assert not PendingTrigger.objects.exists()
    if claimed:
        assert Trigger.objects.get(control="stop").kind == "unassigned"
    else:
        current = Conversation.objects.first()
        assert current is None or (current.status, current.reason) == ("stopped", "unassigned")


# --- what is deleted --------------------------------------------------------------------------------


def test_conversation_that_cannot_be_stopped_does_not_keep_the_others_running(
    team, monkeypatch, caplog
):
    from paca.conversations.services import lifecycle

    bo = team.hire("Bo")
    team.assign()
    team.assign(bo)
    stop = lifecycle._stop_of_deleted
    broken = team.conversation().pk

    def at_fault(conversation_id):
        if conversation_id == broken:
            raise ZeroDivisionError
        return stop(conversation_id)

    monkeypatch.setattr(lifecycle, "_stop_of_deleted", at_fault)
    tasks.delete(team.task, by=team.ada)
    assert services.stop_conversations_of_deleted() == 1
    assert status(team, bo) == ("stopped", "task_deleted")
    assert status(team)[0] == "queued"
    (logged,) = [each for each in caplog.records if hasattr(each, "conversation")]
    assert logged.conversation == str(broken)
