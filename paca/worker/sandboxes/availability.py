"""Reports in the worker registry whether commands can run on this worker."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from paca.common.best_effort import tolerated
from paca.sandbox.manager import SandboxManager
from paca.worker.database import Database
from paca.worker.worker_registry import WorkerRegistration

CHECK_SECONDS = 10.0


async def report_repeatedly(
    manager: SandboxManager,
    registration: WorkerRegistration,
    database: Database,
    draining: asyncio.Event,
) -> None:
    """Write whether commands can run here, when it changes. A later check costs little."""
    reported = None
    # Ends with the drain, not only when cancelled: ``tolerated`` hides an error of the cleanup.
    while not draining.is_set():
        with tolerated("check of the sandbox backend"):
            fault = await manager.unavailable_reason() or ""
            if fault != reported:
                facts = {"sandbox": manager.active_backend_name, "sandbox_fault": fault}
                await database.call(registration.update, **facts)
                reported = fault
        with suppress(TimeoutError):
            async with asyncio.timeout(CHECK_SECONDS):
                await draining.wait()
