"""A worker with a thread and an event loop of its own, begun anew should it end badly."""

from __future__ import annotations

import asyncio
import logging
import threading
from contextlib import suppress

from paca.common import clock
from paca.sandbox.manager import SandboxManager
from paca.worker.main import DRAIN_SECONDS, Worker, WorkerSettings

logger = logging.getLogger(__name__)
RESTART_SECONDS = 2.0
HANGS_SECONDS = 30.0


class WorkerThread(threading.Thread):
    """Beside the web server, or alone in its process."""

    def __init__(self, settings: WorkerSettings, sandboxes: SandboxManager) -> None:
        super().__init__(name="paca-worker", daemon=True)
        self._settings = settings
        self._sandboxes = sandboxes
        self._worker: Worker | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ready = threading.Event()
        self._over = threading.Event()
        self.error: BaseException | None = None

    def run(self) -> None:
        """Work until drained. One that ends badly is begun anew: the pages cannot do without."""
        while not self._over.is_set():
            try:
                asyncio.run(self._work())
            except BaseException as error:
                logger.exception("the worker ended badly")
                if not self._ready.is_set():  # it never came up: whoever waits for it is told
                    self.error = error
                    break
                self._over.wait(RESTART_SECONDS)
        self._ready.set()

    async def _work(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._worker = Worker(self._settings, self._sandboxes)
        await self._worker.run(ready=self._ready.set)

    @property
    def id(self) -> str:
        """What the others know the worker by."""
        return self._worker.id if self._worker is not None else ""

    @property
    def turns(self) -> bool:
        """Whether its loop has come round within a while: one that hangs runs no conversation."""
        seen = self._worker.seen_at if self._worker is not None else float("-inf")
        return clock.monotonic() - seen < HANGS_SECONDS

    def wait_until_ready(self, seconds: float = 30) -> None:
        """Return once it takes conversations. Raises what it died of."""
        if not self._ready.wait(seconds):
            raise TimeoutError("The worker did not start in time.")
        if self.error is not None:
            raise self.error

    def drain(self, timeout: float = DRAIN_SECONDS + 5) -> None:
        """Let the worker end in order; what runs is carried on at the next start."""
        self._over.set()
        if self._loop is not None and self._worker is not None and self.is_alive():
            with suppress(RuntimeError):  # its loop is closed: it ended a moment ago
                self._loop.call_soon_threadsafe(self._worker.drain)
        self.join(timeout)
