"""Writes of the sweeper: events about sandboxes that no run is using, and how much it has removed."""

from __future__ import annotations

import enum
from collections.abc import Collection
from contextlib import suppress
from uuid import UUID

from django.db import transaction
from django.db.models import F

from paca import events
from paca.common.errors import NotFound
from paca.conversations import sandbox_lifecycle, sandbox_queries, store
from paca.conversations.models import Conversation, SandboxState, Worker
from paca.conversations.models.statuses import ACTIVE_STATUSES, LIVING_SANDBOX_STATES
from paca.conversations.sandbox_queries import SandboxRecord
from paca.events import Event
from paca.sandbox.exit_cause import ExitCause, ExitKind


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
    is_active = conversation.filter(status__in=ACTIVE_STATUSES).exists()
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


def record_files_deleted(sandbox: SandboxRecord) -> bool:
    """Record that the files of the sandbox are deleted."""
    return _record(sandbox, (SandboxState.FREEING,), events.SandboxRemoved(kept=False))


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
        statuses = [each.status for each in locked]
        if not statuses or statuses[0] in ACTIVE_STATUSES:
            return False
        if sandbox_queries.same_life(sandbox, states):
            store.append(sandbox.conversation_id, event)
            return True
    return False
