"""A worker process with a warm pool. It can be killed while a conversation takes a sandbox of it.

Usage: ``python -m ... DATABASE FOLDER SIZE POINT``.
"""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from queue import Empty, Queue
from typing import Any, Self

MAKE_SECONDS = 90.0


class WarmPoolProcess:
    """Runs from ``__enter__`` to ``__exit__``. ``killed_at``: the point of its ``kill -9``; empty for none."""

    def __init__(self, folder: Path, *, size: int, killed_at: str = "") -> None:
        self._arguments = [str(folder), str(size), killed_at]

    def __enter__(self) -> Self:
        from django.db import connection

        database = str(connection.settings_dict["NAME"])
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__, database, *self._arguments],
            env={**os.environ, "PACA_SANDBOX": "docker"},
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "ready\n"
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        assert self._process.stdout is not None
        self._process.stdout.close()

    def kill(self) -> None:
        """Kill it with ``kill -9``."""
        self._process.kill()
        self._process.wait()

    def wait_for(self, count: int) -> list[str]:
        """Wait until it has made so many sandboxes; returns their volumes.

        Fails if they are not made within ``MAKE_SECONDS``.
        """
        made: list[str] = []
        deadline = time.monotonic() + MAKE_SECONDS
        while len(made) < count:
            line = self._read_line(deadline - time.monotonic())
            assert line, (
                f"the warm pool made {len(made)} of {count} sandboxes in {MAKE_SECONDS:g} s"
            )
            made.append(line)
        return made

    def _read_line(self, seconds: float) -> str:
        """The next line of its output; empty if none comes in time or it has ended."""
        assert self._process.stdout is not None
        lines: Queue[str] = Queue()
        output = self._process.stdout
        threading.Thread(target=lambda: lines.put(output.readline()), daemon=True).start()
        try:
            return lines.get(timeout=max(seconds, 0)).strip()
        except Empty:
            return ""

    def wait(self, seconds: float) -> int:
        return self._process.wait(seconds)


def main(database: str, folder: str, size: str, point: str) -> None:
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
    from django.conf import settings

    settings.DATABASES["default"]["NAME"] = database
    import django

    django.setup()
    from paca.sandbox.manager import SandboxManager
    from paca.worker.thread import WorkerThread
    from paca.worker.worker_settings import WorkerSettings
    from tests.support import docker_backend

    _print_made_volumes()
    _kill_at(point)
    options: dict[str, Any] = {"concurrency": 5, "sandbox_idle_seconds": 60, "lease_seconds": 3.0}
    worker = WorkerThread(
        WorkerSettings(pool_size=int(size), **options),
        SandboxManager(
            kind=settings.PACA_SANDBOX,
            data_dir=Path(folder),
            install_id=docker_backend.install_id(Path(folder)),
        ),
    )
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    worker.start()
    worker.wait_until_ready()
    threading.Event().wait()


def _print_made_volumes() -> None:
    from paca.sandbox.docker.warm_sandboxes import WarmSandbox, WarmSandboxes

    make = WarmSandboxes.create

    async def made(*arguments: Any, **options: Any) -> WarmSandbox:
        found = await make(*arguments, **options)
        sys.stdout.write(f"{found.volume}\n")
        sys.stdout.flush()
        return found

    WarmSandboxes.create = made  # type: ignore[method-assign]


def _kill_at(point: str) -> None:
    """Kill this process at one of three points while a conversation takes a sandbox."""
    from paca.sandbox.docker.warm_sandboxes import WarmSandboxes
    from paca.worker.sandboxes import warm_pool

    def die(*_: object) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    take, hand_over = warm_pool.assign_volume, WarmSandboxes.assign

    def taken(*arguments: Any) -> str:
        if point == "before the row":
            die()
        found = take(*arguments)
        if point == "after the row":
            die()
        return found

    async def handed_over(*arguments: Any) -> bool:
        found = await hand_over(*arguments)
        if point == "after the name":
            die()
        return found

    warm_pool.assign_volume, WarmSandboxes.assign = taken, handed_over  # type: ignore[method-assign]


if __name__ == "__main__":
    main(*sys.argv[1:])
