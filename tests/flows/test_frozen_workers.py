"""A worker is frozen for longer than its lease while a command runs in Docker, and then goes on."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from paca.conversations.models import Event, Worker
from tests.flows.test_docker import docker_flow
from tests.support import docker_backend
from tests.support.flow import (
    UNTIL_ALLOWED,
    Flow,
    ObservedConversation,
    assert_replay_matches,
    wait_until,
)
from tests.support.model_script import calls, says
from tests.support.worker_process import WorkerProcess

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.docker,
    pytest.mark.timeout(240),
]
# The first model call of a process loads a provider's library, which is slow on a busy machine.
SLOW = 90
COMMAND = f"echo x >> once.txt; echo begun; {UNTIL_ALLOWED}; echo ended"
LARGE_OUTPUTS = [("bash", {"command": "head -c 60000 /dev/zero | tr '\\0' x"})] * 24


@pytest.fixture
def flow(transactional_db: None, tmp_path: Path) -> Iterator[Flow]:
    """A flow without a worker thread."""
    docker_backend.skip_without()
    with docker_flow(tmp_path) as flow:
        flow.stop_worker()
        yield flow


@pytest.fixture
def process(flow: Flow, tmp_path: Path) -> Iterator[WorkerProcess]:
    with WorkerProcess(tmp_path, sandbox="docker") as process:
        yield process


def begin_and_freeze(flow: Flow, process: WorkerProcess) -> ObservedConversation:
    """Freeze the worker during a command, and not during a transaction, which would block the database."""
    conversation = flow.begin("Go")
    wait_until(
        lambda: conversation.has_event("tool.started"), SLOW, lambda: str(conversation.event_types)
    )
    mine = Worker.objects.filter(pid=process.pid)
    last = mine.get().heartbeat_at
    wait_until(lambda: mine.get().heartbeat_at > last)
    time.sleep(0.1)
    process.freeze()
    flow.let_command_end(conversation)
    return conversation


def assert_frozen_worker_wrote_nothing_more(
    flow: Flow, conversation: ObservedConversation, process: WorkerProcess
):
    """The thawed worker answers the next message, and wrote to the log only while it had the lease."""
    flow.stop_worker()
    written = list(Event.objects.filter(conversation=conversation.id).values_list("seq", "epoch"))
    epochs = [epoch for _, epoch in sorted(written) if epoch]
    assert epochs == sorted(epochs)
    again = flow.ask("And now?", [says("Awake.")])
    assert again.answers == ["Awake."]
    assert (
        list(Event.objects.filter(conversation=conversation.id).values_list("seq", "epoch"))
        == written
    )
    assert Worker.objects.get().pid == process.pid


def test_frozen_worker_writes_nothing_after_another_has_taken_over(flow, process):
    flow.model.script([calls(bash=COMMAND), calls(bash="cat once.txt"), says("Once.")])
    conversation = begin_and_freeze(flow, process)
    flow.start_worker()
    assert flow.wait_until_idle(conversation) == "finished/answered"
    assert conversation.outputs[0].startswith("begun\nended\n")
    assert conversation.outputs[1].startswith("x\n[exit 0")
    assert not conversation.has_event("sandbox.lost")
    assert_replay_matches(conversation)
    process.thaw()
    assert_frozen_worker_wrote_nothing_more(flow, conversation, process)


def test_run_waits_for_a_sandbox_that_a_frozen_worker_blocks_and_then_goes_on(
    flow, process, monkeypatch
):
    """Docker sends output to every attachment, and blocks after a megabyte that one does not read."""
    monkeypatch.setattr("paca.sandbox.docker.stream.SILENT_SECONDS", 1)
    monkeypatch.setattr("paca.sandbox.docker.backend.ATTACH_SECONDS", 2)
    monkeypatch.setattr("paca.worker.sandboxes.run_sandbox.MAX_RETRY_SECONDS", 1)
    flow.model.script(
        [calls(bash=COMMAND), calls(*LARGE_OUTPUTS), calls(bash="cat once.txt"), says("Once.")]
    )
    conversation = begin_and_freeze(flow, process)
    flow.start_worker()
    wait_until(
        lambda: conversation.status == "waiting/sandbox",
        SLOW,
        lambda: str(conversation.event_types),
    )
    (waiting,) = conversation.event_data("conversation.waiting")
    assert "Let that worker continue, or end it." in waiting["detail"]
    process.thaw()
    assert flow.wait_until_idle(conversation, SLOW) == "finished/answered"
    assert conversation.outputs[0].startswith("begun\nended\n")
    assert conversation.outputs[-1].startswith("x\n[exit 0")
    assert len(conversation.outputs) == len(LARGE_OUTPUTS) + 2
    assert not conversation.has_event("sandbox.lost")
    assert_replay_matches(conversation)
    assert_frozen_worker_wrote_nothing_more(flow, conversation, process)
