"""The rows beside the log that follow from its events, written by SQL in the store's transaction."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import DatabaseError, transaction

from paca import events
from paca.common import database_errors
from paca.common.best_effort import tolerated
from paca.conversations import (
    background_rows,
    branch_rows,
    budgets,
    person_request_rows,
    sandbox_lifecycle,
)
from paca.conversations.models.inbox import ControlCommand
from paca.conversations.models.statuses import (
    MODEL_CALL_MOVES,
    TOOL_CALL_MOVES,
    TRIGGER_MOVES,
    TURN_MOVES,
    ModelCallStatus,
    SandboxState,
    ToolCallState,
    TriggerState,
    TurnStatus,
)
from paca.conversations.sql_parameters import (
    datetime_parameter,
    new_uuid_parameter,
    uuid_parameter,
)
from paca.conversations.status_columns import StatusColumn
from paca.conversations.telemetry import turn_ends
from paca.engine.approvals.person_tools import PersonRequested
from paca.engine.turn import LogEntry, ModelCallStarted


@dataclass(frozen=True, slots=True)
class WriteContext:
    """The conversation, turn and lease epoch that entries are written for, and the time."""

    conversation_id: UUID
    turn: int
    epoch: int
    now: datetime


_TRIGGER = StatusColumn("A trigger", "conversations_trigger", "state", TRIGGER_MOVES)
_TURN = StatusColumn("A turn", "conversations_turn", "status", TURN_MOVES)
_MODEL_CALL = StatusColumn("A model call", "conversations_modelcall", "status", MODEL_CALL_MOVES)
_TOOL_CALL = StatusColumn("A tool call", "conversations_toolcall", "state", TOOL_CALL_MOVES)


def apply(cursor: Any, context: WriteContext, entries: Sequence[LogEntry]) -> None:
    """Write the rows that follow from these entries.

    Raises ``IllegalStatusMove`` if a turn, call or sandbox may not go to the status that an entry gives it.
    """
    for entry in entries:
        _project(entry, cursor, context)


@functools.singledispatch
def _project(entry: LogEntry, cursor: Any, context: WriteContext) -> None:
    """Write the rows of one entry. Most types of events have none."""


def _projects(kind: type) -> Callable[[Callable[..., None]], Callable[..., None]]:
    return _project.register(kind)


# --- turns and the inbox ------------------------------------------------------------------------


@_projects(events.TurnStarted)
def _turn_started(event: events.TurnStarted, cursor: Any, context: WriteContext) -> None:
    cursor.execute(
        "INSERT INTO conversations_turn"
        " (id, conversation_id, number, status, reason, steps, started_at, created_at, updated_at)"
        " VALUES (%s, %s, %s, %s, '', 0, %s, %s, %s)",
        [
            new_uuid_parameter(),
            uuid_parameter(context.conversation_id),
            event.number,
            TurnStatus.RUNNING.value,
            *[datetime_parameter(context.now)] * 3,
        ],
    )


@_projects(events.TurnFinished)
def _turn_finished(event: events.TurnFinished, cursor: Any, context: WriteContext) -> None:
    conversation_id = uuid_parameter(context.conversation_id)
    _TURN.move(
        cursor,
        TurnStatus(event.status),
        where={"conversation_id": conversation_id, "number": event.number},
        reason=event.reason,
        steps=event.steps,
        finished_at=datetime_parameter(context.now),
    )
    answered = {"conversation_id": conversation_id, "turn": event.number}
    _TRIGGER.move_all(cursor, TriggerState.DONE, where=answered)
    turn_ends.announce(context.conversation_id, event.number)


def claim_messages(cursor: Any, context: WriteContext) -> None:
    """Let the running turn answer the messages that were written since it started.

    The model call that begins reads an interrupt like any other message, so that it ends no later turn.
    """
    for control in (ControlCommand.NONE, ControlCommand.INTERRUPT):
        messages = {
            "conversation_id": uuid_parameter(context.conversation_id),
            "control": control.value,
        }
        _TRIGGER.move_all(cursor, TriggerState.CLAIMED, where=messages, turn=context.turn)


# --- model calls and tool calls -----------------------------------------------------------------


def _call_of(context: WriteContext, call_id: str) -> dict[str, Any]:
    """The row of a call that this conversation made. A fork has the calls of another one in its log."""
    # guard: fork-leaves-the-calls-of-its-origin
    return {
        "id": uuid_parameter(call_id),
        "conversation_id": uuid_parameter(context.conversation_id),
    }


@_projects(ModelCallStarted)
def _model_call_started(entry: ModelCallStarted, cursor: Any, context: WriteContext) -> None:
    if entry.budgets:
        owner = replace(_owner(cursor, context), team_used=entry.team_used)
        budgets.reserve(entry.budgets, entry.at_most, owner)
    # A budget counts rows, so with one the call needs its row.
    with nullcontext() if entry.budgets else _usage_tracking():
        cursor.execute(
            "INSERT INTO conversations_modelcall (project_id, agent_id, id, conversation_id,"
            " purpose, turn, attempt, model, key_source, status, epoch, started_at, held_tokens, held_usd,"
            " input_tokens, output_tokens, cache_read_tokens, cache_write_tokens)"
            " SELECT project_id, agent_id, %s, id, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, 0, 0, 0, 0"
            " FROM conversations_conversation WHERE id = %s",
            [
                uuid_parameter(entry.call_id),
                entry.purpose,
                context.turn,
                entry.attempt,
                entry.model,
                entry.key_source,
                ModelCallStatus.STARTED.value,
                context.epoch,
                datetime_parameter(context.now),
                entry.at_most.tokens,
                entry.at_most.cost_usd,
                uuid_parameter(context.conversation_id),
            ],
        )


def _owner(cursor: Any, context: WriteContext) -> budgets.Owner:
    cursor.execute(
        "SELECT agent_id, project_id, parent_id, parent_call FROM conversations_conversation"
        " WHERE id = %s",
        [uuid_parameter(context.conversation_id)],
    )
    agent_id, project_id, parent_id, call_id = cursor.fetchone()
    family = budgets.Family(UUID(str(parent_id)), call_id) if parent_id else None
    agent, project = UUID(str(agent_id)), UUID(str(project_id))
    return budgets.Owner(agent, project, family, lead_id=context.conversation_id)


@_projects(events.UsageRecorded)
def _usage_recorded(event: events.UsageRecorded, cursor: Any, context: WriteContext) -> None:
    held: dict[str, Any] = {"held_tokens": event.estimated_tokens, "held_usd": event.estimated_usd}
    # A request that was never answered may have been billed, so it goes on holding what it may have taken.
    # guard: budget-holds-an-unanswered-request
    if event.input is None and not event.estimated_tokens:
        held = {}
    with _usage_tracking():
        _MODEL_CALL.move(
            cursor,
            ModelCallStatus(event.outcome),
            where=_call_of(context, event.call_id),
            input_tokens=event.input,
            output_tokens=event.output,
            cache_read_tokens=event.cache_read,
            cache_write_tokens=event.cache_write,
            cost_usd=event.cost_usd,
            **held,
            finished_at=datetime_parameter(context.now),
        )


@contextmanager
def _usage_tracking() -> Iterator[None]:
    """Statements on rows of model calls. If the database refuses one, the log is stored all the same.

    The failure is logged and counted; the event keeps the usage. A database that is away or full fails
    the log too, so it is not tolerated here.
    """
    try:
        with transaction.atomic():
            yield
    except database_errors.UNAVAILABLE_ERRORS:
        raise
    except DatabaseError:
        # guard: usage-failure-of-a-row-is-counted
        with tolerated("usage"):
            raise


@_projects(events.ToolCalled)
def _tool_called(event: events.ToolCalled, cursor: Any, context: WriteContext) -> None:
    arguments = json.dumps(event.arguments, sort_keys=True).encode()
    cursor.execute(
        "INSERT INTO conversations_toolcall (id, conversation_id, turn, tool, arguments_hash,"
        " effect, state, cause, boot_id, epoch, called_at)"
        " VALUES (%s, %s, %s, %s, %s, %s, %s, '', '', %s, %s)",
        [
            uuid_parameter(event.call_id),
            uuid_parameter(context.conversation_id),
            context.turn,
            event.tool[:100],
            hashlib.sha256(arguments).hexdigest(),
            event.effect,
            ToolCallState.CALLED.value,
            context.epoch,
            datetime_parameter(context.now),
        ],
    )


@_projects(events.ToolStarted)
def _tool_started(event: events.ToolStarted, cursor: Any, context: WriteContext) -> None:
    _TOOL_CALL.move(
        cursor,
        ToolCallState.STARTED,
        where=_call_of(context, event.call_id),
        boot_id=event.boot_id,
        epoch=context.epoch,
        started_at=datetime_parameter(context.now),
    )


@_projects(events.ToolReturned)
def _tool_returned(event: events.ToolReturned, cursor: Any, context: WriteContext) -> None:
    _TOOL_CALL.move(
        cursor,
        ToolCallState.FAILED if event.failed else ToolCallState.DONE,
        where=_call_of(context, event.call_id),
        cause=event.cause,
        exit_code=event.exit_code,
        finished_at=datetime_parameter(context.now),
    )


@_projects(events.ToolOutcomeUnknown)
def _tool_outcome_unknown(
    event: events.ToolOutcomeUnknown, cursor: Any, context: WriteContext
) -> None:
    _TOOL_CALL.move(
        cursor,
        ToolCallState.UNKNOWN,
        where=_call_of(context, event.call_id),
        cause="",
        exit_code=None,
        finished_at=datetime_parameter(context.now),
    )


# --- requests to people -------------------------------------------------------------------------


@_projects(events.ApprovalRequested)
@_projects(events.QuestionAsked)
@_projects(events.PlanProposed)
def _person_requested(event: PersonRequested, cursor: Any, context: WriteContext) -> None:
    person_request_rows.create(event, context.conversation_id, turn=context.turn, at=context.now)


@_projects(events.ApprovalGiven)
@_projects(events.QuestionAnswered)
@_projects(events.PlanDecided)
@_projects(events.ApprovalExpired)
@_projects(events.ApprovalSuperseded)
def _person_request_ended(
    event: person_request_rows.Ended, cursor: Any, context: WriteContext
) -> None:
    person_request_rows.end(event, at=context.now)


# --- background commands ------------------------------------------------------------------------


@_projects(events.BackgroundStarted)
def _background_started(
    event: events.BackgroundStarted, cursor: Any, context: WriteContext
) -> None:
    background_rows.start(event, context.conversation_id, at=context.now)


@_projects(events.BackgroundFinished)
def _background_finished(
    event: events.BackgroundFinished, cursor: Any, context: WriteContext
) -> None:
    background_rows.end(event, context.conversation_id, at=context.now)


# --- repositories -------------------------------------------------------------------------------


@_projects(events.RepositoryCloned)
@_projects(events.RepositoryPushed)
@_projects(events.PullRequestOpened)
@_projects(events.PullRequestChanged)
def _branch_changed(event: branch_rows.BranchEvent, cursor: Any, context: WriteContext) -> None:
    branch_rows.store(event, context.conversation_id)


# --- sandboxes ----------------------------------------------------------------------------------


@_projects(events.SandboxStarted)
def _sandbox_started(event: events.SandboxStarted, cursor: Any, context: WriteContext) -> None:
    sandbox_lifecycle.start(
        context.conversation_id, backend=event.backend, boot_id=event.boot_id, at=context.now
    )


@_projects(events.SandboxPaused)
def _sandbox_paused(event: events.SandboxPaused, cursor: Any, context: WriteContext) -> None:
    _move_sandbox(context, SandboxState.PAUSED)


@_projects(events.SandboxResumed)
def _sandbox_resumed(event: events.SandboxResumed, cursor: Any, context: WriteContext) -> None:
    _move_sandbox(context, SandboxState.RUNNING)


@_projects(events.SandboxLost)
def _sandbox_lost(event: events.SandboxLost, cursor: Any, context: WriteContext) -> None:
    _move_sandbox(context, SandboxState.ENDED)


@_projects(events.SandboxRemoved)
def _sandbox_removed(event: events.SandboxRemoved, cursor: Any, context: WriteContext) -> None:
    _move_sandbox(context, SandboxState.ENDED if event.kept else SandboxState.ABSENT)


@_projects(events.SandboxFilesCopied)
def _sandbox_files_copied(
    event: events.SandboxFilesCopied, cursor: Any, context: WriteContext
) -> None:
    if not event.error:
        sandbox_lifecycle.begin_with_files(
            context.conversation_id, backend=event.backend, at=context.now
        )


def _move_sandbox(context: WriteContext, to: SandboxState) -> None:
    sandbox_lifecycle.move(context.conversation_id, to, updated_at=context.now)
