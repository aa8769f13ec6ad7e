"""What every test may use, and what a run of the suite owes: a tier that ran nothing has failed."""

import os
from collections.abc import Iterator

import pytest
from django.conf import settings
from django.db import connections
from django.utils import timezone

from tests.support import postgres_server
from tests.support.postgres_server import PostgresServer


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What only PostgreSQL can show runs where it is the database: ``tests/on_services.py``."""
    if settings.DATABASES["default"]["ENGINE"].endswith("sqlite3"):
        elsewhere = [item for item in items if item.get_closest_marker("postgres")]
        config.hook.pytest_deselected(items=elsewhere)
        items[:] = [item for item in items if item not in elsewhere]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A PostgreSQL for the tests that stop, fill or refuse one."""
    with postgres_server.running() as server:
        yield server


@pytest.fixture(autouse=True)
def no_connection_is_left_over() -> None:
    """A test without a database may not even look at one that an earlier test left open."""
    for connection in connections.all(initialized_only=True):
        if not connection.in_atomic_block:
            connection.close()


@pytest.fixture(autouse=True)
def logs_may_be_flushed(request: pytest.FixtureRequest) -> Iterator[None]:
    """A log outlives every attempt to delete it, and so would a test's: its conversation first."""
    marker = request.node.get_closest_marker("django_db")
    marked = marker is not None and marker.kwargs.get("transaction")
    if not marked and "transactional_db" not in request.fixturenames:
        yield
        return
    request.getfixturevalue("transactional_db")  # so that this ends before the tables are flushed
    yield
    from paca.conversations.models import Conversation

    Conversation.objects.update(deleted_at=timezone.now())


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """In CI a skipped test is a missing service, and a missing service is a failure."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None or not os.environ.get("CI") or session.exitstatus != pytest.ExitCode.OK:
        return
    skipped = len(reporter.stats.get("skipped", []))
    if skipped or not reporter.stats.get("passed"):
        reporter.write_line(
            f"CI: {skipped} tests were skipped or none ran; each must run here.", red=True
        )
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
