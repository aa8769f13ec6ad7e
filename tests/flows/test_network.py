"""A conversation has the network of its project's settings: it gets it with its files kept, and is told refusals."""

import asyncio
import os
import signal
from collections.abc import Iterator

import pytest

from paca.common.network_policy import Network
from paca.conversations.models import Conversation
from paca.projects.models import Project
from paca.sandbox.manager import DockerAddress
from tests.sandbox.egress.test_gates import pid_of
from tests.support import docker_backend
from tests.support.flow import UNTIL_ALLOWED, Flow, wait_until
from tests.support.model_script import calls, says

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.service]
FETCH = (
    "python3 -c 'import urllib.request as u; u.urlopen(\"http://evil.example/\")' 2>/dev/null; true"
)
REFUSED = "[The network gate refused: evil.example is not on the list"


@pytest.fixture(params=["bubblewrap", pytest.param("docker", marks=pytest.mark.docker)])
def flow(
    transactional_db: None, tmp_path_factory: pytest.TempPathFactory, request
) -> Iterator[Flow]:
    if request.param == "docker":
        docker_backend.skip_without()
    address = DockerAddress(image=docker_backend.IMAGE)
    with Flow(tmp_path_factory.mktemp("data"), sandbox=request.param, docker=address) as found:
        yield found
    manager = found.sandboxes()
    for conversation_id in Conversation.objects.values_list("pk", flat=True):
        asyncio.run(manager.remove(conversation_id))
    root = manager.gates.root
    if (root / "lock").exists() and (pid := pid_of(root)):
        os.kill(pid, signal.SIGKILL)


def open_network(flow: Flow, network: Network) -> None:
    hosts = ["pkgs.example"] if network is Network.RESTRICTED else []
    Project.objects.filter(pk=flow.world.project.pk).update(network=network, network_hosts=hosts)


def test_a_sandbox_gets_its_network_with_the_next_turn_and_keeps_its_files(flow):
    found = flow.ask("Begin", [calls(bash="echo old > kept"), says("Done.")])
    assert "without a network" in str(flow.model.requests[-1].body)
    open_network(flow, Network.RESTRICTED)
    flow.ask("Go on", [calls(bash=f"cat kept; {FETCH}"), says("Done.")], after=found)
    assert "pkgs.example" in str(flow.model.requests[-1].body)
    assert "old" in found.outputs[-1]
    assert REFUSED in found.outputs[-1]
    assert found.event_data("sandbox.removed") == [{"kept": True}]
    flow.ask("And on", [calls(bash="cat kept"), says("Done.")], after=found)
    assert len(found.event_data("sandbox.removed")) == 1


def test_a_sandbox_with_running_work_is_told_that_it_has_no_network_yet(flow):
    found = flow.ask("Begin", [calls(background_run=UNTIL_ALLOWED), says("I wait.")])
    open_network(flow, Network.RESTRICTED)
    flow.ask("Go on", [calls(bash="true"), says("Done.")], after=found)
    assert (
        "[The network gate refused: This sandbox was started when it had no network."
        in (found.outputs[-1])
    )
    assert not found.has_event("sandbox.removed")


def test_a_background_command_tells_what_was_refused_when_it_ends(flow):
    open_network(flow, Network.RESTRICTED)
    found = flow.ask(
        "Begin",
        [
            calls(background_run=f"touch begun; {UNTIL_ALLOWED}; {FETCH}"),
            says("I wait."),
            says("I see."),
        ],
    )
    flow.let_command_end(found)
    wait_until(lambda: len(found.answers) == 2, describe=lambda: str(found.frames))
    [end] = found.event_data("background.finished")
    assert REFUSED in end["output"]
    assert REFUSED in str(flow.model.requests[-1].body)
