"""The services of compose.yml on real Docker: a sign-in, a command in a sandbox, a drain."""

import json
import subprocess
from collections.abc import Iterator

import pytest

from tests.compose import stack as stacks
from tests.compose.stack import Stack
from tests.installation.manage_process import ROOT
from tests.support import docker_backend
from tests.support.flow import wait_until

pytestmark = [pytest.mark.docker, pytest.mark.timeout(900)]
LOOK_AROUND = "Look around the sandbox and tell me what is there."


@pytest.fixture(scope="module")
def stack() -> Iterator[Stack]:
    docker_backend.skip_without()
    if not stacks.compose_program():
        pytest.skip("Compose is not installed: apt install docker-compose")
    base = stacks.run("scripts/docker_for_tests.sh").split()[-1]
    made = Stack(base)
    made.build(base)
    try:
        made("up", "--detach", "--no-build", "--scale", "worker=2")
        yield made
    finally:
        made("down", "--volumes", "--timeout", "30")
    assert made.leftovers() == ""


@pytest.fixture(scope="module")
def client(stack: Stack) -> stacks.SignedIn:
    wait_until(lambda: stack.health("web") == ["healthy"], 300, lambda: stack("logs", "web"))
    return stack.sign_in()


def test_compose_stack_answers_with_commands_in_docker(stack, client):
    conversation = client.guide().start_conversation(LOOK_AROUND)
    assert conversation.wait_until_idle(120) == "finished/answered", stack("logs", "worker")
    assert conversation.has_event("tool.returned")
    assert [each["backend"] for each in conversation.event_data("sandbox.started")] == ["docker"]
    wait_until(lambda: client.ready()["status"] == "ready", 60, lambda: json.dumps(client.ready()))
    assert client.ready()["workers"]["working"] == 2
    # Both workers are process 1 of their container. Neither must think that the other is dead.
    assert not conversation.has_event("conversation.resumed")
    wait_until(lambda: set(stack.health("worker")) == {"healthy"}, 60)


ASK_GATE = """
import os, socket
gate = socket.create_connection(("127.0.0.1", 3128), 10)
gate.sendall(b"CONNECT evil.example:443 HTTP/1.1\\r\\n\\r\\n")
print(gate.recv(65536).decode(), os.access("/cache", os.W_OK), oct(os.stat("/cache").st_mode))
"""


def test_compose_sandboxes_reach_the_gate_and_the_package_cache_of_their_worker(stack, client):
    opened = {"network": "restricted", "network_hosts": ["a.example"], "package_cache": True}
    client.api("PATCH", f"{client.project}/", opened)
    conversation = client.guide().start_conversation(LOOK_AROUND)
    assert conversation.wait_until_idle(120) == "finished/answered", stack("logs", "worker")
    named = ("--filter", f"name={conversation.id}")
    (sandbox,) = stacks.run("docker", "ps", "--quiet", *named).split()
    answer = stacks.run("docker", "exec", sandbox, "python3", "-c", ASK_GATE)
    assert "evil.example is not on the list of hosts" in answer
    assert answer.split()[-2:] == ["True", "0o40777"]
    uses = f"{conversation.path}/network/"
    wait_until(lambda: client.api("GET", uses)["results"], 30)
    assert client.api("GET", uses)["results"][0]["host"] == "evil.example"


def test_compose_web_server_believes_a_proxy_on_its_host(stack, client):
    """Published on loopback only, so connections from the host are those of its proxy."""
    forwarded = {"X-Forwarded-Proto": "https", "X-Forwarded-For": "203.0.113.7"}
    assert "Strict-Transport-Security" in stack.web.get("/accounts/login/", **forwarded).headers
    assert "Strict-Transport-Security" not in stack.web.get("/accounts/login/").headers


def test_compose_worker_answers_messages_that_came_while_it_was_stopped(stack, client):
    conversation = client.guide().start_conversation(LOOK_AROUND)
    conversation.wait_until_idle(120)
    stack("stop", "worker")
    assert [each["State"]["ExitCode"] for each in stack.containers("worker")] == [0, 0]
    conversation.send(LOOK_AROUND)
    assert conversation.row["activity"] == "waiting_for_worker"
    assert client.ready()["parts"]["workers"] == "none is alive"
    stack("start", "worker")
    assert conversation.wait_until_idle(120) == "finished/answered"
    assert (
        len(
            [
                turn
                for turn in conversation.event_data("turn.finished")
                if turn["reason"] == "answered"
            ]
        )
        == 2
    )
    client.api("DELETE", f"{conversation.path}/")
    owned = ("--quiet", "--filter", f"name={conversation.id}")
    wait_until(lambda: not stacks.run("docker", "ps", "--all", *owned), 60)
    wait_until(lambda: not stacks.run("docker", "volume", "ls", *owned), 60)


def test_compose_web_server_cannot_reach_docker_and_no_service_is_root(stack, client):
    (web,) = stack.containers("web")
    assert "docker.sock" not in str(web["Mounts"])
    for container in (web, *stack.containers("worker")):
        assert container["Config"]["User"] == "paca"
        assert container["HostConfig"]["CapDrop"] == ["ALL"]
        assert "PACA_ADMIN_PASSWORD" not in str(container["Config"]["Env"]) or container == web


def test_compose_services_run_doctor_with_advice_that_fits(stack, client):
    """An option of Compose 1.29 keeps ``exec`` from asking for a terminal."""
    for service in ("web", "worker"):
        said = stack("exec", "-T", service, "python", "manage.py", "doctor")
        assert "ok      Database" in said
        assert "make run" not in said


def test_compose_image_contains_no_secret(stack):
    described = stacks.run("docker", "image", "inspect", stacks.PACA_IMAGE)
    history = stacks.run("docker", "history", "--no-trunc", stacks.PACA_IMAGE)
    for name in ("SECRET_KEY", "ENCRYPTION_KEY", "POSTGRES_PASSWORD"):
        assert name not in described + history
        assert stack.environment[name] not in described + history
    files = stacks.run(
        "docker", "run", "--rm", "--entrypoint", "ls", stacks.PACA_IMAGE, "-A", "/srv/paca"
    )
    assert files.split() == ["container_health.py", "manage.py", "paca"]


@pytest.mark.parametrize(
    "name",
    ["SECRET_KEY", "ENCRYPTION_KEY", "POSTGRES_PASSWORD", "PACA_ADMIN_PASSWORD", "DOCKER_GID"],
)
def test_compose_refuses_to_start_without_each_secret(name):
    if not stacks.compose_program():
        pytest.skip("Compose is not installed: apt install docker-compose")
    environment = Stack("any").environment | {name: ""}
    ended = subprocess.run(
        [*stacks.compose_program(), "--file", "compose.yml", "config"],
        cwd=ROOT,
        env={"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode != 0
    assert f"{name} is not set" in ended.stderr
