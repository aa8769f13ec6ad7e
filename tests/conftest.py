"""What every test may use, and what a run of the suite owes: a tier that ran nothing has failed."""

import os

import pytest


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


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
