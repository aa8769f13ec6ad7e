"""The loop guard: an agent that repeats the same step is warned once, then paused, and can go on."""

import itertools

import pytest

from paca.conversations import services
from tests.support.flow import assert_replay_matches, wait_until
from tests.support.model_script import calls, says
from tests.support.worker_process import WorkerProcess

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.service]

MOST_MODEL_CALLS = 8


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


def test_loop_guard_counts_anew_after_a_message(flow):
    """T-27."""
    conversation = flow.ask("[[fake turns=200 cmd='ls']]")
    other = [calls(bash="ls")] * 2 + [calls(bash="ls -a"), says("Found it.")]
    flow.ask("Try another way", other, after=conversation)
    assert (conversation.status, conversation.answers[-1]) == ("finished/answered", "Found it.")
    assert len(conversation.event_data("guard.noticed")) == 1
    shown = str(flow.model.requests[-1].body["messages"])
    assert shown.count("exit 0") == 8  # of both turns, nothing compacted
    assert shown.index("You called bash 3 times") < shown.index("Try another way")
    assert flow.model.violations == []
    assert_replay_matches(conversation)


def test_loop_guard_counts_anew_after_continue(flow):
    conversation = flow.ask("[[fake turns=200 cmd='ls']]")
    services.continue_(conversation.row, by=flow.world.owner)
    wait_until(lambda: len(conversation.event_data("conversation.paused")) == 2)
    assert conversation.status == "paused/stuck"
    assert len(conversation.event_data("tool.called")) == 10
    assert len(conversation.event_data("guard.noticed")) == 2
    assert flow.model.violations == []
    assert_replay_matches(conversation)


def test_loop_guard_counts_anew_after_a_message_during_the_turn(flow):
    flow.model.script(lambda body: calls(bash="sleep 0.5"))
    conversation = flow.begin("Go")
    wait_until(lambda: len(conversation.event_data("tool.returned")) >= 3)
    flow.send(conversation, "Go on with that")
    flow.wait_until_idle(conversation)
    assert conversation.status == "paused/stuck"
    since = conversation.event_types[conversation.event_types.index("message.received", 1) :]
    assert since.count("tool.called") == 5
    assert_replay_matches(conversation)


@pytest.mark.parametrize(
    "script",
    [
        "[[fake turns=9 cmd='echo x >> n; wc -l n']]",  # the output changes
        "[[fake turns=2 par=3 cmd='ls']]",  # equal parallel calls are one step
        "[[fake turns=9 cmd='ls; : {i}']]",  # a different command each time
    ],
)
def test_loop_guard_ignores_progress(flow, script):
    conversation = flow.ask(script)
    assert conversation.status == "finished/answered"
    assert not conversation.has_event("guard.noticed")


def test_loop_guard_notices_two_alternating_steps_without_progress(flow):
    turns = itertools.cycle([calls(bash="ls"), calls(list_directory=".")])
    flow.model.script(lambda body: next(turns))
    conversation = flow.ask("Go")
    assert conversation.status == "paused/stuck"
    assert len(conversation.event_data("guard.noticed")) == 1
    assert len(flow.model.requests) == MOST_MODEL_CALLS
    assert flow.model.violations == []


@pytest.mark.parametrize("wrong", ["badargs", "badtool"])
def test_loop_guard_counts_invalid_calls(flow, wrong):
    conversation = flow.ask(f"[[fake turns=200 cmd='ls' err={wrong}@*]]")
    assert conversation.status == "paused/stuck"
    assert len(flow.model.requests) == 5
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
