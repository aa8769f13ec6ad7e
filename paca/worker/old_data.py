"""Removes data that is older than its keep time, and expired sign-ins, each hour, in a task of the worker."""

import asyncio
import logging
from collections.abc import Callable

from paca.accounts.services import people
from paca.common.best_effort import tolerated
from paca.conversations import retention
from paca.worker.database import Database

logger = logging.getLogger(__name__)

PERIOD_SECONDS = 3600.0


async def remove_repeatedly(database: Database, is_draining: Callable[[], bool]) -> None:
    """Remove old data now and every hour. Workers do it side by side: each looks again before it removes."""
    task = asyncio.current_task()
    while True:
        with tolerated("removal of old data"):
            await remove(database, is_draining)
        # ``tolerated`` also hides an error of the cleanup after a cancellation.
        if task is not None and task.cancelling():
            return
        await asyncio.sleep(PERIOD_SECONDS)


async def remove(database: Database, is_draining: Callable[[], bool]) -> None:
    """Remove expired sign-ins, and data by the configured keep times; stops at the next conversation if the worker drains."""
    await database.call(people.remove_expired_sign_ins)
    removed = await database.call(
        retention.remove_old_data,
        retention.KeepTimes.from_settings(),
        may_go_on=lambda: not is_draining(),
    )
    if any(removed.values()):
        logger.info("old data removed", extra={"removed": removed})
