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


def test_docker_engine_ignores_the_proxies_of_the_environment(monkeypatch: pytest.MonkeyPatch):
    for name in ("http_proxy", "HTTP_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setenv("no_proxy", "")
    listener = socket.create_server(("127.0.0.1", 0))

    def answer_once() -> None:
        with listener, listener.accept()[0] as connection:
            connection.recv(65_536)
            body = b'{"ApiVersion": "1.44", "MinAPIVersion": "1.24"}'
            head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n"
            connection.sendall(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)

    daemon = threading.Thread(target=answer_once)
    daemon.start()
    engine = DockerEngine(f"tcp://127.0.0.1:{listener.getsockname()[1]}")
    assert engine.call_sync(lambda client: client.api_version, seconds=20) == "1.44"
    daemon.join()
