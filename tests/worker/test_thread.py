"""The worker beside the web server: it comes back by itself."""

import pytest
from django.db import connection

from paca.sandbox.manager import SandboxManager
from paca.worker import main
from paca.worker.main import WorkerSettings, WorkerThread
from tests.support.flow import until


@pytest.mark.django_db(transaction=True)
def test_a_worker_that_ends_badly_is_begun_anew(monkeypatch, tmp_path):
    monkeypatch.setattr(main, "RESTART_SECONDS", 0.1)
    sandboxes = SandboxManager(kind="none", data_dir=tmp_path, install_id="tests")
    thread = WorkerThread(WorkerSettings(1, 3.0, 60), sandboxes)
    thread.start()
    thread.wait_until_ready()
    first = thread._worker
    assert first is not None
    broken = ValueError("a bug")
    first._loop.call_soon_threadsafe(first._look.set)
    first._claim = _raising(broken)  # type: ignore[method-assign]
    until(lambda: thread._worker is not first)
    until(lambda: thread.is_alive() and hasattr(thread._worker, "id"))
    thread.drain()
    assert not thread.is_alive()
    connection.close()


def _raising(error: Exception):
    async def claim() -> None:
        raise error

    return claim
