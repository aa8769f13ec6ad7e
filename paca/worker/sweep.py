"""Looks, every second, for what nobody will tell: dead owners, and sandboxes nobody uses."""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import suppress
from datetime import timedelta
from uuid import UUID

from django.db.models import Q
from django.db.models.functions import Now

from paca import events
from paca.common.errors import NotFound
from paca.conversations import store
from paca.conversations.models import Conversation
from paca.conversations.models import Sandbox as SandboxRow
from paca.conversations.models.conversation import HELD
from paca.sandbox.manager import SandboxManager
from paca.worker import lease as leases
from paca.worker.database import Database

logger = logging.getLogger(__name__)

SANDBOXES_SECONDS = 10.0


class Sweeper:
    """One worker's share of the housekeeping."""

    def __init__(
        self, worker_id: str, database: Database, sandboxes: SandboxManager, idle_seconds: float
    ) -> None:
        self._worker_id = worker_id
        self._database = database
        self._sandboxes = sandboxes
        self._idle_seconds = idle_seconds
        self._next_sandboxes = 0.0

    async def sweep(self, held: set[UUID]) -> None:
        """Free what dead workers held, and now and then end idle and orphaned sandboxes."""
        freed = await self._database.call(leases.free_leases_of_the_dead, self._worker_id)
        if freed:
            logger.warning("taking over from a dead worker", extra={"conversations": freed})
        if time.monotonic() >= self._next_sandboxes:
            self._next_sandboxes = time.monotonic() + SANDBOXES_SECONDS
            await self._end_unused(held)
            await self._forget_deleted()

    async def _end_unused(self, held: set[UUID]) -> None:
        # In this order: one that is claimed after the question has a higher epoch, and stays.
        lives = await asyncio.to_thread(self._sandboxes.lives)
        used = await self._database.call(_in_use, self._idle_seconds)
        ended = await self._sandboxes.sweep(used | held, lives)
        if ended:
            logger.info("sandboxes ended", extra={"count": len(ended)})
            await self._database.call(_mark_ended, ended)

    async def _forget_deleted(self) -> None:
        """A deleted conversation's sandbox goes with its files, which no message will need."""
        for conversation_id in await self._database.call(_deleted):
            if await self._sandboxes.forget(conversation_id):
                await self._database.call(_forget, conversation_id)


def _in_use(idle_seconds: float) -> set[UUID]:
    """Conversations whose sandbox is to be kept: held, or used a moment ago."""
    recent = Q(sandbox__last_used_at__gte=Now() - timedelta(seconds=idle_seconds))
    # One that is held may have a sandbox of which there is no row yet.
    kept = Conversation.objects.filter(recent | Q(status__in=HELD), deleted_at=None)
    return set(kept.values_list("pk", flat=True))


def _mark_ended(conversations: list[UUID]) -> None:
    """Note in each log that the sandbox is gone; its files are kept for the next message."""
    rows = SandboxRow.objects.filter(conversation__in=conversations, state="running")
    known = list(rows.filter(conversation__deleted_at=None).values_list("conversation", flat=True))
    rows.update(state="ended")
    for conversation_id in known:
        with suppress(NotFound):  # it was deleted a moment ago
            store.append(conversation_id, events.SandboxRemoved(kept=True))


def _deleted() -> list[UUID]:
    rows = SandboxRow.objects.filter(conversation__deleted_at__isnull=False)
    return list(rows.values_list("conversation", flat=True))


def _forget(conversation_id: UUID) -> None:
    SandboxRow.objects.filter(conversation=conversation_id).delete()
