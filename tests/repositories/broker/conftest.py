"""A git server with the repository ``app``, and a broker for it."""

from __future__ import annotations

import os
import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.repositories.broker.world import BrokerWorld
from tests.support.git_server import GitServer


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The repository, made once."""
    folder = tmp_path_factory.mktemp("served") / "server"
    with GitServer(folder) as server:
        server.create("app", {"README.md": b"hello\n", "big.bin": os.urandom(200_000)})
    return folder


@pytest.fixture
def server(tmp_path: Path, served: Path) -> Iterator[GitServer]:
    """A server with a copy of the repository, which the test may change."""
    shutil.copytree(served, tmp_path / "server")
    with GitServer(tmp_path / "server") as server:
        yield server


@pytest.fixture
async def world(
    tmp_path: Path, server: GitServer, anyio_backend: str
) -> AsyncIterator[BrokerWorld]:
    """A broker in this process."""
    async with BrokerWorld(tmp_path / "w", server) as world:
        yield world
