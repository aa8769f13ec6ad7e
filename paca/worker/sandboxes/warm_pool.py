"""Sandboxes that stand ready in this worker, so that a conversation need not wait for its own to start."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace
from uuid import UUID

from paca.common import clock
from paca.common.best_effort import tolerated
from paca.sandbox.base import SandboxSpec
from paca.sandbox.docker.warm_pool import WarmSandbox
from paca.sandbox.manager import SandboxManager
from paca.worker.database import Database
from paca.worker.sandboxes import warm_pool_queries

logger = logging.getLogger(__name__)
PART = "sandboxes that stand ready"
LOOK_SECONDS, LONGEST_PAUSE_SECONDS = 1.0, 60.0
# Whoever has just taken one is about to work, and shall not share the machine with its successor's start.
QUIET_SECONDS = 1.0
DRAIN_SECONDS = 8.0


class Pool:
    """Keeps ``size`` of them as ``spec`` says, while ``room`` says that new work may begin.

    The row of one is there before it is, and goes before it does: a sweep may remove what has none.
    """

    def __init__(
        self,
        spec: SandboxSpec,
        size: int,
        *,
        worker_id: str,
        sandboxes: SandboxManager,
        database: Database,
        room: Callable[[], bool],
    ) -> None:
        self._size = size
        self._spec = spec
        self._worker_id = worker_id
        self._sandboxes = sandboxes
        self._database = database
        self._room = room
        self._ready: list[WarmSandbox] = []
        self._leaving: set[str] = set()  # volumes; being made, too, until it is
        self._taken_at = float("-inf")
        self._making: asyncio.Task[None] | None = None

    async def keep(self) -> None:
        """Fill it again and again, ever more seldom while that fails."""
        pause, this = LOOK_SECONDS, asyncio.current_task()
        while self._size:
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
            with tolerated(PART):
                await self._tend()
                pause = LOOK_SECONDS
            if this is not None and this.cancelling():  # what failed then was tolerated as well
                return
            await asyncio.sleep(pause)

    async def _tend(self) -> None:
        if (backend := await self._sandboxes.choose_backend()).name != "docker":
            logger.warning(
                "SANDBOX_POOL_SIZE has no effect: only Docker's sandboxes can stand ready",
                extra={"backend": backend.name},
            )
            self._size = 0
            return
        image = await self._sandboxes.warm_pool.image_id()
        for ready in [each for each in self._ready if each.lost or each.image != image]:
            self._ready.remove(ready)
            self.drop(ready)
        for volume in list(self._leaving):
            await self._remove(volume)
        while len(self._ready) < self._size and self._is_quiet and self._room():
            await self._add()

    @property
    def _is_quiet(self) -> bool:
        return clock.monotonic() - self._taken_at >= QUIET_SECONDS

    async def _add(self) -> None:
        volume = self._sandboxes.warm_pool.new_volume()
        self._leaving.add(volume)
        await self._database.call(warm_pool_queries.enter, volume, worker_id=self._worker_id)
        # Not cancelled with us: Docker would make it all the same, when nobody removes it any more.
        self._making = asyncio.create_task(self._make(volume))
        await asyncio.shield(self._making)

    async def _make(self, volume: str) -> None:
        made = await self._sandboxes.warm_pool.create(self._spec, volume, owner=self._worker_id)
        self._ready.append(made)
        self._leaving.discard(volume)

    async def _remove(self, volume: str) -> None:
        standing = self._sandboxes.warm_pool
        await standing.remove_container(volume)
        if await self._database.call(warm_pool_queries.withdraw, volume):
            await standing.remove_volume(volume)
        self._leaving.discard(volume)

    async def drain(self) -> None:
        """Remove all that stand ready, if that does not take long; what is left, a sweep finds."""
        self._size = 0
        if self._making is not None:
            await asyncio.wait({self._making}, timeout=DRAIN_SECONDS)
            self._making.cancel()
            await asyncio.gather(self._making, return_exceptions=True)
        while self._ready:
            self.drop(self._ready.pop())
        with tolerated(PART):
            async with asyncio.timeout(DRAIN_SECONDS):
                await asyncio.gather(*map(self._try_to_remove, list(self._leaving)))

    async def _try_to_remove(self, volume: str) -> None:
        """The others shall be waited for, should this one fail."""
        with tolerated(PART):
            await self._remove(volume)

    # --- for runs ---------------------------------------------------------------------------------

    def take(self, spec: SandboxSpec) -> WarmSandbox | None:
        """One that will do for ``spec``, if there is one. It must be handed over, or dropped."""
        if not self._will_do(spec):
            return None
        while self._ready:
            ready = self._ready.pop(0)
            if not ready.lost:
                self._taken_at = clock.monotonic()
                return ready
            self.drop(ready)
        return None

    def _will_do(self, spec: SandboxSpec) -> bool:
        """Whether it is new and wants nothing but what is given with each command."""
        own = self._spec
        anybodys = replace(
            spec,
            conversation_id=own.conversation_id,
            git_name=own.git_name,
            git_email=own.git_email,
        )
        return anybodys == own

    async def hand_over(self, ready: WarmSandbox, to: UUID) -> bool:
        """Make it the conversation's whose row names its volume."""
        return await self._sandboxes.warm_pool.assign(ready, to)

    def drop(self, ready: WarmSandbox) -> None:
        """Have it removed, but for a volume that somebody has taken."""
        ready.attachment.close()
        self._leaving.add(ready.volume)
