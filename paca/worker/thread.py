"""A worker in a thread with its own event loop. It is started again if it fails."""

from __future__ import annotations

import asyncio
import logging
import threading
from contextlib import suppress

from paca.common import clock
from paca.sandbox.manager import SandboxManager
from paca.worker.main import DRAIN_SECONDS, Worker
from paca.worker.worker_settings import WorkerSettings

logger = logging.getLogger(__name__)
RESTART_SECONDS = 2.0
HANG_SECONDS = 30.0


class WorkerThread(threading.Thread):
    """The thread of a worker, beside a web server or alone in its process."""

    def __init__(self, settings: WorkerSettings, sandbox_manager: SandboxManager) -> None:
        super().__init__(name="paca-worker", daemon=True)
        self._settings = settings
        self._sandbox_manager = sandbox_manager
        self._worker: Worker | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ready = threading.Event()
        self._stopping = threading.Event()
        self.error: BaseException | None = None

    def run(self) -> None:
        """Run the worker until it is drained. A worker that fails is started again, or no message is answered."""
        while not self._stopping.is_set():
            try:
                asyncio.run(self._run_worker())
            except BaseException as error:
                logger.exception("worker failed")
                if not self._ready.is_set():  # it never started: ``wait_until_ready`` raises this
                    self.error = error
                    break
                self._stopping.wait(RESTART_SECONDS)
        self._ready.set()

    async def _run_worker(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._worker = Worker(self._settings, self._sandbox_manager)
        await self._worker.run(ready=self._ready.set)

    @property
    def id(self) -> str:
        """The id of the worker in the registry; empty before it has started."""
        return self._worker.id if self._worker is not None else ""

    @property
    def is_responsive(self) -> bool:
        """Whether its event loop has swept within the last 30 seconds: a worker that hangs runs nothing."""
        swept_at = self._worker.last_sweep_at if self._worker is not None else float("-inf")
        return clock.monotonic() - swept_at < HANG_SECONDS

    def wait_until_ready(self, seconds: float = 30) -> None:
        """Return once it takes conversations.

        Raises ``TimeoutError`` if that takes too long, or the error that kept it from starting.
        """
        if not self._ready.wait(seconds):
            raise TimeoutError("The worker did not start in time.")
        if self.error is not None:
            raise self.error

    def drain(self, timeout: float = DRAIN_SECONDS + 5) -> None:
        """Let the worker drain and wait for its end. The next worker carries on what was running."""
        self._stopping.set()
        if self._loop is not None and self._worker is not None and self.is_alive():
            with suppress(RuntimeError):  # its loop is closed: it has just ended
                self._loop.call_soon_threadsafe(self._worker.drain)
        self.join(timeout)
