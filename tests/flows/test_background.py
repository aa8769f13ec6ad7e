"""Commands that run on in the background: their ends, the agent that is woken, Stop, and the death of workers."""

import os
import signal

import pytest

from paca.conversations.models import BackgroundCommand
from paca.conversations.services import background
from tests.support import runners
from tests.support.flow import UNTIL_ALLOWED, assert_replay_matches, wait_until
from tests.support.model_script import calls, says
from tests.support.worker_process import WorkerProcess

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.service]
BUILD = f"echo x >> once.txt; {UNTIL_ALLOWED}; echo built"


def ends_of(conversation):
    return conversation.event_data("background.finished")


def test_end_enters_at_the_next_step_of_a_turn_that_works_on(flow):
    wait = f"{UNTIL_ALLOWED}; until grep -q built once.txt; do sleep 0.05; done; sleep 2"
    replies = [
        calls(background_run=f"{UNTIL_ALLOWED}; echo built >> once.txt"),
        calls(bash=f"echo x > begun; touch once.txt; {wait}"),
        says("Built."),
    ]
    conversation = flow.begin("Build", replies)
    flow.wait_until_written(conversation, "begun")
    flow.let_command_end(conversation)
    flow.wait_until_idle(conversation)
    assert conversation.answers == ["Built."]
    assert len(ends_of(conversation)) == 1
    assert "The background command bg1" in str(flow.model.requests[2].body)
    assert len(flow.model.requests) == 3


def test_background_command_survives_its_worker_and_its_end_wakes_the_agent_once(flow):
    """The next worker finds it in the runner, by the boot id and the id of the call, and runs nothing twice."""
    flow.stop_worker()
    replies = [calls(background_run=BUILD), says("I wait."), says("It is built.")]
    with WorkerProcess(flow.folder) as process:
        conversation = flow.ask("Build", replies)
        assert conversation.answers == ["I wait."]
        [row] = BackgroundCommand.objects.all()
        assert (row.state, row.handle, row.command) == ("running", "bg1", BUILD)
        process.kill()
        flow.let_command_end(conversation)
        process.start()
        wait_until(
            lambda: len(conversation.answers) == 2, describe=lambda: str(conversation.frames)
        )
        flow.wait_until_idle(conversation)
    [end] = ends_of(conversation)
    assert (end["handle"], end["exit_code"], end["cause"]) == ("bg1", 0, "")
    assert "built" in end["output"]
    assert "The background command bg1" in str(flow.model.requests[-1].body)
    assert len(flow.model.requests) == 3
    assert flow.file_of(conversation, "once.txt").read_text() == "x\n"
    assert_replay_matches(conversation)


def test_person_stops_one_command_and_then_all_that_the_conversation_runs(flow):
    replies = [calls(background_run=[BUILD, f"{BUILD} again"]), says("They run.")]
    conversation = flow.ask("Serve", replies)
    first, second = BackgroundCommand.objects.order_by("handle")
    owner = flow.world.owner
    background.stop(conversation.row, call_id=first.pk.hex, by=owner)
    wait_until(lambda: ends_of(conversation))
    flow.stop(conversation)
    wait_until(lambda: len(ends_of(conversation)) == 2)
    ends = [(each["handle"], each["cause"], each["by"]) for each in ends_of(conversation)]
    assert ends == [(each.handle, "cancelled", owner.name) for each in (first, second)]
    # A person knows of it: the agent reads it with the next message, and is not woken.
    assert len(flow.model.requests) == 2
    assert conversation.status == "finished/answered"


def test_background_work_is_lost_with_its_sandbox_and_the_agent_hears_of_it(flow):
    replies = [calls(background_run=BUILD), says("It runs."), says("It is lost.")]
    conversation = flow.ask("Serve", replies)
    flow.stop_worker()
    [backend] = flow.sandboxes().backends
    os.kill(runners.pid(backend, conversation.id), signal.SIGKILL)
    flow.start_worker()
    wait_until(lambda: ends_of(conversation))
    assert ends_of(conversation)[0]["cause"] == "lost"
    wait_until(lambda: len(conversation.answers) == 2)
    assert "was lost with its sandbox" in str(flow.model.requests[-1].body)


def test_command_of_bash_past_its_limit_goes_on_in_the_background(flow):
    flow.model.script(
        [
            calls(bash={"command": BUILD, "timeout_seconds": 1, "background_at_limit": True}),
            calls(check_background="bg1"),
            says("Built."),
        ]
    )
    conversation = flow.begin("Build")
    wait_until(lambda: conversation.has_event("background.started"))
    [started] = conversation.event_data("background.started")
    assert started["moved"]
    flow.let_command_end(conversation)
    flow.wait_until_idle(conversation)
    assert "runs on in the background as bg1" in conversation.outputs[0]
    assert "built" in conversation.outputs[1]
    assert flow.file_of(conversation, "once.txt").read_text() == "x\n"
    assert len(ends_of(conversation)) == 1
    assert len(flow.model.requests) == 3
