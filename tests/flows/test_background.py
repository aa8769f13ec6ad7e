"""Commands that run on in the background: their ends, the agent that is woken, Stop, and the death of workers."""

import os
import signal

import pytest

from paca.conversations.models import BackgroundCommand, Conversation
from paca.conversations.services import background
from tests.support import runners
from tests.support.flow import UNTIL_ALLOWED, assert_replay_matches, wait_until
from tests.support.model_script import calls, says
from tests.support.worker_process import WorkerProcess

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.service]
BUILD = f"echo x >> once.txt; {UNTIL_ALLOWED}; echo built"


def ends_of(conversation):
    return conversation.event_data("background.finished")


def test_end_of_a_background_command_wakes_the_agent_once(flow):
    conversation = flow.ask(
        "Build", [calls(background_run=BUILD), says("I wait."), says("It is built.")]
    )
    assert conversation.answers == ["I wait."]
    [row] = BackgroundCommand.objects.all()
    assert (row.state, row.handle, row.command) == ("running", "bg1", BUILD)
    flow.let_command_end(conversation)
    wait_until(lambda: len(conversation.answers) == 2, describe=lambda: str(conversation.frames))
    flow.wait_until_idle(conversation)
    [end] = ends_of(conversation)
    assert (end["handle"], end["exit_code"], end["cause"]) == ("bg1", 0, "")
    assert "built" in end["output"]
    assert "The background command bg1" in str(flow.model.requests[-1].body)
    row.refresh_from_db()
    assert (row.state, row.wake_due) == ("ended", False)
    assert len(flow.model.requests) == 3
    assert_replay_matches(conversation)


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


@pytest.mark.parametrize("at", ["turn", "idle"])
def test_background_command_survives_its_worker(flow, at):
    """The next worker finds it in the runner, by the boot id and the id of the call, and runs nothing twice."""
    flow.stop_worker()
    with WorkerProcess(flow.folder) as process:
        slow = [says("Slow " * 60).slowly(tps=10)] if at == "turn" else []
        replies = [calls(background_run=BUILD), *slow, says("I wait."), says("It is built.")]
        conversation = flow.begin("Build", replies)
        if at == "turn":
            wait_until(
                lambda: flow.model.in_flight and conversation.has_event("background.started")
            )
        else:
            flow.wait_until_idle(conversation)
        process.kill()
        flow.let_command_end(conversation)
        process.start()
        wait_until(lambda: ends_of(conversation))
        wait_until(lambda: conversation.answers and conversation.status == "finished/answered")
        if at == "idle":
            wait_until(lambda: len(conversation.answers) == 2)
            flow.wait_until_idle(conversation)
    [end] = ends_of(conversation)
    assert "built" in end["output"]
    assert flow.file_of(conversation, "once.txt").read_text() == "x\n"
    assert_replay_matches(conversation)


@pytest.mark.parametrize("how", ["conversation", "command", "archive"])
def test_person_stops_background_work(flow, how):
    conversation = flow.ask("Serve", [calls(background_run=BUILD), says("It runs.")])
    [row] = BackgroundCommand.objects.all()
    owner = flow.world.owner
    if how == "command":
        background.stop(conversation.row, call_id=row.pk.hex, by=owner)
    elif how == "conversation":
        flow.stop(conversation)
    else:
        Conversation.objects.filter(pk=conversation.id).update(archived_at=row.started_at)
    wait_until(lambda: ends_of(conversation))
    [end] = ends_of(conversation)
    assert (end["cause"], end["by"]) == ("cancelled", "" if how == "archive" else owner.name)
    row.refresh_from_db()
    assert (row.state, row.cause) == ("ended", "cancelled")
    # A person knows of it: the agent reads it with the next message, and is not woken.
    assert len(flow.model.requests) == 2
    assert conversation.status == "finished/answered"


def test_stop_of_a_running_turn_ends_its_background_work(flow):
    replies = [calls(background_run=BUILD), calls(bash=f"echo x > begun; {UNTIL_ALLOWED}")]
    conversation = flow.begin("Serve", replies)
    flow.wait_until_written(conversation, "begun")
    flow.stop(conversation)
    flow.wait_until_idle(conversation)
    wait_until(lambda: ends_of(conversation))
    assert ends_of(conversation)[0]["cause"] == "cancelled"
    assert conversation.row.status == "stopped"


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
