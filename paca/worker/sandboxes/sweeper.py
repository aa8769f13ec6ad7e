"""Looks, again and again, for what nobody will tell: dead owners, and sandboxes nobody uses."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID

from paca.common import clock
from paca.common.best_effort import tolerated
from paca.sandbox.base import IdlePolicy
from paca.sandbox.manager import SandboxManager
from paca.worker import worker_registry
from paca.worker.database import Database
from paca.worker.sandboxes import sweeper_queries, warm_pool_queries
from paca.worker.sandboxes.sweeper_queries import Kept

logger = logging.getLogger(__name__)

SANDBOXES_SECONDS = 10.0
THOROUGH_SECONDS = 60.0
# The time to see that the database is an older copy, and to restore the right one.
ORPHAN_SECONDS = 24 * 3600.0
FILES = "removing the files of a conversation"


@dataclass(frozen=True, slots=True)
class Reaped:
    """What a sweep has removed: sandboxes that ran or had ended, whole workspaces, half-made things."""

    ended: int = 0
    workspaces: int = 0
    half_made: int = 0

    @property
    def total(self) -> int:
        return self.ended + self.workspaces + self.half_made

    def __str__(self) -> str:
        return (
            f"{self.ended} unused sandboxes ended, {self.workspaces} workspaces of nobody removed, "
            f"{self.half_made} half-made things removed"
        )


async def free_what_the_dead_held(worker_id: str, database: Database) -> None:
    """So that conversations need not wait until their leases run out."""
    if freed := await database.call(worker_registry.free_leases_of_the_dead, worker_id):
        logger.warning("taking over from a dead worker", extra={"conversations": freed})


class Sweeper:
    """One worker's share of the housekeeping, among the sandboxes of its manager."""

    def __init__(
        self,
        worker_id: str,
        database: Database,
        sandboxes: SandboxManager,
        patience: IdlePolicy,
        *,
        orphan_seconds: float = 0,
    ) -> None:
        """``orphan_seconds``: for how long it must have seen files of nobody before it removes them."""
        self._worker_id = worker_id
        self._database = database
        self._sandboxes = sandboxes
        self._patience = patience
        self._thorough_at = float("-inf")
        self._orphan_seconds = orphan_seconds
        self._orphans: dict[UUID, float] = {}

    async def mind_sandboxes(self, held: Callable[[], set[UUID]]) -> None:
        """Again and again, beside the other sweep: a daemon that hangs holds up neither work nor orders."""
        this = asyncio.current_task()
        while True:
            # A file that cannot be removed or a sandbox that is locked must not end the worker.
            with tolerated("sweep of sandboxes"):
                await self.sweep_sandboxes(held())
            if this is not None and this.cancelling():  # what failed then was tolerated as well
                return
            await asyncio.sleep(SANDBOXES_SECONDS)

    async def sweep_sandboxes(self, held: set[UUID]) -> Reaped:
        """Pause and end idle sandboxes, and remove those of deleted conversations; at first, and every
        minute, also all that no row knows of."""
        await self._pause_idle()
        await self._end_ready_ones_of_the_dead()
        ended, workspaces, half_made = await self._end_unused(held), await self._remove_files(), 0
        if clock.monotonic() - self._thorough_at >= THOROUGH_SECONDS:
            self._thorough_at = clock.monotonic()
            await self._note_losses()
            workspaces += await self._remove_orphans()
            half_made = await asyncio.to_thread(self._sandboxes.remove_leftovers)
        reaped = Reaped(ended, workspaces, half_made)
        if reaped.total:
            logger.info("sandboxes swept", extra={"removed": str(reaped)})
            await self._database.call(sweeper_queries.count, self._worker_id, reaped.total)
        return reaped

    async def _pause_idle(self) -> None:
        for each in await self._database.call(sweeper_queries.to_pause, self._patience):
            with tolerated("pausing a sandbox"):
                if not await self._sandboxes.pause(each.conversation_id, each.backend):
                    continue
                # Whoever takes the conversation from now on finds it paused and resumes it.
                if not await self._database.call(sweeper_queries.note_paused, each):
                    await self._sandboxes.resume(each.conversation_id, each.backend)

    async def _end_ready_ones_of_the_dead(self) -> None:
        """What was looked at before the rows, and has none, is nobody's; and its files are not, unless
        a conversation has just taken them."""
        if not (standing := await asyncio.to_thread(self._sandboxes.list_warm)):
            return
        gone = await self._database.call(warm_pool_queries.withdraw_of_the_dead, standing)
        for volume, is_nobodys in gone.items():
            with tolerated("removing a sandbox that stood ready"):
                await self._sandboxes.warm_pool.remove_container(volume)
                if is_nobodys:
                    await self._sandboxes.warm_pool.remove_volume(volume)

    async def _end_unused(self, held: set[UUID]) -> int:
        # In this order: one that is claimed after the question has a higher epoch, and stays.
        living = await self._database.call(sweeper_queries.living)
        lives = await asyncio.to_thread(self._sandboxes.list_running)
        used = await self._database.call(sweeper_queries.in_use, self._patience)
        ended = set(await self._sandboxes.sweep(used | held, lives))
        for each in living:
            if each.conversation_id in ended:
                await self._database.call(sweeper_queries.note_ended, each)
        return len(ended)

    async def _remove_files(self) -> int:
        """Of deleted conversations, and where a person wants them gone."""
        removed = 0
        for each in await self._database.call(sweeper_queries.deleted):
            if await self._forgotten(each.conversation_id, each.backend, each.volume):
                await self._database.call(sweeper_queries.forget, each.conversation_id)
                removed += 1
        for each in await self._database.call(sweeper_queries.to_free):
            with tolerated(FILES):
                removed += await self._freed(each)
        return removed

    async def _freed(self, each: Kept) -> bool:
        # Asked anew: while others were freed, a turn may have begun with new files, and ended.
        if each not in await self._database.call(sweeper_queries.to_free):
            return False
        if not await self._sandboxes.remove_files(each.conversation_id, each.backend, each.volume):
            return False
        return await self._database.call(sweeper_queries.note_freed, each)

    async def _remove_orphans(self) -> int:
        """Workspaces of conversations that do not exist. What is there was looked at before the rows:
        no conversation is made after its files."""
        kept, removed = await asyncio.to_thread(self._sandboxes.list_workspaces), 0
        now, before, self._orphans = clock.monotonic(), self._orphans, {}
        for backend, volumes in kept.items():
            for orphan in await self._database.call(sweeper_queries.unknown, volumes):
                since = self._orphans[orphan] = before.get(orphan, now)
                if now - since >= self._orphan_seconds:
                    removed += await self._forgotten(orphan, backend, volumes[orphan])
        return removed

    async def _forgotten(self, conversation_id: UUID, backend: str, volume: str) -> bool:
        """The others shall not wait for one whose files cannot be removed."""
        with tolerated(FILES):
            return await self._sandboxes.delete(conversation_id, backend, volume)
        return False

    async def _note_losses(self) -> None:
        """Say of sandboxes which ended while nobody held them what became of them."""
        for each in await self._database.call(sweeper_queries.living):
            with tolerated("asking after a sandbox"):
                loss = await self._sandboxes.exit_cause(each.conversation_id, each.backend)
                if loss is not None:
                    await self._database.call(sweeper_queries.note_lost, each, loss)
