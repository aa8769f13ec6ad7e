"""A real installation in a temporary folder, driven as a person at a terminal would."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.installation.manage_process import Installation, Running


@pytest.fixture
def installation(tmp_path: Path) -> Iterator[Installation]:
    """One that was never started."""
    installation = Installation(tmp_path / "data")
    yield installation
    installation.end()


@pytest.fixture(scope="module")
def first_start(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Installation, Running]]:
    """One in its first start, still running: to look at, not to change."""
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
    """One that was started once and ended."""
    shutil.copytree(first_start_data, tmp_path / "data")
    installation = Installation(tmp_path / "data")
    yield installation
    installation.end()
