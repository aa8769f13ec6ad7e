"""A run that cannot go on for now: its sandbox cannot be reached, and nobody has to do anything here."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from paca.sandbox.manager import DockerAddress
from tests.support.flow import Flow, assert_replay_matches, wait_until
from tests.support.model_script import calls, says

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.service]


@pytest.fixture
def flow(transactional_db: None, tmp_path: Path) -> Iterator[Flow]:
    """Its sandboxes are to be made by a Docker that is away."""
    nowhere = DockerAddress(host=f"unix://{tmp_path}/docker.sock")
    with Flow(tmp_path, sandbox="docker", docker=nowhere) as found:
        yield found


def waits(conversation) -> None:
    # The first model call of a process loads a provider's library, which takes a busy machine long.
    wait_until(
        lambda: conversation.status == "waiting/sandbox",
        90,
        lambda: f"{conversation.status}: {conversation.event_types}",
    )


def test_run_waits_for_its_sandbox_and_says_what_would_repair_it(flow):
    conversation = flow.begin("Go", [calls(bash="echo x"), says("Done.")])
    waits(conversation)
    assert "sudo systemctl start docker" in conversation.row.detail
    assert conversation.row.lease_owner, "it is held all the while"
    assert conversation.row.finished_at is None
    flow.stop(conversation)
    flow.wait_until_idle(conversation)


def test_stop_ends_a_run_that_waits_for_its_sandbox(flow):
    conversation = flow.begin("Go", [calls(bash="echo x"), says("Done.")])
    waits(conversation)
    flow.stop(conversation)
    assert flow.wait_until_idle(conversation, 10) == "stopped/by_person"
    assert_replay_matches(conversation)


def test_waiting_run_is_taken_over_and_goes_on_waiting(flow):
    conversation = flow.begin("Go", [calls(bash="echo x"), says("Done.")])
    waits(conversation)
    flow.stop_worker()
    flow.start_worker()
    wait_until(
        lambda: conversation.event_types.count("conversation.waiting") == 2,
        30,
        lambda: str(conversation.event_types),
    )
    assert conversation.status == "waiting/sandbox"
    flow.stop(conversation)
    assert flow.wait_until_idle(conversation, 10) == "stopped/by_person"


def test_wait_for_a_sandbox_ends_with_an_error_that_the_model_reads(flow, monkeypatch):
    monkeypatch.setattr("paca.worker.sandboxes.run_sandbox.MOST_WAIT_SECONDS", 1)
    conversation = flow.ask("Go", [calls(bash="echo x"), says("I cannot.")])
    assert conversation.status == "finished/answered"
    assert "have not answered" in conversation.outputs[0]
    assert conversation.event_data("conversation.resumed") == [
        {"worker": "", "waited_for": "sandbox"}
    ]
    assert_replay_matches(conversation)
