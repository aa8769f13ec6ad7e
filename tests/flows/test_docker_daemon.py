"""Journeys on a Docker daemon that is restarted, killed, slow or hangs. The tests start their own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.test import Client

from paca.conversations.models import Trigger, Worker
from paca.sandbox.manager import DockerAddress
from tests.support.docker_daemon import DockerDaemon
from tests.support.docker_proxy import DockerProxy
from tests.support.flow import Flow, ObservedConversation, assert_replay_matches, wait_until
from tests.support.model_script import calls, has_result, says
from tests.support.promises import (
    END_COMMAND_SECONDS,
    HEALTH_SECONDS,
    STOP_WITHOUT_SANDBOX_SECONDS,
    kept,
)

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.docker,
    pytest.mark.timeout(240),
    # Docker's SDK leaves the socket of a failed connection to the garbage collector.
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can start a Docker daemon"),
]
# The first model call of a process loads a provider's library, which is slow on a busy machine.
SLOW = 90
# As long as Docker waits for a container that ignores its stop signal.
DOCKER_WAITS_SECONDS = 10.0
UNTIL_ALLOWED = "until [ -e may-end ]; do sleep 0.05; done"
TWO_COMMANDS = [
    calls(bash=f"echo x >> once.txt; echo begun; {UNTIL_ALLOWED}; echo ended; echo x > ended.txt"),
    calls(bash="cat once.txt"),
    says("Once."),
]


@pytest.fixture
def flow(
    transactional_db: None, tmp_path: Path, daemon: DockerDaemon, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Flow]:
    monkeypatch.setattr("paca.worker.sandboxes.run_sandbox.MAX_RETRY_SECONDS", 1)
    monkeypatch.setattr("paca.worker.sandboxes.availability.CHECK_SECONDS", 0.2)
    with Flow(tmp_path, sandbox="docker", docker=DockerAddress(host=daemon.address)) as flow:
        wait_until(lambda: flow.sandbox_is_available, SLOW)
        yield flow


def begin_a_command(flow: Flow, daemon: DockerDaemon) -> ObservedConversation:
    """Start the first of two commands, and wait for its effect."""
    conversation = flow.begin("Go", TWO_COMMANDS)
    wait_until(
        lambda: daemon.files_of(conversation.id, "once.txt"),
        SLOW,
        lambda: str(conversation.event_types),
    )
    return conversation


def workspace_of(conversation: ObservedConversation, daemon: DockerDaemon) -> Path:
    """The folder on this machine of the conversation's workspace, which stays while no daemon runs."""
    (file,) = daemon.files_of(conversation.id, "once.txt")
    return file.parent


def let_the_command_end(workspace: Path) -> None:
    (workspace / "may-end").touch()
    wait_until((workspace / "ended.txt").exists)


def wait_until_it_waits_for_its_sandbox(conversation: ObservedConversation) -> None:
    wait_until(
        lambda: conversation.status == "waiting/sandbox",
        SLOW,
        lambda: str(conversation.event_types),
    )


# --- restarted ------------------------------------------------------------------------------------


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_docker_command_outlives_its_daemon_with_live_restore_and_returns_once(flow, daemon, end):
    """T-53. The command ends while a killed daemon is away, or under a restarted daemon."""
    daemon.start(live_restore=True)
    conversation = begin_a_command(flow, daemon)
    workspace = workspace_of(conversation, daemon)
    getattr(daemon, end)()
    if end == "kill":
        let_the_command_end(workspace)
        wait_until_it_waits_for_its_sandbox(conversation)
    daemon.start()
    let_the_command_end(workspace)
    assert flow.wait_until_idle(conversation) == "finished/answered"
    assert conversation.outputs[0].startswith("begun\nended\n")
    assert conversation.outputs[1].startswith("x\n[exit 0")
    assert not conversation.has_event("sandbox.lost")
    assert len(conversation.event_data("sandbox.started")) == 1
    assert_replay_matches(conversation)


def test_docker_command_stopped_without_a_daemon_is_killed_before_the_sandbox_is_used_again(
    flow, daemon
):
    daemon.start(live_restore=True)
    conversation = flow.begin("Go", [calls(bash="echo x > once.txt; sleep 600"), says("Never.")])
    wait_until(
        lambda: daemon.files_of(conversation.id, "once.txt"),
        SLOW,
        lambda: str(conversation.event_types),
    )
    daemon.kill()
    wait_until_it_waits_for_its_sandbox(conversation)
    stop_in_time(flow, conversation)
    daemon.start()
    assert "sleep 600" in daemon.processes(conversation.id), "the sandbox could not be reached"
    flow.ask("And?", [calls(bash="cat once.txt"), says("Once.")], after=conversation)
    assert conversation.outputs[-1].startswith("x\n")
    assert "sleep 600" not in daemon.processes(conversation.id)
    assert len(conversation.event_data("sandbox.started")) == 1


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_docker_container_loss_without_live_restore_is_shown_and_the_run_goes_on(flow, daemon, end):
    """T-53. The outcome of the command is unknown, so it is not run again."""
    conversation = begin_a_command(flow, daemon)
    if end == "kill":
        workspace = workspace_of(conversation, daemon)
        daemon.kill()
        let_the_command_end(workspace)
        wait_until_it_waits_for_its_sandbox(conversation)
    with kept(DOCKER_WAITS_SECONDS):
        if end == "stop":
            daemon.stop()
        daemon.start()
    assert flow.wait_until_idle(conversation) == "finished/answered"
    (lost,) = conversation.event_data("sandbox.lost")
    assert (lost["end"], lost["exit_code"]) == ("killed", 137)
    (unknown,) = conversation.event_data("tool.outcome_unknown")
    assert lost["cause"] in unknown["output"], "the model reads the cause too"
    assert conversation.outputs[0].startswith("x\n[exit 0"), "not run again, and its file is kept"
    assert len(conversation.event_data("sandbox.started")) == 2
    assert daemon.containers() == [str(conversation.id)]
    assert_replay_matches(conversation)


# --- away when a conversation begins ----------------------------------------------------------------


def test_conversations_wait_for_a_docker_daemon_that_is_away_and_run_once(flow, daemon):
    """T-53: three triggers come while the daemon is away; each runs once, unless it is stopped."""
    daemon.stop()
    flow.model.script(lambda body: _counting_script("x")(body))
    conversations = [flow.begin(f"number {n}") for n in range(3)]
    for one in conversations:
        wait_until_it_waits_for_its_sandbox(one)
        (waiting,) = one.event_data("conversation.waiting")
        assert "sudo systemctl start docker" in waiting["detail"]
    wait_until(
        lambda: Worker.objects.filter(sandbox_fault__contains="systemctl start docker").exists()
    )
    *done, stopped = conversations
    stop_in_time(flow, stopped)
    daemon.start()
    for one in done:
        flow.wait_until_idle(one)
        assert one.status == "finished/answered"
        assert one.outputs[0].startswith("1\n")
        assert one.event_data("conversation.resumed") == [{"worker": "", "waited_for": "sandbox"}]
        assert_replay_matches(one)
    assert set(Trigger.objects.filter(control="").values_list("attempts", flat=True)) == {1}
    wait_until(lambda: Worker.objects.filter(sandbox_fault="").exists())
    assert set(daemon.containers()) == {str(one.id) for one in done}


def _counting_script(word: str):
    """A script of one command, which counts how often it ran, and an answer."""
    command = calls(bash=f"echo {word} >> n.txt; wc -l < n.txt")
    return lambda body: says("Done.") if has_result(body) else command


def stop_in_time(
    flow: Flow, conversation: ObservedConversation, seconds: float = END_COMMAND_SECONDS
) -> None:
    with kept(seconds):
        flow.stop(conversation)
        wait_until(
            lambda: conversation.row.status == "stopped", 30, lambda: str(conversation.event_types)
        )


# --- slow or hanging ----------------------------------------------------------------------------------


def scripts_by_first_words(scripts: dict):
    """A model that chooses the script of a conversation by the words of its first message."""

    def answer(body: dict):
        begun = str(body["messages"][0])
        (script,) = [script for word, script in scripts.items() if word in begun]
        return script[sum(message["role"] == "assistant" for message in body["messages"])]

    return answer


def test_docker_daemon_that_hangs_delays_only_commands_and_loses_nothing(flow, daemon):
    """It hangs until a call is given up, like a daemon whose disk does not answer."""
    counted = "echo x >> n.txt; {}; wc -l < n.txt"
    flow.model.script(
        scripts_by_first_words(
            {
                "command": [calls(bash=counted.format("sleep 3")), says("Done.")],
                "begins": [calls(bash=counted.format(":")), says("Done.")],
                "endless": [calls(bash="echo x > n.txt; sleep 600"), says("Never.")],
                "talk": [says("Hello.")],
            }
        )
    )
    working, endless = flow.begin("command"), flow.begin("endless")
    wait_until(lambda: all(daemon.files_of(each.id, "n.txt") for each in (working, endless)), SLOW)
    daemon.freeze()
    begins = flow.begin("begins")
    talk = flow.begin("talk")
    assert flow.wait_until_idle(talk) == "finished/answered"
    assert not begins.has_event("conversation.waiting"), (
        "a conversation without commands does not wait for a call to be given up"
    )
    stop_in_time(flow, endless, STOP_WITHOUT_SANDBOX_SECONDS)
    for path in ("/healthz", "/readyz"):
        with kept(HEALTH_SECONDS):
            Client().get(path)
    wait_until_it_waits_for_its_sandbox(begins)
    daemon.thaw()
    for conversation in (working, begins):
        assert flow.wait_until_idle(conversation) == "finished/answered"
        assert conversation.outputs[0].startswith("1\n")
        assert not conversation.has_event("sandbox.lost")
        assert_replay_matches(conversation)
    wait_until(lambda: "sleep 600" not in daemon.processes(endless.id), 20)
    assert set(daemon.containers()) <= {str(each.id) for each in (working, begins, endless)}


def test_docker_daemon_that_takes_three_seconds_a_call_is_waited_for(
    transactional_db, daemon, tmp_path
):
    with (
        DockerProxy(tmp_path, to=daemon.path) as proxy,
        Flow(tmp_path, sandbox="docker", docker=DockerAddress(host=proxy.address)) as flow,
    ):
        wait_until(lambda: flow.sandbox_is_available, SLOW)
        proxy.seconds_a_call = 3
        flow.model.script(
            scripts_by_first_words(
                {
                    "command": [calls(bash="echo x >> n.txt; wc -l < n.txt"), says("Done.")],
                    "stopped": [calls(bash="echo x >> n.txt"), says("Never.")],
                    "talk": [says("Hello.")],
                }
            )
        )
        working, stopped = flow.begin("command"), flow.begin("stopped")
        wait_until(
            lambda: all(each.has_event("sandbox.starting") for each in (working, stopped)), SLOW
        )
        talk = flow.begin("talk")
        assert flow.wait_until_idle(talk) == "finished/answered"
        assert not working.has_event("sandbox.started"), "its sandbox takes several calls"
        stop_in_time(flow, stopped)
        assert flow.wait_until_idle(working) == "finished/answered"
        assert working.outputs[0].startswith("1\n")
        assert_replay_matches(working)
        proxy.seconds_a_call = 0
    assert set(daemon.containers()) <= {str(each.id) for each in (working, stopped)}
