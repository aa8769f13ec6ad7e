"""The sweeper: pauses, ends and removes sandboxes that are no longer needed, and records it."""

from __future__ import annotations

import asyncio
import enum
import logging
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import F

from paca import events
from paca.common import clock
from paca.common.best_effort import tolerated
from paca.common.errors import NotFound
from paca.conversations import (
    ephemeral_files,
    sandbox_lifecycle,
    sandbox_queries,
    sandbox_setups,
    store,
)
from paca.conversations.models import Conversation, SandboxState, Worker
from paca.conversations.models.conversation import waits_for_person
from paca.conversations.models.statuses import ACTIVE_STATUSES, LIVING_SANDBOX_STATES
from paca.conversations.sandbox_queries import SandboxRecord
from paca.engine.workspace import SandboxUnavailable
from paca.events import Event
from paca.sandbox.base import IdlePolicy
from paca.sandbox.exit_cause import ExitCause, ExitKind
from paca.sandbox.manager import SandboxManager
from paca.worker.database import Database
from paca.worker.sandboxes import setups, warm_pool

logger = logging.getLogger(__name__)

SWEEP_SECONDS = 10.0
FULL_SWEEP_SECONDS = 60.0
# Long enough to notice that the database is an older copy, and to restore the right one.
ORPHAN_SECONDS = 24 * 3600.0
REMOVING_FILES = "removing the files of a conversation"


@dataclass(frozen=True, slots=True)
class SweepResult:
    """How many sandboxes a sweep has ended, and how many workspaces and leftovers it has removed."""

    ended: int = 0
    workspaces: int = 0
    leftovers: int = 0

    @property
    def total(self) -> int:
        return self.ended + self.workspaces + self.leftovers

    def __str__(self) -> str:
        return (
            f"{self.ended} unused sandboxes ended, {self.workspaces} workspaces removed, "
            f"{self.leftovers} leftovers of failed starts removed"
        )


class Sweeper:
    """Sweeps the sandboxes that one manager can see, for one worker."""

    def __init__(
        self,
        worker_id: str,
        database: Database,
        sandbox_manager: SandboxManager,
        idle_policy: IdlePolicy,
        *,
        orphan_seconds: float = 0,
    ) -> None:
        """``orphan_seconds``: how long files without a row must have been seen before they are removed."""
        self._worker_id = worker_id
        self._database = database
        self._sandbox_manager = sandbox_manager
        self._idle_policy = idle_policy
        self._full_sweep_at = float("-inf")
        self._orphan_seconds = orphan_seconds
        self._orphans_seen_at: dict[UUID, float] = {}

    async def sweep_repeatedly(self, running: Callable[[], set[UUID]]) -> None:
        """Sweep every ten seconds, in a task of its own: a daemon that hangs must not delay the worker.

        ``running`` gives the conversations that this worker runs.
        """
        task = asyncio.current_task()
        while True:
            # A file that cannot be removed or a sandbox that is locked must not end the worker.
            with tolerated("sweep of sandboxes"):
                await self.sweep(running())
            # ``tolerated`` also hides an error of the cleanup after a cancellation.
            if task is not None and task.cancelling():
                return
            await asyncio.sleep(SWEEP_SECONDS)

    async def sweep(self, running: set[UUID]) -> SweepResult:
        """Pause and end idle sandboxes, and remove those of deleted and ephemeral ones of archived conversations.

        The first sweep, and one every minute, also removes sandboxes without a row.
        """
        await self._pause_idle()
        await self._database.call(
            ephemeral_files.remove_of_archived, after_seconds=settings.SANDBOX_ARCHIVED_SECONDS
        )
        await self._remove_warm_sandboxes_of_dead_workers()
        building = await self._database.call(sandbox_setups.in_use)
        ended, workspaces, leftovers = (
            await self._end_unused(running | building),
            await self._remove_files(),
            0,
        )
        if clock.monotonic() - self._full_sweep_at >= FULL_SWEEP_SECONDS:
            self._full_sweep_at = clock.monotonic()
            await self._record_exits()
            workspaces += await self._remove_setups()
            workspaces += await self._remove_orphans()
            leftovers = await asyncio.to_thread(self._sandbox_manager.remove_leftovers)
        result = SweepResult(ended, workspaces, leftovers)
        if result.total:
            logger.info("sandboxes swept", extra={"removed": str(result)})
            await self._database.call(count_removed, self._worker_id, result.total)
        return result

    async def _pause_idle(self) -> None:
        for each in await self._database.call(sandbox_queries.to_pause, self._idle_policy):
            with tolerated("pausing a sandbox"):
                if not await self._sandbox_manager.pause(each.conversation_id, each.backend):
                    continue
                # A run that starts from now on finds the sandbox paused and resumes it.
                result = await self._database.call(record_paused, each)
                if result is PauseResult.IN_USE:
                    await self._sandbox_manager.resume(each.conversation_id, each.backend)

    async def _remove_warm_sandboxes_of_dead_workers(self) -> None:
        """Remove containers of the warm pool whose worker is gone, and their volumes.

        Containers are listed before the rows are read, so one without a row belongs to no worker. Its
        volume stays if a conversation has just taken it.
        """
        if not (warm := await asyncio.to_thread(self._sandbox_manager.list_warm)):
            return
        removable = await self._database.call(warm_pool.remove_from_pool_of_dead_workers, warm)
        for volume, remove_volume in removable.items():
            with tolerated("removing a sandbox of the warm pool"):
                await self._sandbox_manager.warm_sandboxes.remove_container(volume)
                if remove_volume:
                    await self._sandbox_manager.warm_sandboxes.remove_volume(volume)

    async def _end_unused(self, running: set[UUID]) -> int:
        # In this order: a sandbox that is opened after these reads has a higher epoch, and is kept.
        living = await self._database.call(sandbox_queries.living)
        containers = await asyncio.to_thread(self._sandbox_manager.list_started)
        needed = await self._database.call(sandbox_queries.needed_conversations, self._idle_policy)
        ended = set(await self._sandbox_manager.sweep(needed | running, containers))
        for each in living:
            if each.conversation_id in ended:
                await self._database.call(record_ended, each)
        return len(ended)

    async def _remove_files(self) -> int:
        """Remove the files of deleted conversations, and files that a person has asked to delete."""
        removed = 0
        for each in await self._database.call(sandbox_queries.of_deleted_conversations):
            if await self._remove(each.conversation_id, each.backend, each.volume):
                await self._database.call(delete_row, each.conversation_id)
                removed += 1
        for each in await self._database.call(sandbox_queries.with_files_to_delete):
            with tolerated(REMOVING_FILES):
                removed += await self._remove_unused_files(each)
        return removed

    async def _remove_unused_files(self, each: SandboxRecord) -> bool:
        # Read again: while other files were removed, a turn may have started with new files, and ended.
        if each not in await self._database.call(sandbox_queries.with_files_to_delete):
            return False
        if not await self._sandbox_manager.remove_files(
            each.conversation_id, each.backend, each.volume
        ):
            return False
        return await self._database.call(record_files_removed, each)

    async def _remove_orphans(self) -> int:
        """Remove workspaces of conversations that do not exist.

        They are listed before the rows are read: a conversation's row always exists before its files.
        """
        workspaces, removed = await asyncio.to_thread(self._sandbox_manager.list_workspaces), 0
        now, before, self._orphans_seen_at = clock.monotonic(), self._orphans_seen_at, {}
        for backend, volumes in workspaces.items():
            for orphan in await self._database.call(sandbox_queries.orphans, volumes):
                since = self._orphans_seen_at[orphan] = before.get(orphan, now)
                if now - since >= self._orphan_seconds:
                    removed += await self._remove(orphan, backend, volumes[orphan])
        return removed

    async def _remove_setups(self) -> int:
        """Remove what setup commands installed and no sandbox needs any more."""
        removed = 0
        for backend in self._sandbox_manager.backends:
            with tolerated("removing setups"), suppress(SandboxUnavailable):
                removed += await setups.remove_unused(backend, self._database)
        return removed

    async def _remove(self, conversation_id: UUID, backend: str, volume: str) -> bool:
        """Remove a sandbox with its files. An error must not keep the sweep from the other sandboxes."""
        with tolerated(REMOVING_FILES):
            return await self._sandbox_manager.remove(conversation_id, backend, volume)
        return False

    async def _record_exits(self) -> None:
        """Record why sandboxes ended while no run was using them."""
        for each in await self._database.call(sandbox_queries.living):
            with tolerated("checking a sandbox"):
                cause = await self._sandbox_manager.find_exit_cause(
                    each.conversation_id, each.backend
                )
                if cause is not None:
                    await self._database.call(record_exit, each, cause)


# --- writes of the sweeper ------------------------------------------------------------------------


class PauseResult(enum.Enum):
    """What became of a pause that the sweeper wanted to record."""

    RECORDED = "the row of the sandbox says now that it is paused"
    IN_USE = "a run uses the sandbox, or has started it anew: it must not stay paused"
    OUTDATED = "the row has changed: another sweeper has recorded the pause, or the sandbox ended"


@transaction.atomic
def record_paused(sandbox: SandboxRecord) -> PauseResult:
    """Record that the sandbox is paused, unless its row has changed meanwhile."""
    if _record(sandbox, (SandboxState.RUNNING,), events.SandboxPaused()):
        return PauseResult.RECORDED
    conversation = Conversation.objects.filter(pk=sandbox.conversation_id, deleted_at=None)
    active = conversation.filter(status__in=ACTIVE_STATUSES)
    is_active = active.exclude(waits_for_person()).exists()
    is_active = is_active or sandbox_queries.team_at_work(sandbox.conversation_id).exists()
    if is_active or sandbox_queries.is_running(sandbox.conversation_id):
        return PauseResult.IN_USE
    return PauseResult.OUTDATED


def record_ended(sandbox: SandboxRecord) -> bool:
    """Record that the sandbox has ended. Its files are kept for the next message."""
    return _record(sandbox, LIVING_SANDBOX_STATES, events.SandboxRemoved(kept=True))


def record_exit(sandbox: SandboxRecord, cause: ExitCause) -> bool:
    """Record why the sandbox ended. One that was retired has just ended."""
    if cause.kind is ExitKind.RETIRED:
        return record_ended(sandbox)
    lost = events.SandboxLost(cause=cause.sentence, end=cause.kind, exit_code=cause.exit_code)
    return _record(sandbox, LIVING_SANDBOX_STATES, lost)


def record_files_removed(sandbox: SandboxRecord) -> bool:
    """Record that the files of the sandbox are removed."""
    return _record(sandbox, (SandboxState.FILES_TO_DELETE,), events.SandboxRemoved(kept=False))


@transaction.atomic
def delete_row(conversation_id: UUID) -> None:
    """Delete the row of a sandbox whose conversation is deleted, and has no log for an event."""
    list(Conversation.objects.filter(pk=conversation_id).for_update())
    sandbox_lifecycle.move(conversation_id, SandboxState.ABSENT)


def count_removed(worker_id: str, number: int) -> None:
    """Add to the count of sandboxes, workspaces and leftovers that this worker has removed."""
    Worker.objects.filter(id=worker_id).update(sandboxes_reaped=F("sandboxes_reaped") + number)


@transaction.atomic
def _record(sandbox: SandboxRecord, states: Collection[SandboxState], event: Event) -> bool:
    """Store the event if the sandbox is still in one of ``states``; only one of several sweepers does.

    Not while the conversation runs: its worker records what happens. Not for another boot id either:
    a turn may have started and ended since the sandbox was looked at.
    """
    with suppress(NotFound):  # the conversation was deleted a moment ago
        locked = Conversation.objects.filter(pk=sandbox.conversation_id).for_update()
        works = [each.status in ACTIVE_STATUSES and not each.waits_for_person for each in locked]
        # guard: teammate-at-work-ends-no-sandbox
        if not works or works[0] or sandbox_queries.team_at_work(sandbox.conversation_id).exists():
            return False
        if sandbox_queries.same_life(sandbox, states):
            store.append(sandbox.conversation_id, event)
            return True
    return False
