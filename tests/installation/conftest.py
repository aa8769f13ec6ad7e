"""Real installations in temporary folders, used from the command line."""

import fcntl
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.installation.manage_process import Installation, Running
from tests.support import migrated_database


@pytest.fixture
def installation(tmp_path: Path) -> Iterator[Installation]:
    """An installation that was never started."""
    installation = Installation(tmp_path / "data")
    yield installation
    installation.end()


@pytest.fixture
def migrated_installation(installation: Installation) -> Installation:
    """An installation whose first start has applied the migrations and gone no further.

    To apply them takes two thirds of a first start (7 s of CPU). The tests of ``first_start``, of a kill before
    and during the migrations, and of PostgreSQL do it.
    """
    installation.data.mkdir(mode=0o700)
    database = installation.data / "paca.sqlite3"
    migrated_database.copy_to(database)
    database.chmod(0o600)
    return installation


@pytest.fixture(scope="module")
def first_start(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Installation, Running]]:
    """An installation and its first start, still running. Tests only read it."""
    installation = Installation(tmp_path_factory.mktemp("first") / "data")
    yield installation, installation.up()
    installation.end()


@pytest.fixture(scope="session")
def first_start_data(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """The data folder of an installation after its first start, for tests to copy.

    The test processes of one run share it: a first start applies every migration.
    """
    folder = tmp_path_factory.getbasetemp()
    shared = folder if worker_id == "master" else folder.parent
    data = shared / "first-start" / "data"
    with (shared / "first-start.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # released by the end of the block
        if not data.exists():
            installation = Installation(shared / "first-start-unfinished" / "data")
            assert installation.up().stop() == 0
            installation.end()
            installation.data.parent.rename(data.parent)
    return data


@pytest.fixture(scope="module")
def running_installation(
    first_start_data: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Installation, Running]]:
    """A running installation that was started before. Tests of one module share it."""
    installation = Installation(tmp_path_factory.mktemp("running") / "data")
    shutil.copytree(first_start_data, installation.data, symlinks=True)
    yield installation, installation.up()
    installation.end()


@pytest.fixture
def stopped_installation(first_start_data: Path, tmp_path: Path) -> Iterator[Installation]:
    """An installation that was started once and stopped."""
    shutil.copytree(first_start_data, tmp_path / "data", symlinks=True)
    installation = Installation(tmp_path / "data")
    yield installation
    installation.end()
