"""A pause of a lead or of its agent reaches the team: it rests where it stopped, and goes on with them."""

from __future__ import annotations

import pytest

from paca.agents.models import Agent
from paca.conversations.models import Conversation, Trigger
from paca.conversations.services import agent_status, lifecycle
from paca.conversations.services.teams import settling
from paca.engine.turn import TurnOutcome
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
