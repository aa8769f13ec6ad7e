"""The work of an agent that is retired, paused, inactive, or at its limit."""

import pytest

from paca.agents import services as agents
from paca.conversations import services as conversations
from paca.conversations.services import AgentUnavailable
from tests.support.flow import Flow, ObservedConversation, assert_replay_matches, wait_until
from tests.support.model_script import calls, fails, says

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.service]


def begin_with_another_agent(flow: Flow, text: str) -> ObservedConversation:
    """Start a chat with an active agent of the same project."""
    agent = agents.create(
        flow.world.project,
        role=flow.world.role("agent"),
        by=flow.world.owner,
        name="Nils",
        handle="nils",
        llm_api_key="sk-test-1234",
        **flow.model_settings(),
    )
    sent = conversations.start_chat(agent, text=text, by=flow.world.owner)
    return ObservedConversation(sent.conversation_id)


def test_retired_agent_stops_at_once_and_its_conversation_stays_readable(flow):
    conversation = flow.begin("Go", [calls(bash="sleep 300")])
    wait_until(lambda: conversation.has_event("tool.started"))
    agents.retire(flow.world.agent, by=flow.world.owner)
    flow.wait_until_idle(conversation)  # sooner than the command ends
    assert conversation.status == "stopped/agent_removed"
    assert conversation.frames[0]["data"]["text"] == "Go"
    assert_replay_matches(conversation)


def test_paused_agent_queues_work_and_takes_it_up_later(flow):
    agents.configure(flow.world.agent, by=flow.world.owner, status="paused")
    conversation = flow.begin("Later", [says("Here."), says("Now.")])
    # The worker takes the oldest first, so it has passed over the conversation of the paused agent.
    after = begin_with_another_agent(flow, "Soon")
    assert flow.wait_until_idle(after) == "finished/answered"
    assert conversation.row.status == "queued"
    agents.configure(flow.world.agent, by=flow.world.owner, status="active")
    flow.wait_until_idle(conversation)
    assert conversation.answers == ["Now."]


def test_inactive_agent_refuses_work_and_says_what_to_do(flow):
    agents.configure(flow.world.agent, by=flow.world.owner, status="inactive")
    with pytest.raises(AgentUnavailable, match="active"):
        flow.begin("Hello")


def test_agent_runs_no_more_conversations_than_its_limit(transactional_db, tmp_path):
    with Flow(tmp_path, limit_concurrent=2) as flow:
        flow.model.script(lambda body: fails("hang"))
        started = [flow.begin(f"number {n}") for n in range(4)]
        # The worker takes the oldest first, so it has passed over two of these.
        after = begin_with_another_agent(flow, "after them")
        wait_until(lambda: after.row.status == "running")
        wait_until(lambda: flow.model.in_flight == 3)
        assert sorted(one.row.status for one in started) == [
            "queued",
            "queued",
            "running",
            "running",
        ]
        for one in (*started, after):
            flow.stop(one)
        for one in (*started, after):
            flow.wait_until_idle(one)
