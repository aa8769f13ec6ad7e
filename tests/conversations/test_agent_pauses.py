"""Turns that are paused with their agent, also those with helpers, and what goes on when it is active again."""

from __future__ import annotations

import pytest

from paca import events
from paca.agents.models import Agent
from paca.conversations import agent_impact
from paca.conversations.models import Conversation, Trigger
from paca.conversations.services import agent_status, helpers
from paca.engine.helpers.requests import HelpersRequested, Piece
from paca.engine.turn import TurnOutcome
from paca.worker import claim, helper_wait, turn_end, turn_models
from tests.conversations.chat import CALL, Chat

pytestmark = pytest.mark.django_db
PAUSED = TurnOutcome("paused", "by_person")


@pytest.fixture
def chat() -> Chat:
    return Chat(limit_concurrent=4)


def change(chat: Chat, status: str, mode: str = "graceful") -> None:
    body = {"status": status, "mode": mode, "confirm": True}
    address = f"{chat.project_url}agents/{chat.world.agent.pk}/status/"
    assert chat.api.post(address, body).status_code == 200


def claim_all() -> dict[str, claim.Claimed]:
    found = claim.claim("w", lease_seconds=60, limit=10)
    return {str(each.lease.conversation_id): each for each in found}


def claimed() -> list[str]:
    return list(claim_all())


def test_pause_of_a_person_beside_that_of_the_status_stays(chat: Chat) -> None:
    lease = chat.start_turn(chat.start("Running")["conversation"])
    assert chat.api.post(chat.url(lease.conversation_id, "pause/")).status_code == 202
    change(chat, "paused", "immediate")
    turn_end.end_turn(lease, [], TurnOutcome("paused", "by_person"), steps=1)
    change(chat, "active")
    assert chat.row(lease.conversation_id).status == "paused"


@pytest.mark.parametrize("way", ["settings", "inactive between"])
def test_agent_that_is_active_again_goes_on_whichever_way_it_came(way: str, chat: Chat) -> None:
    paused = chat.start_turn(chat.start("Paused")["conversation"])
    running = chat.start_turn(chat.start("Running")["conversation"])
    change(chat, "paused", "immediate")
    turn_end.end_turn(paused, [], TurnOutcome("paused", "by_person"), steps=1)
    if way == "settings":
        agent = f"{chat.project_url}agents/{chat.world.agent.pk}/"
        assert chat.api.patch(agent, {"status": "active"}).status_code == 200
    else:
        change(chat, "inactive")
        change(chat, "active")
    assert chat.row(paused.conversation_id).status == "queued"
    assert not Trigger.objects.filter(control="pause", state="new").exists()
    assert chat.row(running.conversation_id).status == "running"


def test_turn_that_obeys_a_pause_which_was_taken_back_meanwhile_goes_on(chat: Chat) -> None:
    lease = chat.start_turn(chat.start("Running")["conversation"])
    change(chat, "paused", "immediate")
    # The turn has read the pause, and ends after the agent is active again.
    change(chat, "active")
    turn_end.end_turn(lease, [], TurnOutcome("paused", "by_person"), steps=1)
    assert claimed() == [str(lease.conversation_id)]


def test_turn_that_goes_on_with_its_agent_uses_the_key_of_the_person_who_began_it(
    chat: Chat,
) -> None:
    lease = chat.start_turn(chat.start("Running")["conversation"])
    change(chat, "paused", "immediate")
    turn_end.end_turn(lease, [], PAUSED, steps=1)
    agent = Agent.objects.get(pk=chat.world.agent.pk)
    agent_status.change(agent, status="active", mode="graceful", by=None)
    assert claimed() == [str(lease.conversation_id)]
    again = chat.row(lease.conversation_id)
    assert again.turn_number == 2
    assert turn_models.beginner_of(again).user_id == chat.world.user.pk


# --- helpers ----------------------------------------------------------------------------------------


def waits_for_helpers(chat: Chat) -> tuple[Conversation, list[Conversation]]:
    """A conversation that waits for two helpers, which no worker has yet."""
    lease = chat.start_turn(chat.start("Split it")["conversation"])
    pieces = tuple(Piece(kind="explore", task=task) for task in ("One", "Two"))
    called = events.ToolCalled(call_id=CALL, tool="delegate", arguments={})
    assert (
        helper_wait.begin(lease, [called], HelpersRequested(CALL, pieces), allowance=None) is None
    )
    parent = chat.row(lease.conversation_id)
    assert parent.waits_for_helpers
    return parent, helpers.of(parent)


@pytest.mark.parametrize("status", ["paused", "inactive"])
def test_graceful_change_lets_the_helpers_of_a_turn_begin(status: str, chat: Chat) -> None:
    _, children = waits_for_helpers(chat)
    change(chat, status)
    assert {each.waits_for for each in children} == {"worker"}
    assert set(claimed()) == {str(each.pk) for each in children}


def test_immediate_pause_reaches_helpers_and_they_go_on_with_the_agent(chat: Chat) -> None:
    parent, (first, second) = waits_for_helpers(chat)
    leases = {each.lease.conversation_id: each.lease for each in claim_all().values()}
    change(chat, "paused", "immediate")
    for child in (first, second):
        turn_end.end_turn(leases[child.pk], [], PAUSED, steps=1)
    helpers.settle_due()
    (again,) = claim_all().values()
    assert again.lease.conversation_id == parent.pk
    turn_end.end_turn(again.lease, [], PAUSED, steps=1)
    helpers.settle_due()
    rows = [chat.row(each.pk).status for each in (parent, first, second)]
    assert rows == ["paused", "paused", "paused"]
    assert claimed() == []
    change(chat, "active")
    assert claimed() == [str(parent.pk)]
    helpers.go_on(chat.row(parent.pk))
    assert set(claimed()) == {str(first.pk), str(second.pk)}
    assert turn_models.beginner_of(chat.row(first.pk)).user_id == chat.world.user.pk


def test_helper_does_not_begin_while_its_conversation_is_about_to_pause(chat: Chat) -> None:
    parent, _ = waits_for_helpers(chat)
    assert chat.api.post(chat.url(parent.pk, "pause/")).status_code == 202
    assert claimed() == [str(parent.pk)]


def test_helpers_count_as_parts_of_their_conversation(chat: Chat) -> None:
    waits_for_helpers(chat)
    impact = agent_impact.measure(chat.world.agent)
    assert (impact.running, impact.queued, impact.waiting) == (1, 0, 0)
