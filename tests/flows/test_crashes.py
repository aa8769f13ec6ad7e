"""A worker is killed at any moment: the conversation goes on from its log, and nothing runs twice."""

import asyncio
import os
import signal
from dataclasses import replace

import pytest

from paca.conversations.models import Conversation
from paca.sandbox.bubblewrap.backend import Bubblewrap
from tests.support import runners
from tests.support.flow import UNTIL_ALLOWED, Flow, assert_replay_matches, wait_until
from tests.support.model_script import calls, fails, says
from tests.support.worker_process import WorkerProcess

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.service]


@pytest.fixture
def killable(flow):
    """A flow whose worker is a process instead of a thread."""
    flow.stop_worker()
    with WorkerProcess(flow.folder) as process:
        yield flow, process


def test_command_of_a_killed_worker_is_attached_to_and_never_run_again(killable):
    """T-19, with a command that outlives the lease."""
    flow, process = killable
    command = f"echo x >> once.txt; {UNTIL_ALLOWED}; echo whole"
    conversation = flow.begin(
        "Go", [calls(bash=command), calls(bash="cat once.txt"), says("Once.")]
    )
    flow.wait_until_written(conversation, "once.txt")
    process.kill()
    process.start()
    wait_until(lambda: conversation.has_event("conversation.resumed"))
    flow.let_command_end(conversation)
    flow.wait_until_idle(conversation)
    assert conversation.answers == ["Once."]
    assert "whole" in conversation.outputs[0]
    assert conversation.outputs[1].splitlines()[0] == "x"
    assert conversation.outputs[1].splitlines()[1].startswith("[exit 0")
    assert flow.model.violations == []
    assert_replay_matches(conversation)


def test_model_call_of_a_killed_worker_is_repeated_and_its_row_is_closed(killable):
    flow, process = killable
    conversation = flow.begin("Hello", [says("Slow " * 60).slowly(tps=10), says("Here.")])
    wait_until(lambda: flow.model.in_flight == 1)
    process.kill()
    process.start()
    flow.wait_until_idle(conversation)
    assert conversation.answers == ["Here."]
    statuses = sorted(conversation.row.model_calls.values_list("status", flat=True))
    assert statuses == ["abandoned", "done"]
    assert_replay_matches(conversation)


def test_message_that_is_written_while_no_worker_lives_is_answered_by_the_turn_that_reads_it(
    killable,
):
    """In a command: the next worker carries the turn on, and no second turn says "Go on."."""
    flow, process = killable
    command = f"echo x > begun; {UNTIL_ALLOWED}"
    conversation = flow.begin("Go", [calls(bash=command), says("Both done."), says("Again.")])
    flow.wait_until_written(conversation, "begun")
    process.kill()
    flow.send(conversation, "And also this")
    flow.let_command_end(conversation)
    process.start()
    flow.wait_until_idle(conversation)
    assert conversation.answers == ["Both done."]
    assert len(flow.model.requests) == 2
    assert set(conversation.row.triggers.values_list("state", "turn")) == {("done", 1)}
    assert_replay_matches(conversation)


def test_message_after_a_kill_in_a_model_call_is_answered_by_the_repeated_call(killable):
    flow, process = killable
    replies = [says("Slow " * 60).slowly(tps=10), says("Both done."), says("Again.")]
    conversation = flow.begin("Hello", replies)
    wait_until(lambda: flow.model.in_flight == 1)
    process.kill()
    flow.send(conversation, "And also this")
    process.start()
    flow.wait_until_idle(conversation)
    assert conversation.answers == ["Both done."]
    assert len(flow.model.requests) == 2
    assert set(conversation.row.triggers.values_list("state", "turn")) == {("done", 1)}


def test_run_that_waited_between_two_attempts_is_carried_on_after_its_worker_was_killed(killable):
    flow, process = killable
    replies = [replace(fails("429"), retry_after="60"), says("Here.")]
    conversation = flow.begin("Hello", replies)
    wait_until(lambda: conversation.has_event("model.retried"))
    process.kill()
    process.start()
    flow.wait_until_idle(conversation)
    assert conversation.answers == ["Here."]
    assert_replay_matches(conversation)


def test_dead_worker_on_this_host_is_noticed_before_its_lease_ends(flow):
    flow.stop_worker()
    with WorkerProcess(flow.folder, lease_seconds=600) as process:
        conversation = flow.begin("Hello", [says("Slow " * 60).slowly(tps=10), says("Here.")])
        wait_until(lambda: flow.model.in_flight == 1)
        process.kill()
        process.start()
        wait_until(lambda: conversation.has_event("conversation.resumed"))
        flow.wait_until_idle(conversation)


def test_tool_call_outcome_is_unknown_and_shown_as_such_after_its_sandbox_was_lost(killable):
    """The runner died too, so the outcome is unknown: the model reads this, and nothing is repeated."""
    flow, process = killable
    conversation = flow.begin("Go", [calls(bash="echo x >> once.txt; sleep 30"), says("I check.")])
    flow.wait_until_written(conversation, "once.txt")
    process.kill()
    manager = flow.sandboxes()
    asyncio.run(manager.sweep(set()))
    process.start()
    flow.wait_until_idle(conversation)
    assert conversation.has_event("tool.outcome_unknown")
    assert conversation.answers == ["I check."]
    assert flow.file_of(conversation, "once.txt").read_text() == "x\n"
    assert_replay_matches(conversation)


def test_sandbox_loss_between_two_commands_is_shown_during_the_model_call(flow):
    """The loss is noticed although no tool call uses the sandbox at that moment."""
    replies = [
        calls(bash="echo x > kept.txt"),
        says("Slow " * 80).slowly(tps=10) + calls(bash="cat kept.txt"),
        says("Kept."),
    ]
    conversation = flow.begin("Go", replies)
    wait_until(lambda: conversation.has_event("tool.returned") and flow.model.in_flight == 1)
    os.kill(runners.pid(Bubblewrap(flow.folder, "any"), conversation.id), signal.SIGKILL)
    wait_until(lambda: conversation.has_event("sandbox.lost"))
    assert flow.model.in_flight == 1, "the model call is still open"
    flow.wait_until_idle(conversation)
    (lost,) = conversation.event_data("sandbox.lost")
    assert (lost["end"], lost["exit_code"]) == ("killed", 137)
    assert conversation.outputs[1].startswith("x\n")
    assert not conversation.has_event("tool.outcome_unknown")
    assert_replay_matches(conversation)


def test_run_needs_no_viewer(flow):
    """T-05: the answer is stored although no viewer is connected."""
    conversation = flow.ask("[[fake ftd=500 say='Whole answer.']]")
    assert conversation.answers == ["Whole answer."]


def test_conversations_of_two_workers_are_each_run_once(transactional_db, tmp_path):
    """Two workers share one queue."""
    with Flow(tmp_path) as flow, WorkerProcess(tmp_path):
        flow.model.script(lambda body: says("ok"))
        conversations = [flow.begin(f"number {n}") for n in range(12)]
        for one in conversations:
            flow.wait_until_idle(one)
        assert [one.answers for one in conversations] == [["ok"]] * 12
        assert len(flow.model.requests) == 12
        assert Conversation.objects.filter(lease_epoch=1).count() == 12


def test_stop_without_a_worker_still_ends_the_command(killable):
    flow, process = killable
    conversation = flow.begin("Go", [calls(bash="echo begun; echo x > begun; sleep 300")])
    flow.wait_until_written(conversation, "begun")
    process.kill()
    flow.stop(conversation)
    process.start()
    flow.wait_until_idle(conversation)
    assert conversation.status == "stopped/by_person"
    (returned,) = conversation.event_data("tool.returned")
    assert "begun" in returned["output"]
    flow.ask(
        "Who runs?", [calls(bash="pgrep -a sleep || echo nobody"), says("ok")], after=conversation
    )
    assert "nobody" in conversation.outputs[-1]
    assert_replay_matches(conversation)


def test_usage_of_a_model_call_is_stored_when_its_worker_drains(flow, shown):
    conversation = flow.begin("Hello", [says("Slow " * 60).slowly(tps=10), says("Here.")])
    wait_until(lambda: shown)
    flow.stop_worker()
    (used,) = conversation.event_data("usage.recorded")
    assert used["outcome"] == "cancelled"
    flow.start_worker()
    flow.wait_until_idle(conversation)
    assert conversation.answers == ["Here."]
    assert flow.model.violations == []
    assert_replay_matches(conversation)
