"""A worker process for tests that kill or freeze it. Usage: ``python -m ... DATABASE FOLDER``."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, Self


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
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is None:
            return
        if self._process.poll() is None:
            self.thaw()
            self._process.terminate()
            self._process.wait(30)
        assert self._process.stdout is not None
        self._process.stdout.close()

    def start(self) -> None:
        from django.db import connection

        database = connection.settings_dict["NAME"]
        command = [sys.executable, "-m", __name__, str(database), str(self._folder)]
        self._process = subprocess.Popen(
            [*command, str(self._lease_seconds), str(self._concurrency), self._fault],
            env=self._environment,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "ready\n"
        self._fault = ""

    def freeze(self) -> None:
        """Stop the process like a machine that sleeps: it neither reads nor writes, and keeps its connections."""
        self._send(signal.SIGSTOP)

    def thaw(self) -> None:
        self._send(signal.SIGCONT)

    def _send(self, number: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(number)

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def wait_until_dead(self) -> None:
        """Wait until it has killed itself at its fault."""
        assert self._process is not None
        assert self._process.wait(60) == -signal.SIGKILL
        assert self._process.stdout is not None
        self._process.stdout.close()

    def kill(self) -> None:
        """Kill it with ``kill -9``."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()


def main(database: str, folder: str, lease_seconds: str, concurrency: str, fault: str) -> None:
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
    from django.conf import settings

    settings.DATABASES["default"]["NAME"] = database
    import django

    django.setup()
    from paca.sandbox.manager import SandboxManager
    from paca.worker.thread import WorkerThread
    from paca.worker.worker_settings import WorkerSettings
    from tests.support import docker_backend

    if fault:
        from tests.chaos import points

        points.install(fault)
    options: dict[str, Any] = {"concurrency": int(concurrency), "sandbox_idle_seconds": 60}
    worker = WorkerThread(
        WorkerSettings(lease_seconds=float(lease_seconds), **options),
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


if __name__ == "__main__":
    main(*sys.argv[1:])
