"""Journeys run on a world with a worker."""

import gc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from paca.bus import get_bus
from tests.support import docker_backend
from tests.support.docker_daemon import DockerDaemon
from tests.support.flow import DIALECT, Flow


@pytest.fixture
def flow(transactional_db: None, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Flow]:
    """In the dialect that a test's parameter names, else in that of this run of the tests."""
    with Flow(tmp_path, dialect=getattr(request, "param", DIALECT)) as found:
        yield found


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The pieces of text that the worker of this process has shown while they were written."""
    pieces: list[str] = []
    bus = get_bus()
    live = bus.live

    def showing(topic: str, frame: dict[str, Any]) -> None:
        if frame["type"] == "agent.text.streamed":
            pieces.append(frame["data"]["text"])
        live(topic, frame)

    monkeypatch.setattr(bus, "live", showing)
    return pieces


@pytest.fixture(scope="session")
def own_daemon() -> Iterator[DockerDaemon]:
    docker_backend.skip_without()
    with DockerDaemon() as daemon:
        yield daemon


@pytest.fixture
def daemon(own_daemon: DockerDaemon) -> Iterator[DockerDaemon]:
    """Without live-restore, as it is installed."""
    own_daemon.start(live_restore=False)
    yield own_daemon
    own_daemon.clear()
    gc.collect()  # what is left of connections that it broke is this test's, and no later one's
