"""A worker process for tests that kill or freeze it."""

import os
import signal
import sys
import threading
from pathlib import Path
from typing import Self

from tests.support.worker_forks import ForkedWorker


class WorkerProcess:
    """Runs from ``__enter__`` to ``__exit__``, unless it is killed."""

    def __init__(
        self,
        folder: Path,
        *,
        lease_seconds: float = 3.0,
        concurrency: int = 5,
        sandbox: str = "",
        fault: str = "",
    ) -> None:
        """``fault``: the point of ``tests/chaos/points.py`` at which the first process kills itself."""
        self._folder = folder
        self._environment = {**os.environ, **({"PACA_SANDBOX": sandbox} if sandbox else {})}
        self._fault = fault
        self._lease_seconds = lease_seconds
        self._concurrency = concurrency
        self._process: ForkedWorker | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self._process.send(signal.SIGCONT)
            self._process.send(signal.SIGTERM)
            self._process.wait(30)

    def start(self) -> None:
        from django.db import connection

        self._process = ForkedWorker(
            self._environment,
            database=str(connection.settings_dict["NAME"]),
            folder=str(self._folder),
            lease_seconds=self._lease_seconds,
            concurrency=self._concurrency,
            fault=self._fault,
        )
        self._process.wait_until_ready()
        self._fault = ""

    def freeze(self) -> None:
        """Stop the process like a machine that sleeps: it neither reads nor writes, and keeps its connections."""
        self._running.send(signal.SIGSTOP)

    def thaw(self) -> None:
        self._running.send(signal.SIGCONT)

    @property
    def pid(self) -> int:
        return self._running.pid

    @property
    def _running(self) -> ForkedWorker:
        assert self._process is not None
        return self._process

    def wait_until_dead(self) -> None:
        """Wait until it has killed itself at its fault."""
        assert self._running.wait() == -signal.SIGKILL

    def kill(self) -> None:
        """Kill it with ``kill -9``."""
        self._running.send(signal.SIGKILL)
        self._running.wait()


def run(*, database: str, folder: str, lease_seconds: float, concurrency: int, fault: str) -> None:
    """Be the worker, in a process in which Django is set up; until SIGTERM."""
    from django.conf import settings

    settings.DATABASES["default"]["NAME"] = database
    from paca.sandbox.manager import SandboxManager
    from paca.worker.thread import WorkerThread
    from paca.worker.worker_settings import WorkerSettings
    from tests.support import docker_backend

    if fault:
        from tests.chaos import points

        points.install(fault)
    worker = WorkerThread(
        WorkerSettings(
            lease_seconds=lease_seconds, concurrency=concurrency, sandbox_idle_seconds=60
        ),
        SandboxManager(
            kind=settings.PACA_SANDBOX,
            data_dir=Path(folder),
            install_id=docker_backend.install_id(Path(folder)),
        ),
    )
    over = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: over.set())
    worker.start()
    worker.wait_until_ready()
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    over.wait()
    worker.drain()
