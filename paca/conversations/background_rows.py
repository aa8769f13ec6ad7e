"""The rows of background commands that follow from events of the log, and what each writer of the log must add.

Several writers may learn of one end: the run's worker, the worker that watches idle conversations, a call of the
agent, and whoever records the loss of a sandbox. The store asks ``settle``, under the lock of the conversation: the
first end of a command counts, and with a sandbox its commands end.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from paca import events
from paca.common.text import to_storable
from paca.conversations.models import BackgroundCommand, BackgroundCommandState, Conversation
from paca.engine.tools import background_state as background
from paca.engine.turn import LogEntry

_CONCERNED = (
    events.BackgroundFinished,
    events.SandboxLost,
    events.SandboxRemoved,
    events.SandboxStarted,
)


def settle(conversation_id: UUID, entries: Sequence[LogEntry]) -> tuple[LogEntry, ...]:
    """The entries without ends that are known already, and with the ends of commands whose sandbox has ended.

    It locks the conversation's row if one of the entries concerns background commands, and else asks nothing.
    """
    if not any(isinstance(entry, _CONCERNED) for entry in entries):
        return tuple(entries)
    list(Conversation.objects.filter(pk=conversation_id).for_update().values_list("pk"))
    rows = BackgroundCommand.objects.running().filter(conversation=conversation_id)
    running = {
        row.id: (row.handle, row.command, row.boot_id) for row in rows.order_by("started_at")
    }
    settled: list[LogEntry] = []
    for entry in entries:
        if isinstance(entry, events.BackgroundStarted):
            running[UUID(entry.call_id)] = (entry.handle, entry.command, entry.boot_id)
        # guard: background-command-ends-once
        if isinstance(entry, events.BackgroundFinished) and not running.pop(
            UUID(entry.call_id), None
        ):
            continue
        settled.append(entry)
        for call_id, (handle, command, boot_id) in list(running.items()):
            if _ends_with(entry, boot_id):
                del running[call_id]
                settled.append(background.lost(call_id.hex, handle, command))
    return tuple(settled)


def _ends_with(entry: LogEntry, boot_id: str) -> bool:
    """Whether the event tells that this start of the runner is over."""
    if isinstance(entry, events.SandboxStarted):
        return entry.boot_id != boot_id
    # guard: background-command-is-lost-with-its-sandbox
    return isinstance(entry, events.SandboxLost | events.SandboxRemoved)


def start(event: events.BackgroundStarted, conversation_id: UUID, *, at: datetime) -> None:
    """Store the row of a command that runs in the background from now on."""
    BackgroundCommand.objects.create(
        id=UUID(event.call_id),
        conversation_id=conversation_id,
        handle=event.handle,
        command=to_storable(event.command),
        boot_id=event.boot_id,
        look_at=at,
        started_at=at,
        deadline_at=at + timedelta(seconds=event.timeout_seconds),
    )


def end(event: events.BackgroundFinished, conversation_id: UUID, *, at: datetime) -> None:
    """Store how a command ended. Unless the agent knows it, it may be woken for it."""
    rows = BackgroundCommand.objects.running().filter(
        pk=UUID(event.call_id), conversation=conversation_id
    )
    rows.update(
        state=BackgroundCommandState.ENDED,
        exit_code=event.exit_code,
        cause=event.cause,
        output=to_storable(event.output),
        file=event.file[:200],
        finished_at=at,
        wake_due=not event.told and event.cause != "cancelled",
    )
