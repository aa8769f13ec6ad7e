"""Removes old data and repairs rows of model calls, each hour, in a task of the worker."""

import asyncio
import logging
from collections.abc import Callable

from paca.accounts.services import people
from paca.common.best_effort import tolerated
from paca.conversations import retention
from paca.conversations.services import model_calls
from paca.repositories.services import deliveries
from paca.repositories.skill_sources import fetching
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
    """Remove expired sign-ins and marks of old webhook requests, repair rows of model calls, and remove data by the
    configured keep times.

    It stops at the next conversation if the worker drains.
    """
    await database.call(people.remove_expired_sign_ins)
    await database.call(model_calls.mark_lost_as_abandoned)
    await database.call(model_calls.complete_rows)
    await database.call(fetching.remove_left)
    while await database.call(deliveries.remove_old) == deliveries.BATCH and not is_draining():
        continue
    removed = await database.call(
        retention.remove_old_data,
        retention.KeepTimes.from_settings(),
        may_go_on=lambda: not is_draining(),
    )
    if any(removed.values()):
        logger.info("old data removed", extra={"removed": removed})
