"""Markers and fixtures of all tests; in CI a skipped test or an empty tier fails the run."""

import gc
import os
from collections.abc import Awaitable, Callable, Generator, Iterator
from pathlib import Path

import pytest
from django.conf import settings
from django.db import connections

from paca.sandbox.bubblewrap import backend
from paca.sandbox.bubblewrap.backend import Bubblewrap
from tests.support import empty_tables, migrated_database, postgres_server
from tests.support.postgres_server import PostgresServer

HERE = Path(__file__).parent
# Tests that start a process of Paca, or wait in real time: beginnings of their node ids.
PROCESS = (
    "tests/flows/",
    "tests/installation/",
    "tests/compose/",
    "tests/realtime/test_slow_readers.py",
    "tests/realtime/test_replay_and_follow.py",
    "tests/realtime/test_live_text.py",
    "tests/ops/test_uvicorn_server.py",
    "tests/worker/test_thread.py",
    "tests/worker/test_full_database.py",
    "tests/database/test_writers.py",
)
# Not even imported for the quick tests: nothing in these folders is quick.
NEVER_QUICK = ("flows", "installation", "compose", "browser")
CONTROL_GROUPS = Path("/sys/fs/cgroup/cgroup.controllers")  # in version 2
RUN_WHOLE = ("tests/conversations/", "tests/projects/")  # on PostgreSQL (tests/on_services.py)
DATABASE_FIXTURES = {"db", "transactional_db", "live_server", "django_db_setup"}
SLOW = {"service", "process", "postgres", "docker", "browser"}

empty_tables.install()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Save the imports of folders of which no test will run."""
    expression = config.option.markexpr
    folders = NEVER_QUICK if expression == "quick" else ()
    if expression.startswith("not browser"):
        folders = ("browser",)
    is_left_out = collection_path.parent == HERE and collection_path.name in folders
    return True if is_left_out else None


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Load the modules of ten thousand tests, which leave no garbage; later collections leave them out."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_itemcollected(item: pytest.Item) -> None:
    if item.nodeid.startswith(PROCESS):
        item.add_marker(pytest.mark.process)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the quick tests, and leave out those of another database or kernel: a skipped test fails in CI."""
    for item in items:
        if not SLOW & {marker.name for marker in item.iter_markers()}:
            item.add_marker(pytest.mark.quick)
    absent = ["postgres" if _is_on_sqlite() else "sqlite"]
    if os.geteuid() != 0 or not CONTROL_GROUPS.exists():
        absent.append("cgroup2")
    left_out = {item for item in items if any(map(item.get_closest_marker, absent))}
    if not _is_on_sqlite():
        left_out |= {item for item in items if not _may_use_a_service(item)}
    config.hook.pytest_deselected(items=list(left_out))
    items[:] = [item for item in items if item not in left_out]


def _may_use_a_service(item: pytest.Item) -> bool:
    """False for the tests without a database in folders that run whole on PostgreSQL."""
    if not item.nodeid.startswith(RUN_WHOLE) or item.get_closest_marker("quick") is None:
        return True
    names = set(getattr(item, "fixturenames", ()))
    return bool(names & DATABASE_FIXTURES or item.get_closest_marker("django_db"))


def _is_on_sqlite() -> bool:
    return settings.DATABASES["default"]["ENGINE"].endswith("sqlite3")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def django_db_keepdb(django_db_keepdb: bool, django_db_modify_db_settings: None) -> Iterator[bool]:
    """Whether the database of the tests stays: it is a copy of a migrated one."""
    if not _is_on_sqlite():
        if django_db_keepdb:
            name = connections["default"].creation._get_test_db_name()
            migrated_database.copy_on_postgresql(os.environ["DATABASE_URL"], name)
        yield django_db_keepdb
        return
    file = Path(settings.DATABASES["default"]["TEST"]["NAME"])
    migrated_database.copy_to(file)
    yield True
    file.unlink()


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A PostgreSQL for the tests that stop, fill or refuse one."""
    with postgres_server.running() as server:
        yield server


@pytest.fixture(autouse=True, scope="session")
def prepared_sandbox_folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Compile the runner and copy /etc once, not for the data folder of each test (0.2 s of CPU)."""
    folder, prepare = tmp_path_factory.mktemp("sandbox"), backend.prepare_launcher
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            backend, "prepare_launcher", lambda _, idle, __: prepare(folder, idle, folder / "run")
        )
        yield


@pytest.fixture(scope="session")
def bubblewrap_probe() -> Callable[[Bubblewrap], Awaitable[None]]:
    """A probe of bubblewrap that starts a sandbox until it has succeeded once."""
    probe, succeeded = Bubblewrap.probe, False

    async def probe_once(backend: Bubblewrap) -> None:
        nonlocal succeeded
        if not succeeded:
            await probe(backend)
            succeeded = True

    return probe_once


@pytest.fixture(autouse=True)
def journeys_probe_bubblewrap_once(request: pytest.FixtureRequest) -> Iterator[None]:
    """Each journey has a sandbox manager of its own, which would start a sandbox to probe it."""
    with pytest.MonkeyPatch.context() as patch:
        if request.node.nodeid.startswith("tests/flows/"):
            patch.setattr(Bubblewrap, "probe", request.getfixturevalue("bubblewrap_probe"))
        yield


@pytest.fixture(autouse=True)
def no_connection_is_left_over() -> None:
    """Close connections that an earlier test left open: a test without a database may use none."""
    for connection in connections.all(initialized_only=True):
        if not connection.in_atomic_block:
            connection.close()


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail in CI if a test was skipped, since a service is missing then, or if none ran."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None or not os.environ.get("CI") or session.exitstatus != pytest.ExitCode.OK:
        return
    if session.config.option.collectonly:
        return
    skipped = len(reporter.stats.get("skipped", []))
    if skipped or not reporter.stats.get("passed"):
        reporter.write_line(
            f"CI: {skipped} tests were skipped or none ran; each must run here.", red=True
        )
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
