"""The warm pool: sandboxes that this worker starts before a conversation needs one."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace
from uuid import UUID

from django.db import transaction

from paca.common import clock
from paca.common.best_effort import tolerated
from paca.conversations import sandbox_lifecycle, sandbox_queries
from paca.conversations.models import Conversation, Worker
from paca.conversations.store import Fenced, Lease
from paca.sandbox.base import SandboxSpec
from paca.sandbox.docker.warm_sandboxes import WarmSandbox
from paca.sandbox.manager import SandboxManager
from paca.worker.database import Database

logger = logging.getLogger(__name__)
PART = "warm pool of sandboxes"
REFILL_SECONDS, MAX_RETRY_SECONDS = 1.0, 60.0
# A run that has just taken a sandbox starts to work: the start of the next one must not slow it down.
QUIET_SECONDS = 1.0
DRAIN_SECONDS = 8.0


class WarmPool:
    """Keeps ``size`` sandboxes ready that are made from ``spec``, while there is disk space.

    The row of a sandbox is written before it is made, and deleted before it is removed: a sweep may
    remove any sandbox without a row.
    """

    def __init__(
        self,
        spec: SandboxSpec,
        size: int,
        *,
        worker_id: str,
        sandbox_manager: SandboxManager,
        database: Database,
        has_disk_space: Callable[[], bool],
    ) -> None:
        self._size = size
        self._spec = spec
        self._worker_id = worker_id
        self._sandbox_manager = sandbox_manager
        self._database = database
        self._has_disk_space = has_disk_space
        self._ready: list[WarmSandbox] = []
        # Volumes to remove: those of sandboxes that are discarded or not completely made yet.
        self._to_remove: set[str] = set()
        self._taken_at = float("-inf")
        self._making: asyncio.Task[None] | None = None

    async def keep_filled(self) -> None:
        """Fill the pool again and again, at longer intervals while that fails."""
        pause, task = REFILL_SECONDS, asyncio.current_task()
        while self._size:
            pause = min(2 * pause, MAX_RETRY_SECONDS)
            with tolerated(PART):
                await self._refill()
                pause = REFILL_SECONDS
            # ``tolerated`` also hides an error of the cleanup after a cancellation.
            if task is not None and task.cancelling():
                return
            await asyncio.sleep(pause)

    async def _refill(self) -> None:
        if (backend := await self._sandbox_manager.choose_backend()).name != "docker":
            logger.warning(
                "SANDBOX_POOL_SIZE has no effect: only the Docker backend has a warm pool",
                extra={"backend": backend.name},
            )
            self._size = 0
            return
        image = await self._sandbox_manager.warm_sandboxes.image_id()
        for ready in [each for each in self._ready if each.lost or each.image != image]:
            self._ready.remove(ready)
            self.discard(ready)
        for volume in list(self._to_remove):
            await self._remove(volume)
        while len(self._ready) < self._size and self._may_start_one and self._has_disk_space():
            await self._add()

    @property
    def _may_start_one(self) -> bool:
        return clock.monotonic() - self._taken_at >= QUIET_SECONDS

    async def _add(self) -> None:
        volume = self._sandbox_manager.warm_sandboxes.new_volume()
        self._to_remove.add(volume)
        await self._database.call(
            sandbox_lifecycle.register_ready, volume, worker_id=self._worker_id
        )
        # Not cancelled with this task: Docker would still make the container, and nothing would remove it.
        self._making = asyncio.create_task(self._make(volume))
        await asyncio.shield(self._making)

    async def _make(self, volume: str) -> None:
        made = await self._sandbox_manager.warm_sandboxes.create(
            self._spec, volume, owner=self._worker_id
        )
        self._ready.append(made)
        self._to_remove.discard(volume)

    async def _remove(self, volume: str) -> None:
        warm_sandboxes = self._sandbox_manager.warm_sandboxes
        await warm_sandboxes.remove_container(volume)
        if await self._database.call(sandbox_lifecycle.remove_from_pool, volume):
            await warm_sandboxes.remove_volume(volume)
        self._to_remove.discard(volume)

    async def drain(self) -> None:
        """Remove all sandboxes of the pool within a few seconds. A sweep finds those that are left."""
        self._size = 0
        if self._making is not None:
            await asyncio.wait({self._making}, timeout=DRAIN_SECONDS)
            self._making.cancel()
            await asyncio.gather(self._making, return_exceptions=True)
        while self._ready:
            self.discard(self._ready.pop())
        with tolerated(PART):
            async with asyncio.timeout(DRAIN_SECONDS):
                await asyncio.gather(*map(self._try_to_remove, list(self._to_remove)))

    async def _try_to_remove(self, volume: str) -> None:
        """Remove one sandbox. Its error must not cancel the removal of the others."""
        with tolerated(PART):
            await self._remove(volume)

    # --- for runs ---------------------------------------------------------------------------------

    def take(self, spec: SandboxSpec) -> WarmSandbox | None:
        """Remove and return a sandbox that fits ``spec``; None if there is none.

        The caller must ``assign`` or ``discard`` it.
        """
        if not self._fits(spec):
            return None
        while self._ready:
            ready = self._ready.pop(0)
            if not ready.lost:
                self._taken_at = clock.monotonic()
                return ready
            self.discard(ready)
        return None

    def _fits(self, spec: SandboxSpec) -> bool:
        """Whether ``spec`` is that of the pool, but for what each command sets itself."""
        own = self._spec
        without_owner = replace(
            spec,
            conversation_id=own.conversation_id,
            git_name=own.git_name,
            git_email=own.git_email,
        )
        return without_owner == own

    async def assign(self, ready: WarmSandbox, to: UUID) -> bool:
        """Rename the container for the conversation whose row names its volume; False if that failed."""
        return await self._sandbox_manager.warm_sandboxes.assign(ready, to)

    def discard(self, ready: WarmSandbox) -> None:
        """Have it removed, except for its volume if that belongs to a conversation by now."""
        ready.attachment.close()
        self._to_remove.add(ready.volume)


# --- rows -----------------------------------------------------------------------------------------


@transaction.atomic
def assign_volume(lease: Lease, ready: str | None) -> str:
    """The volume of the conversation's files; blank if the volume is named after the conversation.

    A conversation without a sandbox gets the volume ``ready``, if that is still in the warm pool.
    Raises ``Fenced`` if the lease is lost.
    """
    owned = Conversation.objects.filter(
        pk=lease.conversation_id, lease_owner=lease.owner, lease_epoch=lease.epoch, deleted_at=None
    )
    if not list(owned.for_update()):
        raise Fenced
    volume = sandbox_queries.volume_of(lease.conversation_id)
    if volume is not None:
        return volume
    if ready and sandbox_lifecycle.assign_ready(lease.conversation_id, ready):
        return ready
    return ""


def remove_from_pool_of_dead_workers(owners: dict[str, str]) -> dict[str, bool]:
    """Remove the sandboxes of dead and silent workers from the warm pool.

    ``owners``: the worker of each volume that has a container. Returns the volumes of dead workers,
    and whether each may be removed.
    """
    alive = set(Worker.objects.alive().values_list("pk", flat=True))
    sandbox_lifecycle.remove_from_pool_except_of(alive)
    return {
        volume: sandbox_lifecycle.remove_from_pool(volume)
        for volume, owner in owners.items()
        if owner not in alive
    }
