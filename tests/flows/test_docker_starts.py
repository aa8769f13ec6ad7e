"""Containers that do not start are reported at once with the cause; container names may be taken."""

from __future__ import annotations

import os
from datetime import datetime

import pytest

from paca.conversations import services
from paca.sandbox.docker.backend import DEFAULT_IMAGE
from paca.sandbox.docker.container import container_name
from paca.sandbox.manager import DockerAddress
from tests.support import docker_backend
from tests.support.docker_daemon import DockerDaemon
from tests.support.flow import Flow, assert_replay_matches, wait_until
from tests.support.model_script import calls, has_result, says

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.docker,
    pytest.mark.timeout(240),
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can start a Docker daemon"),
]
SLOW = 90
IMAGE = "paca-sandbox:repaired"
SOUND = f"FROM {DEFAULT_IMAGE}\n"
# The Python that runs the runner of each container.
BROKEN = f"{SOUND}USER 0\nRUN rm /usr/bin/python3 && %s && chmod 755 /usr/bin/python3\n"
DIES = {
    "printf '#!/bin/sh\\nsleep 1\\necho first words >&2\\necho last words >&2\\nexit 127\\n' > /usr/bin/python3": (
        "first words\nlast words. It ended with exit code 127."
    ),
    "printf '#!/bin/sh\\nexit 3\\n' > /usr/bin/python3": "no reason given. It ended with exit code 3.",
    "printf '#!/nowhere\\n' > /usr/bin/python3": "no such file or directory",
}


@pytest.mark.parametrize("dies", DIES, ids=["after a second", "at once", "not begun"])
def test_docker_container_that_dies_at_its_start_is_reported_and_can_be_tried_again(
    transactional_db, daemon: DockerDaemon, tmp_path, dies
):
    """T-01."""
    daemon.build(IMAGE, SOUND)
    address = DockerAddress(host=daemon.address, image=IMAGE)
    with Flow(tmp_path, sandbox="docker", docker=address, worker={"concurrency": 1}) as flow:
        wait_until(lambda: flow.sandbox_is_available, SLOW)
        daemon.build(IMAGE, BROKEN % dies)
        command = calls(bash="echo x >> n.txt; wc -l < n.txt")
        conversation = flow.begin("Go", [command, says("Done.")])
        assert flow.wait_until_idle(conversation, SLOW) == "failed/sandbox_error"
        (failed,) = [
            each for each in conversation.frames if each["type"] == "agent.conversation.failed"
        ]
        assert DIES[dies] in failed["data"]["message"]
        assert "make sandbox-image" in failed["data"]["message"]
        assert datetime.fromisoformat(failed["at"]).timestamp() - daemon.last_death() < 10
        assert not daemon.containers()
        assert flow.ask("Hello", [says("Hello.")]).answers == ["Hello."], (
            "the slot of the worker is free"
        )
        daemon.build(IMAGE, SOUND)
        flow.model.script([says("Done.")])
        services.continue_(conversation.row, by=flow.world.owner)
        wait_until(
            lambda: conversation.status == "finished/answered",
            SLOW,
            lambda: str(conversation.event_types),
        )
        assert conversation.outputs[0].startswith("1\n"), "the call had not started"
        assert_replay_matches(conversation)


def test_docker_containers_of_thirty_conversations_start_although_two_names_are_taken(
    transactional_db, daemon: DockerDaemon, tmp_path
):
    """T-51."""
    command = calls(bash="echo x >> n.txt; wc -l < n.txt")
    address = DockerAddress(host=daemon.address)
    with Flow(tmp_path, sandbox="docker", docker=address, worker={"concurrency": 10}) as flow:
        flow.stop_worker()
        flow.model.script(lambda body: says("Done.") if has_result(body) else command)
        conversations = [flow.begin(f"number {n}") for n in range(30)]
        names = [
            container_name(docker_backend.install_id(tmp_path), one.id) for one in conversations
        ]
        daemon.occupy(names[0], runs=True)
        daemon.occupy(names[1], runs=False)
        flow.start_worker()
        for one in conversations:
            flow.wait_until_idle(one, SLOW)
            assert one.status == "finished/answered"
            assert one.outputs[0].startswith("1\n")
            assert not one.has_event("conversation.waiting")
        flow.ask("Again", after=conversations[0])
        assert conversations[0].outputs[1].startswith("2\n")
        assert len(conversations[0].event_data("sandbox.started")) == 1, (
            "it is found again beside the stranger"
        )
        assert daemon.has(names[0], runs=True), "foreign containers are left alone"
        assert daemon.has(names[1], runs=False)
