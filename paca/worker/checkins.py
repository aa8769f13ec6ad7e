"""Starts the check-ins of agents and makes planned changes of their status when they are due, in a task of every worker."""

from __future__ import annotations

import asyncio
from datetime import datetime

from django.utils import timezone

from paca.common import disk_space
from paca.common.best_effort import tolerated
from paca.conversations.services import agent_status, check_in_runs
from paca.worker.database import Database

# A slot comes at most this much late if a check-in is made or moved while the workers sleep.
MAX_WAIT_SECONDS = 15.0
MIN_WAIT_SECONDS = 1.0


async def start_repeatedly(database: Database, draining: asyncio.Event) -> None:
    """Take slots and planned changes as they become due, until the worker drains. Between them the task sleeps.

    Any number of workers do it side by side: each is taken in one transaction, see
    ``conversations/services/check_in_runs.py`` and ``agent_status.py`` there. On a full disk slots stay due.
    """
    while not draining.is_set():
        next_at = None
        with tolerated("check-ins"):
            if not disk_space.database_is_full():
                next_at = await database.call(take_due)
        try:
            async with asyncio.timeout(seconds_until(next_at, timezone.now())):
                await draining.wait()
        except TimeoutError:
            continue


def take_due() -> datetime | None:
    """Take what is due by the clock of this machine; gives when to ask again."""
    now = timezone.now()
    times = [take(now) for take in (agent_status.take_due, check_in_runs.take_due)]
    return min((each for each in times if each is not None), default=None)


def seconds_until(next_at: datetime | None, now: datetime) -> float:
    """How long to sleep: until the next slot, but not longer than a change of a check-in may wait."""
    if next_at is None:
        return MAX_WAIT_SECONDS
    return min(max((next_at - now).total_seconds(), MIN_WAIT_SECONDS), MAX_WAIT_SECONDS)
