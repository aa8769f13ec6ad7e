"""Real installations in temporary folders, used from the command line."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.installation.manage_process import Installation, Running


@pytest.fixture
def installation(tmp_path: Path) -> Iterator[Installation]:
    """An installation that was never started."""
    installation = Installation(tmp_path / "data")
    yield installation
    installation.end()


@pytest.fixture(scope="module")
def first_start(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Installation, Running]]:
    """An installation and its first start, still running. Tests only read it."""
    installation = Installation(tmp_path_factory.mktemp("first") / "data")
    yield installation, installation.up()
    installation.end()


@pytest.fixture(scope="session")
def first_start_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    installation = Installation(tmp_path_factory.mktemp("template") / "data")
    assert installation.up().stop() == 0
    installation.end()
    return installation.data


@pytest.fixture
def stopped_installation(first_start_data: Path, tmp_path: Path) -> Iterator[Installation]:
    """An installation that was started once and stopped."""
    shutil.copytree(first_start_data, tmp_path / "data")
    installation = Installation(tmp_path / "data")
    yield installation
    installation.end()
