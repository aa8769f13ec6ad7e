"""Fixtures of journeys: a world with a worker, shown text, and a Docker daemon for the tests alone."""

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
    """A flow in the dialect of the test's parameter, or in the default dialect of this test run."""
    with Flow(tmp_path, dialect=getattr(request, "param", DIALECT)) as found:
        yield found


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The pieces of live text that the worker of this process has sent to viewers."""
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
    """A Docker daemon without live-restore, which is the default of an installation."""
    own_daemon.start(live_restore=False)
    yield own_daemon
    own_daemon.clear()
    gc.collect()  # warnings about broken connections belong to this test, not to a later one
