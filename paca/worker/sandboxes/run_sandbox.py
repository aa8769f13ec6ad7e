"""The sandbox of one run: started when first needed, watched, and let go at the end."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace
from uuid import UUID

from django.db import DatabaseError
from django.db.models.functions import Now

from paca import events
from paca.common import clock
from paca.conversations.models import Conversation, ToolCall
from paca.conversations.models import Sandbox as SandboxRow
from paca.conversations.store import Fenced, Lease
from paca.engine.workspace import (
    SandboxGone,
    SandboxUnavailable,
    SandboxUnreachable,
    SandboxWorkspace,
    Superseded,
    WorkspaceError,
)
from paca.sandbox.base import Backend, Sandbox, SandboxSpec
from paca.sandbox.exit_cause import ExitCause, ExitKind
from paca.sandbox.manager import SandboxManager
from paca.worker.database import Database
from paca.worker.run_log import RunLog
from paca.worker.sandboxes import warm_pool_queries
from paca.worker.sandboxes.warm_pool import Pool

FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.5, 15.0
MOST_WAIT_SECONDS = 1800.0
GAVE_UP = (
    "Commands cannot run on this server for now: its sandboxes have not answered for half an hour."
)
SILENT = ExitCause(ExitKind.SILENT)
RESUMED = events.ConversationResumed(waited_for="sandbox")


class RunSandboxes:
    """Satisfies ``engine.ports.ConversationSandbox`` for one held conversation.

    ``known_boot_id`` is the life of the runner that was last recorded as running, if any.
    """

    def __init__(
        self,
        spec: SandboxSpec,
        known_boot_id: str,
        *,
        manager: SandboxManager,
        log: RunLog,
        database: Database,
        pool: Pool | None = None,
    ) -> None:
        self._spec = spec
        self._known_boot_id = known_boot_id
        self._manager = manager
        self._pool = pool
        self._log = log
        self._database = database
        self._sandbox: Sandbox | None = None
        self._losses: dict[str, str] = {}
        self._asked_after: Sandbox | None = None
        self._opening = asyncio.Lock()
        self._watch: asyncio.Task[None] | None = None

    @property
    def is_attached(self) -> bool:
        return self._sandbox is not None and not self._sandbox.lost

    def may_be_running(self, boot_id: str) -> bool:
        """Also before we have attached: after a take-over the one recorded may still be at work."""
        if self._sandbox is None:
            return boot_id == self._known_boot_id
        return self.is_attached and boot_id == self._sandbox.boot_id

    async def workspace(self) -> SandboxWorkspace:
        async with self._opening:
            if self._sandbox is None or self._sandbox.lost:
                await self._end_watch()
                self._sandbox = await self._open_when_reachable()
                self._watch = asyncio.create_task(self._watch_over(self._sandbox))
            return self._sandbox

    # --- ends -------------------------------------------------------------------------------------

    async def exit_cause(self, boot_id: str) -> str:
        async with self._opening:
            if boot_id == self._known_boot_id and not self.is_attached:
                with suppress(SandboxUnavailable):  # said when it can be asked
                    await self._note_loss(
                        await self._manager.choose_backend(self._spec.backend_name)
                    )
            return self._losses.get(boot_id, "")

    async def _watch_over(self, sandbox: Sandbox) -> None:
        """Say at once that it ended, also while nobody wants anything of it."""
        await sandbox.wait_until_lost()
        # Whoever has superseded us says what there is to say, and so does the next write.
        with suppress(Fenced, DatabaseError):
            await self.exit_cause(sandbox.boot_id)

    async def _end_watch(self) -> None:
        watch, self._watch = self._watch, None
        if watch is not None and watch is not asyncio.current_task():
            watch.cancel()
            await asyncio.wait({watch})

    async def _note_loss(self, backend: Backend) -> None:
        """Store how the one that we know of ended, if it did."""
        if not self._known_boot_id:
            return
        just_now, self._asked_after = self._sandbox is not self._asked_after, self._sandbox
        loss = await backend.exit_cause(self._spec.conversation_id, just_lost=just_now)
        if loss is None:
            return
        self._losses[self._known_boot_id], self._known_boot_id = loss.sentence, ""
        if self._sandbox is None and loss.kind in (ExitKind.RETIRED, ExitKind.REMOVED):
            await self._log.commit(events.SandboxRemoved(kept=True))  # while nobody used it
        else:
            await self._log.commit(_lost(loss))

    # --- opening ----------------------------------------------------------------------------------

    async def _open_when_reachable(self) -> Sandbox:
        """Wait for a daemon that is being restarted, not for ever; Stop ends the wait."""
        try:
            return await self._open()
        except SandboxUnreachable as reason:
            waiting = events.ConversationWaiting(reason="sandbox", detail=reason.detail)
            await self._log.commit(waiting)
        try:
            sandbox = await self._retried()
        except WorkspaceError:
            await self._log.commit(RESUMED)
            raise
        await self._log.commit(RESUMED)
        return sandbox

    async def _retried(self) -> Sandbox:
        end, pause = clock.monotonic() + MOST_WAIT_SECONDS, FIRST_PAUSE_SECONDS
        while True:
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
            with suppress(SandboxUnreachable):
                return await self._open()
            if clock.monotonic() > end:
                raise SandboxUnavailable(GAVE_UP)

    async def _open(self) -> Sandbox:
        """Attach to the one that runs, or start one, and let people see which."""
        backend = await self._manager.choose_backend(self._spec.backend_name)
        name = backend.name
        if self._spec.reset_files:
            if not await self._holds_lease():
                raise Superseded  # what is there may be the new files of whoever has taken over
            await backend.delete(self._spec.conversation_id, self._spec.volume)
            await self._log.commit(events.SandboxRemoved(kept=False))
            self._spec = replace(self._spec, reset_files=False, volume="")
        await self._note_loss(backend)
        if not self._known_boot_id:
            await self._log.commit(events.SandboxStarting(backend=name))
        began = clock.monotonic()
        if self._pool is not None and name == "docker" and not self._known_boot_id:
            await self._take_a_ready_one(self._pool)
        sandbox = await backend.open(
            self._spec, epoch=self._log.lease.epoch, may_replace=self._holds_lease
        )
        seconds = round(clock.monotonic() - began, 3)
        if sandbox.resumed and sandbox.boot_id == self._known_boot_id:
            self._log.add(events.SandboxResumed(boot_id=sandbox.boot_id, seconds=seconds))
        if self._known_boot_id not in ("", sandbox.boot_id):
            self._losses[self._known_boot_id] = SILENT.sentence
            self._log.add(_lost(SILENT))
        if sandbox.boot_id != self._known_boot_id:
            self._log.add(
                events.SandboxStarted(backend=name, boot_id=sandbox.boot_id, seconds=seconds)
            )
            self._known_boot_id = sandbox.boot_id
        else:
            await self._end_what_was_stopped(sandbox)
        return sandbox

    async def _end_what_was_stopped(self, sandbox: Sandbox) -> None:
        """A stop that came while the sandbox could not be reached has ended the call, not its processes."""
        stopped = await self._database.call(_stopped, self._spec.conversation_id, sandbox.boot_id)
        with suppress(SandboxGone):  # whoever uses it next is told
            for call_id in stopped:
                await sandbox.kill(call_id)

    async def _take_a_ready_one(self, pool: Pool) -> None:
        """Its files are the conversation's by the row before it is by its name, and written to only then.

        The row is read anew each time: an attempt before may have been broken off after it was written.
        """
        ready = pool.take(self._spec)
        handed_over = False
        try:
            volume = ready.volume if ready else None
            kept = await self._database.call(warm_pool_queries.take, self._log.lease, volume)
            self._spec = replace(self._spec, volume=kept)
            if ready is not None and ready.volume == kept:
                handed_over = await pool.hand_over(ready, self._spec.conversation_id)
        finally:
            if ready is not None and not handed_over:
                pool.drop(ready)

    async def _holds_lease(self) -> bool:
        return await self._database.call(_holds, self._log.lease)

    async def let_go(self) -> None:
        """Detach; the sandbox idles until it is used again or swept."""
        await self._end_watch()
        if self._sandbox is not None:
            sandbox, self._sandbox = self._sandbox, None
            await sandbox.detach()
            await self._database.call(_used, self._spec)


def _holds(lease: Lease) -> bool:
    mine = Conversation.objects.filter(lease_owner=lease.owner, lease_epoch=lease.epoch)
    return mine.filter(pk=lease.conversation_id).exists()


def _stopped(conversation_id: UUID, boot_id: str) -> list[str]:
    calls = ToolCall.objects.filter(conversation=conversation_id, boot_id=boot_id)
    return [pk.hex for pk in calls.filter(cause="cancelled").values_list("pk", flat=True)]


def _lost(loss: ExitCause) -> events.SandboxLost:
    return events.SandboxLost(cause=loss.sentence, end=loss.kind, exit_code=loss.exit_code)


def _used(spec: SandboxSpec) -> None:
    SandboxRow.objects.filter(conversation_id=spec.conversation_id).update(last_used_at=Now())
