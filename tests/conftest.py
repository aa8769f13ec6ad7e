"""What every test may use, and what a run of the suite owes: a tier that ran nothing has failed."""

import os
from collections.abc import Iterator

import pytest
from django.utils import timezone


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


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
