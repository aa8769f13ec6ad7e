"""A worker that dies at any moment: the conversation goes on from its log, and nothing runs twice."""

import asyncio
import os
import signal

import pytest

from paca.conversations.models import Conversation
from paca.sandbox.bubblewrap.backend import Bubblewrap
from tests.support import runners
from tests.support.flow import Flow, assert_replay_matches, until
from tests.support.model_script import calls, says
from tests.support.worker_process import WorkerProcess

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.service]


@pytest.fixture
def killable(flow):
    """The world without its worker thread: a process takes its place."""
    flow.stop_worker()
    with WorkerProcess(flow.folder) as process:
        yield flow, process


def test_a_command_under_way_is_attached_to_and_never_run_again(killable):
    """T-19, with a command that outlives the lease."""
    flow, process = killable
    command = "echo x >> once.txt; sleep 5; echo whole"
    told = flow.begin("Go", [calls(bash=command), calls(bash="cat once.txt"), says("Once.")])
    flow.until_written(told, "once.txt")
    process.kill()
    process.start()
    flow.rest(told)
    assert told.answers == ["Once."]
    assert "whole" in told.outputs[0]
    assert told.outputs[1].splitlines()[0] == "x"
    assert told.outputs[1].splitlines()[1].startswith("[exit 0")
    assert told.has("conversation.resumed")
    assert flow.model.violations == []
    assert_replay_matches(told)


def test_a_model_call_under_way_is_asked_again_and_its_row_is_closed(killable):
    flow, process = killable
    told = flow.begin("Hello", [says("Slow " * 60).slowly(tps=10), says("Here.")])
    until(lambda: flow.model.in_flight == 1)
    process.kill()
    process.start()
    flow.rest(told)
    assert told.answers == ["Here."]
    statuses = sorted(told.row.model_calls.values_list("status", flat=True))
    assert statuses == ["abandoned", "done"]
    assert_replay_matches(told)


def test_a_dead_worker_on_this_host_is_noticed_before_its_lease_ends(flow):
    flow.stop_worker()
    with WorkerProcess(flow.folder, lease_seconds=600) as process:
        told = flow.begin("Hello", [says("Slow " * 60).slowly(tps=10), says("Here.")])
        until(lambda: flow.model.in_flight == 1)
        process.kill()
        process.start()
        until(lambda: told.has("conversation.resumed"))
        flow.rest(told)


def test_a_sandbox_that_is_gone_makes_the_outcome_unknown_and_says_so(killable):
    """The runner died too: nobody knows, the model is told, nothing is repeated."""
    flow, process = killable
    told = flow.begin("Go", [calls(bash="echo x >> once.txt; sleep 30"), says("I check.")])
    flow.until_written(told, "once.txt")
    process.kill()
    manager = flow.sandboxes()
    asyncio.run(manager.sweep(set()))
    process.start()
    flow.rest(told)
    assert told.has("tool.outcome_unknown")
    assert told.answers == ["I check."]
    assert flow.file_of(told, "once.txt").read_text() == "x\n"
    assert_replay_matches(told)


def test_a_sandbox_killed_between_two_commands_is_told_while_the_model_still_thinks(flow):
    """Nobody wants anything of it at that moment, and it is noticed all the same."""
    replies = [
        calls(bash="echo x > kept.txt"),
        says("Slow " * 80).slowly(tps=10) + calls(bash="cat kept.txt"),
        says("Kept."),
    ]
    told = flow.begin("Go", replies)
    until(lambda: told.has("tool.returned") and flow.model.in_flight == 1)
    os.kill(runners.pid(Bubblewrap(flow.folder, "any"), told.id), signal.SIGKILL)
    until(lambda: told.has("sandbox.lost"), 5)
    assert flow.model.in_flight == 1, "the model still answers"
    flow.rest(told)
    (lost,) = told.all("sandbox.lost")
    assert (lost["end"], lost["exit_code"]) == ("killed", 137)
    assert told.outputs[1].startswith("x\n")
    assert not told.has("tool.outcome_unknown")
    assert_replay_matches(told)


def test_the_run_needs_no_viewer(flow):
    """T-05: nobody listens, and the answer is there."""
    told = flow.ask("[[fake ftd=500 say='Whole answer.']]")
    assert told.answers == ["Whole answer."]


def test_no_conversation_ever_has_two_owners(transactional_db, tmp_path):
    """Two workers, one queue: each conversation is run once."""
    with Flow(tmp_path) as flow, WorkerProcess(tmp_path):
        flow.model.script(lambda body: says("ok"))
        told = [flow.begin(f"number {n}") for n in range(12)]
        for one in told:
            flow.rest(one)
        assert [one.answers for one in told] == [["ok"]] * 12
        assert len(flow.model.requests) == 12
        assert Conversation.objects.filter(lease_epoch=1).count() == 12


def test_a_stop_while_no_worker_is_there_still_ends_the_command(killable):
    flow, process = killable
    told = flow.begin("Go", [calls(bash="echo begun; echo x > begun; sleep 300")])
    flow.until_written(told, "begun")
    process.kill()
    flow.stop(told)
    process.start()
    flow.rest(told)
    assert told.status == "stopped/by_person"
    (returned,) = told.all("tool.returned")
    assert "begun" in returned["output"]
    flow.ask("Who runs?", [calls(bash="pgrep -a sleep || echo nobody"), says("ok")], after=told)
    assert "nobody" in told.outputs[-1]
    assert_replay_matches(told)


def test_what_an_attempt_has_used_is_booked_when_the_worker_is_asked_to_end(flow, shown):
    told = flow.begin("Hello", [says("Slow " * 60).slowly(tps=10), says("Here.")])
    until(lambda: shown)
    flow.stop_worker()
    (used,) = told.all("usage.recorded")
    assert used["outcome"] == "cancelled"
    flow.start_worker()
    flow.rest(told)
    assert told.answers == ["Here."]
    assert flow.model.violations == []
    assert_replay_matches(told)
