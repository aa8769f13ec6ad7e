"""What holds for the lead of a team holds for its teammates, also while they are idle or the lead has ended its turn."""

from __future__ import annotations

from typing import Any, TypeVar
from uuid import uuid4

import pytest
from django.utils import timezone

from paca import events
from paca.agents import services as agents
from paca.conversations import (
    deletion,
    helper_lists,
    sandbox_lifecycle,
    services,
)
from paca.conversations.models import Conversation, Teammate, Trigger
from paca.conversations.services import agent_status, approvals, lifecycle, plans
from paca.conversations.services.messages import ConversationRunning
from paca.conversations.services.teams import messages
from paca.engine.approvals.decisions import Decisions
from paca.engine.approvals.plans import PlanState
from paca.engine.turn import TurnOutcome
from paca.projects.models import Task
from paca.projects.services import tasks
from paca.worker import person_wait
from tests.conversations.team import store_events
from tests.conversations.team_desk import TeamDesk

pytestmark = pytest.mark.django_db
State = TypeVar("State", Decisions, PlanState)


@pytest.fixture
def desk() -> TeamDesk:
    return TeamDesk()


def fold(state: State, mate: Teammate) -> State:
    """What the log of a teammate tells a turn of it."""
    for event in store_events(mate.conversation):
        state = state.advance(event)
    return state


def lead_of(desk: TeamDesk) -> Conversation:
    return Conversation.objects.select_related("agent").get(pk=desk.lead.pk)


def answer(desk: TeamDesk) -> None:
    """Let the lead end its turn, and the one that reads the reports of its team."""
    while desk.status() == "running":
        desk.end(desk.lead)
    assert desk.status() == "finished"


def set_plan_mode(desk: TeamDesk, on: bool) -> None:
    services.set_flags(lead_of(desk), by=desk.team.ada, plan=on)


# --- approvals and plan mode ----------------------------------------------------------------------


def test_rest_that_is_approved_no_more_is_asked_of_idle_teammates_too(desk):
    Conversation.objects.filter(pk=desk.lead.pk).update(rest_approved_by="Ada")
    ann = desk.idle()
    assert fold(Decisions(), ann).rest_by == "Ada"
    approvals.revoke_rest(lead_of(desk), by=desk.team.ada)
    assert fold(Decisions(), ann).rest_by == ""


@pytest.mark.parametrize("begin", ["spawn", "idle"])
def test_plan_mode_of_the_lead_is_that_of_its_teammates(desk, begin):
    ann = getattr(desk, begin)("ann")
    set_plan_mode(desk, True)
    bob = getattr(desk, begin)("bob")
    assert [fold(PlanState(), mate).mode for mate in (ann, bob)] == [True, True]
    set_plan_mode(desk, False)
    assert [fold(PlanState(), mate).mode for mate in (ann, bob)] == [False, False]
    assert not Conversation.objects.get(pk=bob.conversation_id).reads_only


def test_approved_plan_of_the_lead_ends_the_plan_mode_of_its_teammates(desk):
    set_plan_mode(desk, True)
    ann = desk.spawn()
    proposed = events.PlanProposed(call_id=uuid4().hex, title="Login", steps=["Fix it."])
    arguments = {"title": proposed.title, "steps": proposed.steps}
    called = events.ToolCalled(call_id=proposed.call_id, tool="propose_plan", arguments=arguments)
    person_wait.begin(desk.leases[desk.lead.pk], [called], proposed)
    plans.decide(lead_of(desk), decision="approve", by=desk.team.ada)
    assert not fold(PlanState(), ann).mode


def test_team_in_plan_mode_claims_no_task_until_it_ends(desk):
    desk.plan("Login")
    set_plan_mode(desk, True)
    desk.idle()
    desk.settle(after=600)
    assert (desk.state(), desk.claims()) == ("idle", {})
    set_plan_mode(desk, False)
    desk.settle()
    assert desk.claims() == {"Login": "ann"}


# --- the agent ------------------------------------------------------------------------------------


def change_agent(desk: TeamDesk, status: str) -> None:
    agent = desk.team.world.agent
    agent_status.change(agent, status=status, mode="graceful", by=desk.team.ada)


def test_team_of_a_paused_agent_takes_no_task_until_it_is_active_again(desk):
    ann = desk.spawn()
    desk.plan("Login")
    desk.end(desk.lead)
    change_agent(desk, "paused")
    desk.end(ann)
    desk.settle(after=600)
    assert (desk.state(), desk.claims()) == ("idle", {})
    change_agent(desk, "active")
    desk.settle()
    assert desk.claims() == {"Login": "ann"}


def test_turn_of_a_teammate_does_not_begin_while_its_agent_is_paused(desk):
    ann = desk.idle()
    desk.call(desk.lead, "send_message", to="ann", text="Go on.")
    change_agent(desk, "paused")
    waiting = Conversation.objects.with_agent_load().get(pk=ann.conversation_id)
    assert (waiting.status, waiting.waits_for) == ("queued", "agent_paused")
    assert desk.claim() == []
    change_agent(desk, "active")
    assert desk.claim() == [waiting]


def test_team_of_a_removed_agent_ends_also_after_the_answer_of_its_lead(desk):
    desk.idle()
    answer(desk)
    agents.retire(desk.team.world.agent, by=desk.team.ada)
    desk.settle()
    assert desk.state() == "ended/stopped"


# --- a lead that has ended its turn ---------------------------------------------------------------


def work_on_a_task(desk: TeamDesk) -> Task:
    """The lead, whose turn has ended, works on a task; one teammate works and one is idle."""
    task = desk.team.task
    facts: dict[str, Any] = {"task": task, "trigger_type": "task_assigned"}
    Conversation.objects.filter(pk=desk.lead.pk).update(**facts)
    desk.spawn("ann")
    desk.idle("bob")
    answer(desk)
    return task


def assert_team_is_stopped(desk: TeamDesk) -> None:
    ann = desk.mate("ann")
    assert ann.conversation.triggers.filter(control="stop").exists()
    desk.settle()
    assert desk.state("bob") == "ended/stopped"


def test_team_of_a_deleted_task_is_stopped_once_also_after_the_answer_of_its_lead(desk):
    task = work_on_a_task(desk)
    tasks.delete(task, by=desk.team.ada)
    assert services.stop_conversations_of_deleted() == 1
    assert services.stop_conversations_of_deleted() == 0
    assert_team_is_stopped(desk)


def test_team_of_an_unassigned_agent_is_stopped_also_after_the_answer_of_its_lead(desk):
    task = work_on_a_task(desk)
    lifecycle.stop_unassigned(desk.team.world.agent, task, by=desk.team.ada)
    assert_team_is_stopped(desk)


def test_conversation_whose_team_works_is_not_archived_and_keeps_its_files(desk):
    desk.spawn()
    desk.end(desk.lead)
    sandbox_lifecycle.start(desk.lead.pk, backend="bubblewrap", boot_id="b1", at=timezone.now())
    with pytest.raises(ConversationRunning):
        services.archive(lead_of(desk), archived=True, by=desk.team.ada)
    with pytest.raises(ConversationRunning):
        deletion.delete_files(lead_of(desk), by=desk.team.ada)


def test_archive_ends_teammates_that_are_idle(desk):
    desk.idle()
    answer(desk)
    services.archive(lead_of(desk), archived=True, by=desk.team.ada)
    desk.settle()
    assert desk.state() == "ended/stopped"
    assert desk.status() == "finished"


# --- people ---------------------------------------------------------------------------------------


def test_messages_of_a_team_are_counted_on_past_an_end_of_background_work(desk, monkeypatch):
    monkeypatch.setattr(messages, "MAX_MESSAGES", 1)
    desk.spawn()
    desk.call(desk.lead, "send_message", to="ann", text="Thanks!")
    Trigger.objects.create(conversation=desk.lead, kind="background", source="system")
    with pytest.raises(messages.TooManyMessages):
        desk.call(desk.lead, "send_message", to="ann", text="Thanks!")


def test_lanes_show_a_teammate_that_lives_before_later_ones_that_have_ended(desk, monkeypatch):
    monkeypatch.setattr(helper_lists, "MOST", 1)
    desk.idle("ann")
    desk.end(desk.spawn("bob"), "", TurnOutcome("failed", "model_error", "No key."))
    assert desk.state("bob") == "ended/failed"
    assert [each.team.name for each in helper_lists.newest(desk.lead) if each.team] == ["ann"]
    assert helper_lists.has_team(desk.lead)
