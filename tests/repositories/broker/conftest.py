"""A git server with the repository ``app``, and a broker for it."""

from __future__ import annotations

import os
import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.repositories.broker.world import BrokerWorld
from tests.support.git_server import HEADER, GitServer


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GitServer]:
    """The server of all tests, with the repository as each of them begins."""
    with GitServer(tmp_path_factory.mktemp("served") / "server") as server:
        server.create("app", {"README.md": b"hello\n", "big.bin": os.urandom(20_000)})
        yield server


@pytest.fixture
def server(tmp_path: Path, served: GitServer) -> Iterator[GitServer]:
    """The server with a copy of the repository, which the test may change."""
    beginning = served.root
    shutil.copytree(beginning, tmp_path / "server")
    served.root, served.header, served.redirect = tmp_path / "server", HEADER, ""
    served.speaks_version_2 = True
    served.requests.clear()
    yield served
    served.root = beginning


@pytest.fixture
async def world(
    tmp_path: Path, server: GitServer, anyio_backend: str
) -> AsyncIterator[BrokerWorld]:
    """A broker in this process."""
    async with BrokerWorld(tmp_path / "w", server) as world:
        yield world
