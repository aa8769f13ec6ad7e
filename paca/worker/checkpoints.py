"""Checkpoints of SQLite by the worker, so that no commit of a page or a run has to make one."""

import asyncio
from collections.abc import Callable

from paca.common import sqlite_checkpoint
from paca.common.best_effort import tolerated
from paca.worker.database import Database

PERIOD_SECONDS = 1.0


async def checkpoint_repeatedly(database: Database, has_worked: Callable[[], bool]) -> None:
    """Make a checkpoint every second in which the worker ran conversations. An idle one wakes no disk."""
    task = asyncio.current_task()
    # ``tolerated`` also hides an error of the cleanup after a cancellation.
    while task is None or not task.cancelling():
        await asyncio.sleep(PERIOD_SECONDS)
        if has_worked():
            with tolerated("checkpoint of the database"):
                await database.call(sqlite_checkpoint.checkpoint)
