"""A run that cannot go on for now: its sandbox cannot be reached, and nobody has to do anything here."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from paca.sandbox.manager import DockerAddress
from tests.support.flow import Flow, assert_replay_matches, until
from tests.support.model_script import calls, says

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.service]


@pytest.fixture
def flow(transactional_db: None, tmp_path: Path) -> Iterator[Flow]:
    """Its sandboxes are to be made by a Docker that is away."""
    nowhere = DockerAddress(host=f"unix://{tmp_path}/docker.sock")
    with Flow(tmp_path, sandbox="docker", docker=nowhere) as found:
        yield found


def waits(told) -> None:
    # The first model call of a process loads a provider's library, which takes a busy machine long.
    until(lambda: told.status == "waiting/sandbox", 90, lambda: f"{told.status}: {told.types}")


def test_a_run_waits_for_its_sandbox_and_says_what_would_mend_it(flow):
    told = flow.begin("Go", [calls(bash="echo x"), says("Done.")])
    waits(told)
    assert "sudo systemctl start docker" in told.row.detail
    assert told.row.lease_owner, "it is held all the while"
    assert told.row.finished_at is None
    flow.stop(told)
    flow.rest(told)


def test_stop_reaches_a_run_that_waits(flow):
    told = flow.begin("Go", [calls(bash="echo x"), says("Done.")])
    waits(told)
    flow.stop(told)
    assert flow.rest(told, 10) == "stopped/by_person"
    assert_replay_matches(told)


def test_a_run_that_waits_is_taken_over_and_waits_on(flow):
    told = flow.begin("Go", [calls(bash="echo x"), says("Done.")])
    waits(told)
    flow.stop_worker()
    flow.start_worker()
    until(lambda: told.types.count("conversation.waiting") == 2, 30, lambda: str(told.types))
    assert told.status == "waiting/sandbox"
    flow.stop(told)
    assert flow.rest(told, 10) == "stopped/by_person"


def test_a_wait_that_is_too_long_ends_with_a_refusal_that_the_model_reads(flow, monkeypatch):
    monkeypatch.setattr("paca.worker.sandboxes.run_sandbox.MOST_WAIT_SECONDS", 1)
    told = flow.ask("Go", [calls(bash="echo x"), says("I cannot.")])
    assert told.status == "finished/answered"
    assert "have not answered" in told.outputs[0]
    assert told.all("conversation.resumed") == [{"worker": "", "waited_for": "sandbox"}]
    assert_replay_matches(told)
