"""The loop guard: an agent that repeats the same step is warned once, then paused, and can go on."""

import pytest

from tests.support.flow import assert_replay_matches, wait_until
from tests.support.model_script import calls
from tests.support.worker_process import WorkerProcess

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.service]


def test_loop_guard_warns_once_about_a_repeated_call_and_then_pauses(flow):
    """T-25."""
    conversation = flow.begin("[[fake turns=200 cmd='ls']]")
    flow.wait_until_idle(conversation)
    assert conversation.status == "paused/stuck"
    assert len(flow.model.requests) == 5
    (noticed,) = conversation.event_data("guard.noticed")
    assert (noticed["guard"], noticed["note"][:24]) == ("repeated_step", "You called bash 3 times ")
    shown = [noticed["note"] in str(asked.body["messages"][-1]) for asked in flow.model.requests]
    assert shown == [False, False, False, True, False]
    (paused,) = conversation.event_data("conversation.paused")
    assert paused["detail"].startswith("The agent called bash 5 times")
    assert flow.model.violations == []
    assert_replay_matches(conversation)


def test_loop_guard_keeps_its_count_when_another_worker_takes_over(flow):
    flow.stop_worker()
    with WorkerProcess(flow.folder) as process:
        flow.model.script(lambda body: calls(bash="sleep 0.5; ls"))
        conversation = flow.begin("Go")
        for so_far in (2, 4):
            wait_until(
                lambda so_far=so_far: len(conversation.event_data("tool.returned")) >= so_far
            )
            process.kill()
            process.start()
        flow.wait_until_idle(conversation)
    assert conversation.status == "paused/stuck"
    assert len(conversation.event_data("tool.called")) == 5
    assert len(conversation.event_data("guard.noticed")) == 1
    assert flow.model.violations == []
    assert_replay_matches(conversation)
