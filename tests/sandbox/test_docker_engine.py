"""Calls to a Docker daemon that goes away, without a daemon."""

import gc
import socket
import threading
from pathlib import Path

import pytest

from paca.engine.workspace import SandboxUnreachable
from paca.sandbox.docker.engine import DockerEngine


def test_docker_engine_closes_its_socket_if_the_daemon_goes_away_after_the_first_check(
    tmp_path: Path,
):
    """A socket left to the garbage collector is a warning, which fails this test."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(tmp_path / "docker.sock"))
    listener.listen(1)

    def accept_once() -> None:
        listener.accept()[0].close()
        listener.close()

    daemon = threading.Thread(target=accept_once)
    daemon.start()
    engine = DockerEngine(f"unix://{tmp_path}/docker.sock")
    with pytest.raises(SandboxUnreachable):
        engine.call_sync(lambda client: client.ping(), seconds=20)
    daemon.join()
    gc.collect()
