"""What becomes of an agent's work when the agent changes: retired, paused, inactive, at its limit."""

import time

import pytest

from paca.agents import services as agents
from paca.conversations.services import AgentUnavailable
from tests.support.flow import Flow, assert_replay_matches, until
from tests.support.model_script import calls, fails, says

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.service]


def test_a_retired_agent_stops_at_once_and_its_conversation_stays_readable(flow):
    told = flow.begin("Go", [calls(bash="sleep 30")])
    until(lambda: told.has("tool.started"))
    agents.retire(flow.world.agent, by=flow.world.owner)
    flow.rest(told, 20)  # and not as long as the command takes
    assert told.status == "stopped/agent_removed"
    assert told.frames[0]["data"]["text"] == "Go"
    assert_replay_matches(told)


def test_a_paused_agent_lets_work_queue_and_takes_it_up_later(flow):
    agents.configure(flow.world.agent, by=flow.world.owner, status="paused")
    told = flow.begin("Later", [says("Now.")])
    time.sleep(1.5)
    assert told.row.status == "queued"
    agents.configure(flow.world.agent, by=flow.world.owner, status="active")
    flow.rest(told)
    assert told.answers == ["Now."]


def test_an_inactive_agent_refuses_work_and_says_what_to_do(flow):
    agents.configure(flow.world.agent, by=flow.world.owner, status="inactive")
    with pytest.raises(AgentUnavailable, match="active"):
        flow.begin("Hello")


def test_an_agent_works_in_no_more_conversations_than_it_may(transactional_db, tmp_path):
    with Flow(tmp_path, limit_concurrent=2) as flow:
        flow.model.script(lambda body: fails("hang"))
        told = [flow.begin(f"number {n}") for n in range(4)]
        until(lambda: flow.model.in_flight == 2)
        time.sleep(1.5)
        assert flow.model.in_flight == 2
        assert sorted(one.row.status for one in told) == ["queued", "queued", "running", "running"]
        for one in told:
            flow.stop(one)
        for one in told:
            flow.rest(one)
