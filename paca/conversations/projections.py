"""What an event changes in the tables beside the log, as SQL inside the store's transaction."""

from __future__ import annotations

import functools
import hashlib
import json
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection

from paca import events
from paca.conversations.models import ConversationStatus
from paca.engine.ports import LogEntry, ModelCallStarted
from paca.events import Event


@dataclass(frozen=True, slots=True)
class Place:
    """Where and when an entry is written."""

    conversation_id: UUID
    turn: int
    epoch: int
    now: datetime


def key(value: UUID | str) -> Any:
    """A UUID as the database's driver wants it."""
    found = value if isinstance(value, UUID) else UUID(value)
    return found if connection.features.has_native_uuid_field else found.hex


def moment(value: datetime) -> Any:
    """A time as the database's driver wants it."""
    return connection.ops.adapt_datetimefield_value(value)


# --- the conversation's own row -----------------------------------------------------------------

_STATUS: dict[type[Event], ConversationStatus] = {
    events.ConversationQueued: ConversationStatus.QUEUED,
    events.ConversationStarted: ConversationStatus.RUNNING,
    events.ConversationWaiting: ConversationStatus.WAITING,
    events.ConversationPaused: ConversationStatus.PAUSED,
    events.ConversationFinished: ConversationStatus.FINISHED,
    events.ConversationFailed: ConversationStatus.FAILED,
    events.ConversationStopped: ConversationStatus.STOPPED,
}
_ACTIVITY: dict[type[Event], str] = {
    events.ConversationQueued: "waiting_for_worker",
    events.ConversationStarted: "thinking",
    events.TurnStarted: "thinking",
    events.UsageRecorded: "thinking",
    events.ToolReturned: "thinking",
    events.ToolStarted: "running_tool",
    events.SandboxStarting: "starting_sandbox",
    events.SandboxStarted: "running_tool",
    events.ModelRetried: "retrying",
    events.ConversationWaiting: "",
    events.ConversationResumed: "thinking",
    events.ConversationPaused: "",
    events.ConversationFinished: "",
    events.ConversationFailed: "",
    events.ConversationStopped: "",
}


def changes_lists(event: Event) -> bool:
    """Whether a list of conversations looks different after this event."""
    return type(event) in _STATUS or isinstance(
        event, events.TitleChanged | events.ConversationResumed
    )


def row_changes(
    stored: Sequence[Event], now: datetime, *, leased: bool
) -> tuple[list[str], list[Any]]:
    """Assignments to the conversation's columns, and their values."""
    changes: dict[str, Any] = {"updated_at": moment(now)}
    added: dict[str, float] = {}
    for event in stored:
        changes |= _changes(event, now, leased=leased)
        if isinstance(event, events.UsageRecorded):
            _add_usage(added, event)
    columns = [f"{name} = %s" for name in changes] + [f"{name} = {name} + %s" for name in added]
    return columns, [*changes.values(), *added.values()]


def _changes(event: Event, now: datetime, *, leased: bool) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    if (activity := _ACTIVITY.get(type(event))) is not None:
        changes["activity"] = activity
    if (status := _STATUS.get(type(event))) is not None:
        changes |= _status_changes(event, status, now, leased=leased)
    match event:
        case events.ConversationResumed():
            changes |= {"status": ConversationStatus.RUNNING.value, "reason": "", "detail": ""}
        case events.TurnStarted(number=number):
            changes["turn_number"] = number
        case events.TitleChanged(title=title):
            changes["title"] = title[:200]
        case events.MessageReceived() | events.MessageSpoken():
            changes["last_activity_at"] = moment(now)
        case events.UsageRecorded() | events.ToolReturned():
            changes["takeovers"] = 0  # a step was made: whoever dies next dies of another
    return changes


def _status_changes(
    event: Event, status: ConversationStatus, now: datetime, *, leased: bool
) -> dict[str, Any]:
    changes: dict[str, Any] = {
        "status": status.value,
        "reason": getattr(event, "reason", getattr(event, "code", "")),
        "detail": getattr(event, "message", getattr(event, "detail", "")),
    }
    if status is ConversationStatus.WAITING:
        return changes  # it is held all the while
    if status is ConversationStatus.RUNNING:
        return changes | {"started_at": moment(now), "finished_at": None}
    if status is not ConversationStatus.QUEUED:
        changes |= {"finished_at": moment(now), "last_activity_at": moment(now)}
    if leased or status is not ConversationStatus.QUEUED:
        changes |= {"lease_owner": "", "lease_until": None}
    return changes


def _add_usage(added: dict[str, float], event: events.UsageRecorded) -> None:
    for column, amount in (
        ("input_tokens", event.input),
        ("output_tokens", event.output),
        ("cache_read_tokens", event.cache_read),
        ("cache_write_tokens", event.cache_write),
        ("cost_usd", event.cost_usd or 0),
        ("unpriced_calls", 1 if event.cost_usd is None else 0),
    ):
        if amount:
            added[column] = added.get(column, 0) + amount


# --- turns, calls and the inbox ---------------------------------------------------------------------


def apply(cursor: Any, place: Place, entries: Sequence[LogEntry]) -> None:
    """Write the rows which these entries imply beside the log."""
    for entry in entries:
        _project(entry, cursor, place)


@functools.singledispatch
def _project(entry: LogEntry, cursor: Any, place: Place) -> None:
    """Most events change nothing beside the log and the conversation's row."""


def _projects(kind: type) -> Callable[[Callable[..., None]], Callable[..., None]]:
    return _project.register(kind)


@_projects(events.TurnStarted)
def _turn_started(event: events.TurnStarted, cursor: Any, place: Place) -> None:
    cursor.execute(
        "INSERT INTO conversations_turn"
        " (id, conversation_id, number, status, reason, steps, started_at, created_at, updated_at)"
        " VALUES (%s, %s, %s, 'running', '', 0, %s, %s, %s)",
        [_new_key(), key(place.conversation_id), event.number, *[moment(place.now)] * 3],
    )


@_projects(events.TurnFinished)
def _turn_finished(event: events.TurnFinished, cursor: Any, place: Place) -> None:
    cursor.execute(
        "UPDATE conversations_turn SET status = %s, reason = %s, steps = %s, finished_at = %s"
        " WHERE conversation_id = %s AND number = %s",
        [
            event.status,
            event.reason,
            event.steps,
            moment(place.now),
            key(place.conversation_id),
            event.number,
        ],
    )
    cursor.execute(
        "UPDATE conversations_trigger SET state = 'done'"
        " WHERE conversation_id = %s AND state = 'claimed' AND turn = %s",
        [key(place.conversation_id), event.number],
    )


@_projects(ModelCallStarted)
def _model_call_started(entry: ModelCallStarted, cursor: Any, place: Place) -> None:
    cursor.execute(
        "INSERT INTO conversations_modelcall (id, conversation_id, turn, attempt, model, status,"
        " input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, epoch, started_at)"
        " VALUES (%s, %s, %s, %s, %s, 'started', 0, 0, 0, 0, %s, %s)",
        [
            key(entry.call_id),
            key(place.conversation_id),
            place.turn,
            entry.attempt,
            entry.model,
            place.epoch,
            moment(place.now),
        ],
    )


@_projects(events.UsageRecorded)
def _usage_recorded(event: events.UsageRecorded, cursor: Any, place: Place) -> None:
    cursor.execute(
        "UPDATE conversations_modelcall SET status = %s, input_tokens = %s, output_tokens = %s,"
        " cache_read_tokens = %s, cache_write_tokens = %s, cost_usd = %s, finished_at = %s"
        " WHERE id = %s",
        [
            event.outcome,
            event.input,
            event.output,
            event.cache_read,
            event.cache_write,
            event.cost_usd,
            moment(place.now),
            key(event.call_id),
        ],
    )


@_projects(events.ToolCalled)
def _tool_called(event: events.ToolCalled, cursor: Any, place: Place) -> None:
    arguments = json.dumps(event.arguments, sort_keys=True).encode()
    cursor.execute(
        "INSERT INTO conversations_toolcall (id, conversation_id, turn, tool, arguments_hash,"
        " effect, state, cause, boot_id, epoch, called_at)"
        " VALUES (%s, %s, %s, %s, %s, %s, 'called', '', '', %s, %s)",
        [
            key(event.call_id),
            key(place.conversation_id),
            place.turn,
            event.tool[:100],
            hashlib.sha256(arguments).hexdigest(),
            event.effect,
            place.epoch,
            moment(place.now),
        ],
    )


@_projects(events.ToolStarted)
def _tool_started(event: events.ToolStarted, cursor: Any, place: Place) -> None:
    cursor.execute(
        "UPDATE conversations_toolcall SET state = 'started', boot_id = %s, epoch = %s,"
        " started_at = %s WHERE id = %s",
        [event.boot_id, place.epoch, moment(place.now), key(event.call_id)],
    )


@_projects(events.ToolReturned)
def _tool_returned(event: events.ToolReturned, cursor: Any, place: Place) -> None:
    state = "failed" if event.failed else "done"
    _end_tool_call(cursor, place, event.call_id, state, event.cause, event.exit_code)


@_projects(events.ToolOutcomeUnknown)
def _tool_outcome_unknown(event: events.ToolOutcomeUnknown, cursor: Any, place: Place) -> None:
    _end_tool_call(cursor, place, event.call_id, "unknown", "", None)


def _end_tool_call(
    cursor: Any, place: Place, call_id: str, state: str, cause: str, exit_code: int | None
) -> None:
    cursor.execute(
        "UPDATE conversations_toolcall SET state = %s, cause = %s, exit_code = %s,"
        " finished_at = %s WHERE id = %s",
        [state, cause, exit_code, moment(place.now), key(call_id)],
    )


@_projects(events.SandboxStarted)
def _sandbox_started(event: events.SandboxStarted, cursor: Any, place: Place) -> None:
    now = moment(place.now)
    cursor.execute(
        "INSERT INTO conversations_sandbox (id, conversation_id, backend, boot_id, state,"
        " last_used_at, created_at, updated_at) VALUES (%s, %s, %s, %s, 'running', %s, %s, %s)"
        " ON CONFLICT (conversation_id) DO UPDATE SET backend = excluded.backend, boot_id ="
        " excluded.boot_id, state = 'running', last_used_at = excluded.last_used_at,"
        " updated_at = excluded.updated_at",
        [_new_key(), key(place.conversation_id), event.backend, event.boot_id, now, now, now],
    )


@_projects(events.SandboxPaused)
def _sandbox_paused(event: events.SandboxPaused, cursor: Any, place: Place) -> None:
    _sandbox_is(cursor, place, "paused")


@_projects(events.SandboxResumed)
def _sandbox_resumed(event: events.SandboxResumed, cursor: Any, place: Place) -> None:
    _sandbox_is(cursor, place, "running")


@_projects(events.SandboxLost)
def _sandbox_lost(event: events.SandboxLost, cursor: Any, place: Place) -> None:
    _sandbox_is(cursor, place, "ended")


@_projects(events.SandboxRemoved)
def _sandbox_removed(event: events.SandboxRemoved, cursor: Any, place: Place) -> None:
    if event.kept:
        _sandbox_is(cursor, place, "ended")
    else:
        cursor.execute(
            "DELETE FROM conversations_sandbox WHERE conversation_id = %s",
            [key(place.conversation_id)],
        )


def _sandbox_is(cursor: Any, place: Place, state: str) -> None:
    cursor.execute(
        "UPDATE conversations_sandbox SET state = %s, updated_at = %s WHERE conversation_id = %s",
        [state, moment(place.now), key(place.conversation_id)],
    )


def claim_messages(cursor: Any, place: Place) -> None:
    """The running turn answers what was written to it meanwhile."""
    cursor.execute(
        "UPDATE conversations_trigger SET state = 'claimed', turn = %s"
        " WHERE conversation_id = %s AND state = 'new' AND control = ''",
        [place.turn, key(place.conversation_id)],
    )


def _new_key() -> Any:
    return key(uuid.uuid4())
