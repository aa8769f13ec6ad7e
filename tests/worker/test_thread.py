"""The worker thread: it starts a failed worker again, and ends in time."""

import socket

import pytest
from django.db import connection

from paca.conversations.models import Worker
from paca.sandbox.manager import DockerAddress, SandboxManager
from paca.worker import thread as threads
from paca.worker.thread import WorkerThread
from paca.worker.worker_settings import WorkerSettings
from tests.support.flow import wait_until


@pytest.mark.django_db(transaction=True)
def test_worker_thread_starts_a_failed_worker_again(monkeypatch, tmp_path):
    monkeypatch.setattr(threads, "RESTART_SECONDS", 0.1)
    sandboxes = SandboxManager(kind="none", data_dir=tmp_path, install_id="tests")
    thread = WorkerThread(WorkerSettings(1, 3.0, 60), sandboxes)
    thread.start()
    thread.wait_until_ready()
    first = thread._worker
    assert first is not None
    broken = ValueError("a bug")
    first._loop.call_soon_threadsafe(first._work_available.set)
    first._claim = _raising(broken)  # type: ignore[method-assign]
    wait_until(lambda: thread._worker is not first)
    wait_until(lambda: thread.is_alive() and hasattr(thread._worker, "id"))
    thread.drain()
    assert not thread.is_alive()
    connection.close()


@pytest.mark.django_db(transaction=True)
def test_worker_sweeps_and_drains_while_the_docker_daemon_hangs(tmp_path):
    """The daemon accepts connections and never answers; leases of dead workers are still released."""
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(tmp_path / "docker.sock"))
        silent.listen(64)
        sandboxes = SandboxManager(
            kind="docker",
            data_dir=tmp_path,
            install_id="tests",
            docker=DockerAddress(host=f"unix://{tmp_path}/docker.sock"),
        )
        thread = WorkerThread(WorkerSettings(1, 3.0, 60), sandboxes)
        thread.start()
        thread.wait_until_ready()
        worker = thread._worker
        assert worker is not None
        for _ in range(3):
            seen = worker.last_sweep_at
            wait_until(lambda seen=seen: worker.last_sweep_at > seen, 10)
        worker.drain()
        wait_until(worker_is_gone, 10)
    thread.drain()
    connection.close()


def worker_is_gone() -> bool:
    return not Worker.objects.exists()


def _raising(error: Exception):
    async def claim() -> None:
        raise error

    return claim
