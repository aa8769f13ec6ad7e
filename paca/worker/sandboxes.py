"""The sandbox of one run: started when first needed, recorded, and let go at the end."""

from __future__ import annotations

import asyncio
import time

from django.db.models.functions import Now

from paca import events
from paca.conversations.models import Sandbox as SandboxRow
from paca.engine.workspace import SandboxUnavailable, Workspace
from paca.sandbox.base import Sandbox, SandboxSpec
from paca.sandbox.manager import SandboxManager
from paca.worker.database import Database
from paca.worker.runlog import RunLog


class RunSandboxes:
    """Satisfies ``engine.ports.Sandboxes`` for one held conversation.

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
    ) -> None:
        self._spec = spec
        self._known_boot_id = known_boot_id
        self._manager = manager
        self._log = log
        self._database = database
        self._sandbox: Sandbox | None = None
        self._opening = asyncio.Lock()

    @property
    def ready(self) -> bool:
        return self._sandbox is not None and not self._sandbox.lost

    def may_run(self, boot_id: str) -> bool:
        """Also before we have attached: after a take-over the one recorded may still be at work."""
        if self._sandbox is None:
            return boot_id == self._known_boot_id
        return self.ready and boot_id == self._sandbox.boot_id

    async def workspace(self) -> Workspace:
        async with self._opening:
            if self._sandbox is not None and self._sandbox.lost:
                self._sandbox, self._known_boot_id = None, ""
                await self._log.commit(events.SandboxLost(cause="The sandbox ended by itself."))
            if self._sandbox is None:
                self._sandbox = await self._open()
            return self._sandbox

    async def _open(self) -> Sandbox:
        """Attach to the one that runs, or start one, and let people see which."""
        if (reason := await self._manager.unavailable()) is not None:
            raise SandboxUnavailable(reason)
        name = self._manager.backend_name
        if not self._known_boot_id:
            await self._log.commit(events.SandboxStarting(backend=name))
        began = time.monotonic()
        sandbox = await self._manager.open(self._spec, epoch=self._log.lease.epoch)
        if sandbox.boot_id != self._known_boot_id:
            seconds = round(time.monotonic() - began, 3)
            self._log.note(
                events.SandboxStarted(backend=name, boot_id=sandbox.boot_id, seconds=seconds)
            )
            self._known_boot_id = sandbox.boot_id
            await self._database.call(_record, self._spec, name, sandbox.boot_id)
        return sandbox

    async def let_go(self) -> None:
        """Detach; the sandbox idles until it is used again or swept."""
        if self._sandbox is not None:
            sandbox, self._sandbox = self._sandbox, None
            await sandbox.detach()
            await self._database.call(_used, self._spec)


def _record(spec: SandboxSpec, backend: str, boot_id: str) -> None:
    SandboxRow.objects.update_or_create(
        conversation_id=spec.conversation_id,
        defaults={
            "backend": backend,
            "boot_id": boot_id,
            "state": "running",
            "last_used_at": Now(),
        },
    )


def _used(spec: SandboxSpec) -> None:
    SandboxRow.objects.filter(conversation_id=spec.conversation_id).update(last_used_at=Now())
