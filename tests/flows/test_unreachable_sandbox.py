"""A run whose sandbox cannot be reached waits by itself until it can."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from paca.sandbox.manager import DockerAddress
from tests.support.flow import Flow, assert_replay_matches, wait_until
from tests.support.model_script import calls, says

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.service]


@pytest.fixture
def flow(transactional_db: None, tmp_path: Path) -> Iterator[Flow]:
    """A flow whose Docker daemon is down."""
    nowhere = DockerAddress(host=f"unix://{tmp_path}/docker.sock")
    with Flow(tmp_path, sandbox="docker", docker=nowhere) as found:
        yield found


def wait_until_waiting(conversation) -> None:
    # The first model call of a process loads a provider's library, which is slow on a busy machine.
    wait_until(
        lambda: conversation.status == "waiting/sandbox",
        90,
        lambda: f"{conversation.status}: {conversation.event_types}",
    )


def test_run_waits_for_its_sandbox_and_says_what_would_repair_it(flow):
    conversation = flow.begin("Go", [calls(bash="echo x"), says("Done.")])
    wait_until_waiting(conversation)
    assert "sudo systemctl start docker" in conversation.row.detail
    assert conversation.row.lease_owner, "the claim is kept while it waits"
    assert conversation.row.finished_at is None
    flow.stop(conversation)
    flow.wait_until_idle(conversation)


def test_stop_ends_a_run_that_waits_for_its_sandbox(flow):
    conversation = flow.begin("Go", [calls(bash="echo x"), says("Done.")])
    wait_until_waiting(conversation)
    flow.stop(conversation)
    assert flow.wait_until_idle(conversation) == "stopped/by_person"
    assert_replay_matches(conversation)


def test_waiting_run_is_taken_over_and_goes_on_waiting(flow):
    conversation = flow.begin("Go", [calls(bash="echo x"), says("Done.")])
    wait_until_waiting(conversation)
    flow.stop_worker()
    flow.start_worker()
    wait_until(
        lambda: conversation.event_types.count("conversation.waiting") == 2,
        30,
        lambda: str(conversation.event_types),
    )
    assert conversation.status == "waiting/sandbox"
    flow.stop(conversation)
    assert flow.wait_until_idle(conversation) == "stopped/by_person"


def test_wait_for_a_sandbox_ends_with_an_error_that_the_model_reads(flow, monkeypatch):
    monkeypatch.setattr("paca.worker.sandboxes.run_sandbox.MAX_WAIT_SECONDS", 1)
    conversation = flow.ask("Go", [calls(bash="echo x"), says("I cannot.")])
    assert conversation.status == "finished/answered"
    assert "have not answered" in conversation.outputs[0]
    assert conversation.event_data("conversation.resumed") == [
        {"worker": "", "waited_for": "sandbox"}
    ]
    assert_replay_matches(conversation)
