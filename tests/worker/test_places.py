"""Places of an agent: a conversation that waits for a person leaves its place, and takes one again afterwards."""

import pytest

from paca.agents.services import agents
from paca.conversations import services
from paca.events import MessageSpoken
from paca.worker import claim, claim_queries
from tests.conversations.chat import Chat
from tests.conversations.waiting_call import WaitingCall

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def call() -> WaitingCall:
    """A call that waits for a person, of an agent that works in one conversation at a time."""
    made = WaitingCall(Chat(approval="unsafe"))
    agents.configure(made.chat.world.agent, by=made.chat.world.owner, limit_concurrent=1)
    return made


def claimed(worker: str = "w") -> list[str]:
    found = claim.claim(worker, lease_seconds=60, limit=10)
    return [str(each.lease.conversation_id) for each in found]


def test_agent_works_elsewhere_while_one_conversation_waits_for_a_person(call):
    other = call.chat.start("Another")["conversation"]
    assert call.chat.row(other).waits_for == "worker"
    assert claimed() == [other]


def test_decided_conversation_waits_for_a_place_and_comes_before_queued_ones(call):
    other = call.chat.start("Another")["conversation"]
    lease = call.chat.start_turn(other)
    queued = call.chat.start("A third")["conversation"]
    assert call.decide().status_code == 200
    assert claimed() == []
    call.chat.finish_turn(lease, MessageSpoken(text="Done."))
    assert claimed() == [str(call.id)]
    assert call.chat.row(queued).waits_for == "agent_busy"


def test_decided_conversations_without_a_place_hide_no_work_of_other_agents(call):
    lease = call.chat.start_turn(call.chat.start("Another")["conversation"])
    assert call.decide().status_code == 200
    assert list(claim_queries.claimable()) == []
    call.chat.finish_turn(lease, MessageSpoken(text="Done."))
    assert [each.pk for each in claim_queries.claimable()] == [call.id]


def test_two_decided_conversations_take_the_place_one_after_the_other(call):
    agents.configure(call.chat.world.agent, by=call.chat.world.owner, limit_concurrent=2)
    second = WaitingCall(call.chat)
    agents.configure(call.chat.world.agent, by=call.chat.world.owner, limit_concurrent=1)
    for each in (call, second):
        assert each.decide().status_code == 200
    assert len(claimed()) == 1
    assert claimed() == []


def test_stop_ends_a_decided_conversation_at_once_without_a_place(call):
    other = call.chat.start("Another")["conversation"]
    call.chat.start_turn(other)
    services.stop(call.row, by=call.chat.world.owner)
    assert claimed() == [str(call.id)]


def test_work_of_an_agent_with_a_higher_priority_is_begun_first(call):
    world = call.chat.world
    urgent = agents.create(
        world.project,
        name="Urgent",
        handle="urgent",
        model="demo/guide",
        role=world.role("agent"),
        by=world.owner,
        priority=3,
    )
    older = call.chat.start("Older")["conversation"]
    newer = services.start_chat(urgent, text="Newer", by=world.owner).conversation_id
    waiting = [str(each.pk) for each in claim_queries.claimable()]
    assert waiting == [str(newer), older]
