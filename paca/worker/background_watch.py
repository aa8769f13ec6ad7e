"""Watches the background commands of conversations of which no turn runs, in a task of every worker.

A worker attaches to a sandbox with the epoch of the last claim. A turn that is claimed meanwhile has a higher one, so
it takes the sandbox over, and this look ends. A sandbox that runs elsewhere, or not at all, is left alone: whoever
records its loss ends its commands.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import DateTimeField, Q, QuerySet
from django.utils import timezone

from paca.agents.models import Agent
from paca.common.best_effort import tolerated
from paca.common.errors import NotFound
from paca.common.prepared_queries import Parameter, Select
from paca.conversations import sandbox_lifecycle, store
from paca.conversations.models import BackgroundCommand, BackgroundCommandState
from paca.conversations.models.conversation import waits_without_worker
from paca.conversations.models.statuses import ACTIVE_STATUSES, LIVING_SANDBOX_STATES
from paca.conversations.services import background
from paca.engine.tools.background_state import BackgroundCommand as Command
from paca.engine.workspace import Superseded, WorkspaceError
from paca.sandbox.base import SandboxSpec
from paca.sandbox.manager import SandboxManager
from paca.worker import background_looks
from paca.worker.background_looks import LiveProgress, Look
from paca.worker.database import Database
from paca.worker.event_masking import mask_of_conversation

LOOK_SECONDS = 2.0
BATCH = 50
AT_ONCE = 8
# A runner that lives answers within a second, and ends commands within three.
LONGEST_LOOK_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class IdleConversation:
    """A conversation without a running turn, its sandbox, and the background commands that run in it.

    ``lost`` are commands of a sandbox that has ended: a worker of an earlier version has recorded that.
    """

    id: UUID
    epoch: int
    spec: SandboxSpec
    commands: tuple[Command, ...]
    lost: tuple[Command, ...] = ()


async def watch_repeatedly(
    database: Database, manager: SandboxManager, draining: asyncio.Event
) -> None:
    """Look every two seconds until the worker drains. Without background commands a look is one query."""
    progress = LiveProgress()
    while not draining.is_set():
        with tolerated("background commands"):
            await watch(database, manager, progress)
        try:
            async with asyncio.timeout(LOOK_SECONDS):
                await draining.wait()
        except TimeoutError:
            continue


async def watch(database: Database, manager: SandboxManager, progress: LiveProgress) -> None:
    """Look once at the conversations that are due, and wake the agents of those whose commands have ended."""
    places = asyncio.Semaphore(AT_ONCE)
    due = await database.call(take_due)
    await asyncio.gather(*(_watch_one(each, database, manager, progress, places) for each in due))


async def _watch_one(
    idle: IdleConversation,
    database: Database,
    manager: SandboxManager,
    progress: LiveProgress,
    places: asyncio.Semaphore,
) -> None:
    """Look at one conversation. A sandbox that does not answer keeps the others waiting for a short time only."""
    async with places:
        with tolerated("background commands of a conversation", conversation=str(idle.id)):
            if idle.lost:
                await database.call(record, idle.id, Look(background_looks.lost(idle.lost), ()))
            if idle.commands:
                async with asyncio.timeout(LONGEST_LOOK_SECONDS):
                    await _look(idle, database, manager, progress)
            await database.call(background.wake, idle.id)


async def _look(
    idle: IdleConversation, database: Database, manager: SandboxManager, progress: LiveProgress
) -> None:
    stops = await database.call(background_looks.read_stops, idle.id)
    try:
        backend = await manager.choose_backend(idle.spec.files_backend)
        spec = manager.with_open_gate(idle.spec)
        sandbox = await backend.attach(spec, epoch=idle.epoch)
        if sandbox is None:
            return
        try:
            found = await background_looks.look(sandbox, idle.commands, stops)
        finally:
            await sandbox.detach()
    except (WorkspaceError, Superseded):
        return  # it is looked at again, by whoever has the sandbox then
    if found.ended or found.running:
        # guard: background-output-holds-no-secret
        found = found.masked(await database.call(mask_of_conversation, idle.id))
    await database.call(record, idle.id, found)
    for ended in found.ended:
        progress.forget(ended.call_id)
    if news := progress.news(found.running):
        await database.call(background_looks.show, idle.id, news)


def record(conversation_id: UUID, found: Look) -> None:
    """Store the ends. The sandbox counts as used until then, so that it is idle from now on."""
    if not found.ended:
        return
    try:
        store.append(conversation_id, *found.ended)
    except NotFound:  # it was deleted a moment ago
        return
    sandbox_lifecycle.record_use(conversation_id)


def _due(now: Parameter) -> QuerySet[BackgroundCommand]:
    # guard: background-work-is-watched-beside-helpers
    waits = waits_without_worker("conversation__")
    runs = Q(conversation__status__in=ACTIVE_STATUSES) & ~waits
    watched = Q(state=BackgroundCommandState.RUNNING) | Q(wake_due=True)
    rows = BackgroundCommand.objects.filter(
        watched, look_at__lte=now, conversation__deleted_at=None
    )
    return rows.exclude(runs).order_by("look_at", "pk")


# Workers ask every second.
DUE = Select(lambda: _due(Parameter("now", DateTimeField())).values_list("pk")[:BATCH])


def take_due() -> list[IdleConversation]:
    """The conversations to look at now. Each is given to one worker at a time."""
    now = timezone.now()
    due = [key for (key,) in DUE.rows(now=now)]
    if not due:
        return []
    rows = BackgroundCommand.objects.filter(pk__in=due)
    related = ("conversation__agent", "conversation__sandbox")
    found: dict[UUID, list[BackgroundCommand]] = {}
    for row in rows.select_related(*related).order_by("look_at", "pk"):
        found.setdefault(row.conversation_id, []).append(row)
    return [idle for commands in found.values() if (idle := _take(commands, now))]


def _take(rows: list[BackgroundCommand], now: datetime) -> IdleConversation | None:
    """Take the next look at a conversation; None if another worker has taken it."""
    mine = BackgroundCommand.objects.filter(pk__in=[row.pk for row in rows], look_at__lte=now)
    # guard: one-worker-looks-at-a-time
    if not mine.update(look_at=timezone.now() + timedelta(seconds=LOOK_SECONDS)):
        return None
    conversation = rows[0].conversation
    row = getattr(conversation, "sandbox", None)
    running = [each for each in rows if each.state == BackgroundCommandState.RUNNING]
    spec = SandboxSpec(
        conversation.pk,
        files_backend=row.backend if row else "",
        volume=row.volume if row else "",
        persistent=conversation.agent.sandbox_life == Agent.SandboxLife.PERSISTENT,
    )
    commands = [Command(each.pk.hex, each.handle, each.command, each.boot_id) for each in running]
    living = row.boot_id if row is not None and row.state in LIVING_SANDBOX_STATES else None
    # guard: background-command-of-an-ended-sandbox-is-lost
    kept = tuple(each for each in commands if each.boot_id == living)
    lost = tuple(each for each in commands if each not in kept)
    return IdleConversation(conversation.pk, conversation.lease_epoch, spec, kept, lost)
