"""The Docker backend for tests, on the daemon and the image of this machine."""

import asyncio
import functools
import hashlib
import os
import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from uuid import UUID

import pytest

from paca.engine.workspace import SandboxUnavailable
from paca.sandbox.docker import container
from paca.sandbox.docker.backend import DEFAULT_IMAGE, Docker
from paca.sandbox.docker.engine import DockerEngine

# Another image than the default one, for a runner that is being changed.
IMAGE = os.environ.get("AGENT_SANDBOX_IMAGE", DEFAULT_IMAGE)


@functools.cache
def reason_against() -> str:
    """Why Docker cannot be tested here; empty if it can. In CI a skipped test fails the run."""
    backend = Docker(DockerEngine(), "tests", image=IMAGE)
    try:
        with ThreadPoolExecutor(1) as thread:  # the caller may run in an event loop
            thread.submit(lambda: asyncio.run(backend.check())).result()
    except SandboxUnavailable as reason:
        return reason.detail
    return ""


def install_id(data_dir: Path) -> str:
    """The installation id of a data folder: each folder has its own, as in the product."""
    return "tests-" + hashlib.sha256(str(data_dir).encode()).hexdigest()[:12]


def make(data_dir: Path, *, idle_seconds: float = 30) -> Docker:
    """A backend whose containers are shared only by tests on the same folder."""
    return Docker(DockerEngine(), install_id(data_dir), image=IMAGE, idle_seconds=idle_seconds)


def skip_without() -> None:
    if reason := reason_against():
        pytest.skip(reason)


def described(backend: Docker, conversation_id: UUID) -> dict:
    """The conversation's container as ``docker inspect`` shows it."""
    name = container.container_name(backend.inventory.install_id, conversation_id)
    return backend.engine.call_sync(lambda client: client.inspect_container(name))


def runs(backend: Docker, conversation_id: UUID, line: str) -> bool:
    """Whether a process with this command line is in the conversation's container."""
    name = described(backend, conversation_id)["Id"]
    return line in str(backend.engine.call_sync(lambda client: client.top(name))["Processes"])


def runner_pid(backend: Docker, conversation_id: UUID) -> int:
    """The pid of the runner on this machine, since the daemon is local."""
    return described(backend, conversation_id)["State"]["Pid"]


def raw_connection(backend: Docker, conversation_id: UUID) -> socket.socket:
    """A connection to the container's standard streams, on which nothing was sent yet."""
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(20)
    connection.connect(backend.engine.host.removeprefix("unix://"))
    name = described(backend, conversation_id)["Id"]
    connection.sendall(
        f"POST /containers/{name}/attach?stream=1&stdin=1&stdout=1 HTTP/1.1\r\nHost: docker\r\n"
        "Connection: Upgrade\r\nUpgrade: tcp\r\n\r\n".encode()
    )
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        head += connection.recv(1)
    return connection
