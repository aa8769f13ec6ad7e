"""Keeps the network gates of this machine: counts what they book, sets their policies, removes unused ones.

Every worker does it. Counting the same lines twice is impossible, and a policy or a removal is the same from each.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from dataclasses import replace
from uuid import UUID

from paca.common import clock
from paca.common.best_effort import tolerated
from paca.conversations import network_use, sandbox_setups
from paca.sandbox.base import SandboxSpec, is_probe_id
from paca.sandbox.egress.booking import read_lines
from paca.sandbox.egress.folders import GateFolder
from paca.sandbox.egress.gates import Gates
from paca.sandbox.manager import SandboxManager
from paca.worker.database import Database
from paca.worker.event_masking import mask_of_conversation

LOOK_SECONDS = 2.0
POLICY_SECONDS = 10.0
# A gate is opened before its sandbox starts, which may wait for a daemon that is down.
UNUSED_SECONDS = 3600.0
MAX_READ_BYTES = 1 << 18


async def with_gate(spec: SandboxSpec, manager: SandboxManager, database: Database) -> SandboxSpec:
    """The spec with its network gate, which goes on from what the conversation has used with earlier ones.

    Raises ``SandboxUnavailable``, and database errors.
    """
    if spec.egress is None:
        return await manager.with_gate(spec)
    used = await database.call(network_use.used, spec.conversation_id)
    return await manager.with_gate(spec, used=used)


class GateKeeper:
    """The gates of one worker's machine. Without any of them, a look lists an empty folder."""

    def __init__(self, gates: Gates, database: Database) -> None:
        self._gates = gates
        self._database = database
        self._read: dict[UUID, tuple[str, int]] = {}
        self._set_policies_at = 0.0

    async def keep_repeatedly(self, draining: asyncio.Event) -> None:
        """Look every two seconds until the worker drains."""
        while not draining.is_set():
            with tolerated("network gates"):
                await self.keep()
            try:
                async with asyncio.timeout(LOOK_SECONDS):
                    await draining.wait()
            except TimeoutError:
                continue

    async def keep(self) -> None:
        """Look once at all gates."""
        folders = await asyncio.to_thread(self._gates.list_open)
        for folder in folders:
            with tolerated("network gate", conversation=str(folder.conversation_id)):
                await self._count(folder)
        if folders and clock.monotonic() >= self._set_policies_at:
            self._set_policies_at = clock.monotonic() + POLICY_SECONDS
            await self._set_policies(folders)

    async def _count(self, folder: GateFolder) -> None:
        """Count the lines that were not counted yet, at most a part of a long file at once."""
        book, size = await asyncio.to_thread(folder.book)
        if not book or self._read.get(folder.conversation_id) == (book, size):
            return
        begin = await self._database.call(network_use.read_bytes, book)
        lines, end = await asyncio.to_thread(read_lines, folder.booked, begin, most=MAX_READ_BYTES)
        if lines:
            mask = await self._database.call(mask_of_conversation, folder.conversation_id)
            # guard: names-of-hosts-hold-no-secret
            lines = [replace(line, host=mask.text(line.host)) for line in lines]
            await self._database.call(
                network_use.record, folder.conversation_id, book, lines, begin=begin, end=end
            )
        if not lines or end >= size:
            self._read[folder.conversation_id] = book, size

    async def _set_policies(self, folders: list[GateFolder]) -> None:
        """Give each gate the policy of now: a project may have narrowed its list. Unused gates are removed."""
        wanted = [folder.conversation_id for folder in folders]
        has_gates = False
        known = await self._database.call(network_use.gates_of, wanted)
        building = await self._database.call(sandbox_setups.in_use)
        for folder in folders:
            if folder.conversation_id in building:  # its build ends it; it is a matter of minutes
                has_gates = True
                continue
            found = known.get(folder.conversation_id)
            if is_probe_id(folder.conversation_id):  # the doctor's, which removes it itself
                if await asyncio.to_thread(_is_unused, folder):
                    self._remove(folder)
                continue
            # guard: egress-gates-of-deleted-conversations-end
            if found is None:
                self._remove(folder)
                continue
            if not found.is_living and await asyncio.to_thread(_is_unused, folder):
                self._remove(folder)
                continue
            with suppress(OSError):  # another worker has removed it
                await asyncio.to_thread(folder.write_policy, found.policy)
            has_gates = True
        if has_gates:
            await self._gates.ensure_process()

    def _remove(self, folder: GateFolder) -> None:
        folder.remove()
        self._read.pop(folder.conversation_id, None)


def _is_unused(folder: GateFolder) -> bool:
    """Whether nothing was opened and nothing booked for a long time."""
    try:
        used_at = max(path.stat().st_mtime for path in (folder.opened, folder.path))
    except OSError:
        return True
    return time.time() - used_at > UNUSED_SECONDS
