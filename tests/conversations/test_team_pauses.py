"""A pause of a lead or of its agent reaches the team: it rests where it stopped, and goes on with them."""

from __future__ import annotations

import pytest

from paca.agents.models import Agent
from paca.conversations.models import Conversation, Trigger
from paca.conversations.services import agent_status, lifecycle, send
from paca.conversations.services.teams import settling
from paca.engine.turn import TurnOutcome
from paca.worker import turn_models
from tests.conversations.team_desk import TeamDesk

pytestmark = pytest.mark.django_db
PAUSED = TurnOutcome("paused", "by_person")


@pytest.fixture
def desk() -> TeamDesk:
    return TeamDesk()


def change_agent(desk: TeamDesk, status: str, mode: str = "immediate") -> None:
    agent = Agent.objects.get(pk=desk.team.world.agent.pk)
    agent_status.change(agent, status=status, mode=mode, by=desk.team.ada)


def lead_of(desk: TeamDesk) -> Conversation:
    return Conversation.objects.select_related("agent").get(pk=desk.lead.pk)


def pauses_of(desk: TeamDesk, name: str = "ann") -> int:
    """The number of pauses that wait for the running turn of a teammate."""
    mate = desk.mate(name).conversation_id
    return Trigger.objects.filter(conversation=mate, control="pause", state="new").count()


def pause(desk: TeamDesk) -> None:
    lifecycle.pause(lead_of(desk), by=desk.team.ada)


def go_on(desk: TeamDesk) -> list[Conversation]:
    """Resume the lead; gives what workers begin then."""
    lifecycle.resume(lead_of(desk), by=desk.team.ada)
    desk.settle()
    return desk.claim()


def obey(desk: TeamDesk, name: str = "ann") -> None:
    """Let the running turn of a teammate end at its next step, as the pause says."""
    assert pauses_of(desk, name) == 1
    desk.end(desk.mate(name), "", PAUSED)


@pytest.mark.parametrize("is_over", [False, True], ids=["lead at work", "lead has answered"])
def test_immediate_pause_of_an_agent_reaches_a_teammate_that_goes_on_with_it(
    is_over: bool, desk: TeamDesk
) -> None:
    ann = desk.spawn()
    if is_over:
        desk.end(desk.lead)
    change_agent(desk, "paused")
    if not is_over:
        desk.end(desk.lead, "", PAUSED)
    obey(desk)
    desk.settle(after=600)
    assert (desk.status(ann), desk.mate("ann").ended_at) == ("paused", None)
    assert desk.messages() == []
    change_agent(desk, "active")
    desk.settle()
    assert ann.conversation in desk.claim()
    desk.end(ann, "Done after all.")
    assert "Done after all." in desk.messages()[0]


def test_graceful_pause_lets_the_turn_of_a_teammate_finish(desk: TeamDesk) -> None:
    desk.spawn()
    change_agent(desk, "paused", "graceful")
    assert pauses_of(desk) == 0


def test_pause_of_a_lead_reaches_its_team_which_goes_on_with_it(desk: TeamDesk) -> None:
    ann, bob = desk.spawn("ann"), desk.spawn("bob")
    lifecycle.pause(lead_of(desk), by=desk.team.ada)
    obey(desk, "ann")  # before the lead, whose step is longer
    assert desk.status(ann) == "paused"
    desk.end(desk.lead, "", PAUSED)
    obey(desk, "bob")
    desk.settle(after=600)
    assert [desk.status(each) for each in (desk.lead, ann, bob)] == ["paused"] * 3
    lifecycle.resume(lead_of(desk), by=desk.team.ada)
    desk.settle()
    assert set(desk.claim()) == {desk.lead, ann.conversation, bob.conversation}


def test_paused_teammate_ends_with_the_stop_of_its_lead(desk: TeamDesk) -> None:
    desk.spawn()
    desk.end(desk.lead)
    change_agent(desk, "paused")
    obey(desk)
    lifecycle.stop(lead_of(desk), by=desk.team.ada)
    desk.settle()
    assert desk.state() == "ended/stopped"


def test_paused_team_costs_a_worker_one_query(desk: TeamDesk, django_assert_num_queries) -> None:
    desk.spawn()
    change_agent(desk, "paused")
    desk.end(desk.lead, "", PAUSED)
    obey(desk)
    with django_assert_num_queries(1):
        settling.settle_due(now=desk.now)


@pytest.mark.parametrize("beside_a_message", [False, True])
def test_teammate_that_goes_on_uses_the_key_of_the_person_for_whom_it_began(
    beside_a_message: bool, desk: TeamDesk
) -> None:
    desk.spawn()
    if beside_a_message:
        desk.call(desk.lead, "send_message", to="ann", text="And the tests.")
    pause(desk)
    obey(desk)
    desk.end(desk.lead, "", PAUSED)
    go_on(desk)
    ann = desk.mate("ann").conversation
    assert (ann.status, ann.turn_number) == ("running", 2)
    assert turn_models.beginner_of(ann).user_id == desk.team.world.user.pk


# --- what would begin while the lead ends its last step ----------------------------------------------


def test_idle_teammate_gets_no_task_while_the_lead_ends_its_last_step(
    desk: TeamDesk, django_assert_num_queries
) -> None:
    desk.idle()
    bob = desk.spawn("bob")
    pause(desk)
    desk.plan("Login")
    with django_assert_num_queries(1):
        settling.settle_due(now=desk.now)
    desk.end(bob)  # its turn ends, which lets a worker look at the whole team
    assert (desk.claims(), desk.state()) == ({}, "idle")
    desk.end(desk.lead, "", PAUSED)
    go_on(desk)
    assert desk.claims() == {"Login": "ann"}


def test_teammate_that_the_last_step_spawns_begins_with_the_lead(desk: TeamDesk) -> None:
    pause(desk)
    bob = desk.spawn("bob")
    assert desk.status(bob) == "queued"
    desk.end(desk.lead, "", PAUSED)
    assert desk.claim() == []
    assert set(go_on(desk)) == {desk.lead, bob.conversation}


def test_teammate_that_began_as_the_lead_was_paused_pauses_too(desk: TeamDesk) -> None:
    ann = desk.spawn()
    pause(desk)
    # As if a worker had claimed it just before, unseen by the pause.
    Trigger.objects.filter(conversation=ann.conversation, control="pause").delete()
    desk.end(desk.lead, "", PAUSED)
    obey(desk)
    desk.settle()
    assert desk.status(ann) == "paused"


@pytest.mark.parametrize("is_over", [False, True], ids=["lead ends its step", "lead has paused"])
def test_teammate_that_answers_under_a_pause_reads_a_newer_message_with_the_lead(
    is_over: bool, desk: TeamDesk
) -> None:
    ann, bob = desk.spawn("ann"), desk.spawn("bob")
    pause(desk)
    if is_over:
        desk.end(desk.lead, "", PAUSED)
    desk.call(bob, "send_message", to="ann", text="Look at this.")
    desk.end(ann, "Done before the pause.")
    assert (desk.status(ann), desk.claim()) == ("paused", [])
    if not is_over:
        desk.end(desk.lead, "", PAUSED)
    assert ann.conversation in go_on(desk)


def test_report_of_a_teammate_does_not_end_the_pause_of_its_lead(desk: TeamDesk) -> None:
    ann = desk.spawn()
    pause(desk)
    desk.end(ann, "Found it.")
    desk.end(desk.lead, "", PAUSED)
    assert (desk.status(), desk.claim()) == ("paused", [])
    assert go_on(desk) == [desk.lead]
    assert "Found it." in desk.messages()[0]


# --- what a pause outlives ---------------------------------------------------------------------------


@pytest.mark.parametrize("agrees", [True, False], ids=["it has agreed", "it has not answered"])
def test_teammate_that_was_asked_to_end_does_not_go_on_after_a_pause(
    agrees: bool, desk: TeamDesk, settings
) -> None:
    ann = desk.spawn()
    desk.call(desk.lead, "shut_down_teammate", name="ann")
    if agrees:
        desk.call(ann, "answer_shutdown", agree=True)
    pause(desk)
    obey(desk)
    desk.end(desk.lead, "", PAUSED)
    desk.settle(after=settings.TEAM_ANSWER_SECONDS + 1)
    assert ann.conversation not in go_on(desk)
    assert (desk.state(), desk.status(ann)) == ("ended/shutdown", "stopped")


@pytest.mark.parametrize("way", ["resume", "continue", "message"])
def test_teammate_that_has_not_obeyed_a_pause_works_on_with_the_lead(
    way: str, desk: TeamDesk
) -> None:
    ann = desk.spawn()  # in a long command, or it waits for an approval
    pause(desk)
    desk.end(desk.lead, "", PAUSED)
    match way:
        case "resume":
            lifecycle.resume(lead_of(desk), by=desk.team.ada)
        case "continue":
            lifecycle.continue_(lead_of(desk), by=desk.team.ada)
        case "message":
            send(lead_of(desk), text="Go on.", by=desk.team.ada)
    assert (desk.status(), desk.status(ann), pauses_of(desk)) == ("queued", "running", 0)


def test_pause_that_a_lead_has_answered_before_is_over_for_its_team(desk: TeamDesk) -> None:
    desk.spawn()
    pause(desk)
    desk.end(desk.lead, "All is done.")
    assert (desk.status(), pauses_of(desk)) == ("finished", 0)


def test_teammate_obeys_a_pause_of_its_agent_although_its_lead_is_resumed(desk: TeamDesk) -> None:
    desk.spawn()
    pause(desk)
    desk.end(desk.lead, "", PAUSED)
    change_agent(desk, "paused")
    lifecycle.resume(lead_of(desk), by=desk.team.ada)
    obey(desk)
