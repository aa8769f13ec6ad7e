"""Writes the event log of a conversation, and the rows that follow from it.

Only this module, ``projections``, ``conversation_columns`` and ``log_copy`` have SQL written by hand: for
these rows the ORM takes three times as much CPU. The SQL of other frequent queries is built by the ORM once, see
``common/prepared_queries``.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from paca import events
from paca.bus import get_bus
from paca.bus.base import CommittedBatch, conversation_topic, project_topic
from paca.common.errors import NotFound, PacaError
from paca.common.frames import StoredEvent, live_frame
from paca.common.text import to_storable_json
from paca.conversations import (
    background_rows,
    conversation_columns,
    projections,
    search_index,
)
from paca.conversations.models.conversation import Conversation
from paca.conversations.models.inbox import ControlCommand
from paca.conversations.models.statuses import (
    TRIGGER_MOVES,
    IllegalStatusMove,
    TriggerState,
    statuses_before,
)
from paca.conversations.models.teams import Teammate
from paca.conversations.sql_parameters import datetime_parameter, uuid_parameter
from paca.engine import after_turn
from paca.engine.turn import LogEntry, ModelCallStarted
from paca.events import Event

PAYLOAD_LIMIT_BYTES = 64 * 1024


class Fenced(PacaError):
    """Another worker has taken over this conversation."""

    code = "fenced"
    status = 409


@dataclass(frozen=True, slots=True)
class Lease:
    """A worker's right to write to a conversation. It ends when another claim raises the row's epoch."""

    conversation_id: UUID
    owner: str
    epoch: int


@dataclass(frozen=True, slots=True)
class AppendResult:
    """The events that one transaction stored, with the numbers ``first_seq`` to ``last_seq``."""

    events: tuple[Event, ...]
    first_seq: int
    last_seq: int
    at: datetime


def append(
    conversation_id: UUID,
    *entries: LogEntry,
    lease: Lease | None = None,
    claimed_seq: int | None = None,
) -> AppendResult:
    """Store events with the next numbers, and their projections, in one transaction.

    Without a ``lease`` the writer is a person or the system. A model call reads all messages before it,
    so they are claimed for the running turn with the entry that starts the call. ``claimed_seq`` spares
    the query: every message up to this event has a turn.

    Raises ``Fenced`` if the lease is lost, ``IllegalStatusMove`` if a status may not change as an event
    says, and ``NotFound`` if there is no such conversation.
    """
    now = timezone.now()
    with transaction.atomic(savepoint=False), connection.cursor() as cursor:
        entries = background_rows.settle(conversation_id, entries)
        new_events = tuple(entry for entry in entries if isinstance(entry, Event))
        last_seq, turn, epoch, project_id, status, parent, *subject = _advance_row(
            cursor, conversation_id, new_events, lease, now
        )
        first_seq = last_seq - len(new_events) + 1
        context = projections.WriteContext(conversation_id, turn, epoch, now)
        stored = _insert(cursor, context, first_seq, new_events, in_turn=lease is not None)
        projections.apply(cursor, context, entries)
        # guard: store-call-claims-messages
        if starts_model_call(entries) and (claimed_seq is None or first_seq > claimed_seq + 1):
            projections.claim_messages(cursor, context)
        if any(isinstance(event, search_index.CHANGES_WORDS) for event in new_events):
            search_index.update(conversation_id, new_events)
        project = UUID(str(project_id))
        batch = CommittedBatch(str(project), status, stored)
        transaction.on_commit(
            lambda: _announce(conversation_id, project, new_events, last_seq, batch, subject)
        )
        if parent:
            tell = partial(_tell_parent, UUID(str(parent)), conversation_id, new_events, batch)
            transaction.on_commit(partial(tell, last_seq))
    return AppendResult(new_events, first_seq, last_seq, now)


def require_lease(lease: Lease) -> None:
    """Lock the conversation's row until the end of the caller's transaction, so that nobody claims it.

    A transaction that writes other tables for a worker ends with this. Raises ``Fenced`` if the lease
    is lost.
    """
    held = Conversation.objects.filter(
        pk=lease.conversation_id,
        deleted_at__isnull=True,
        lease_owner=lease.owner,
        lease_epoch=lease.epoch,
    )
    if not held.for_update().values_list("pk"):
        raise Fenced


def starts_model_call(entries: Sequence[LogEntry]) -> bool:
    """Whether a model call starts with these entries that reads the messages before it. One that follows a turn does not."""
    # guard: title-claims-no-message
    return any(
        isinstance(entry, ModelCallStarted) and entry.purpose not in after_turn.PURPOSES
        for entry in entries
    )


def _announce(
    conversation_id: UUID,
    project_id: UUID,
    new_events: Sequence[Event],
    last_seq: int,
    batch: CommittedBatch,
    subject: Sequence[Any],
) -> None:
    """Tell viewers to read the new rows, and lists of the project to load again.

    ``subject`` is the id of the task and that of the doc; boards show what its agent does.
    """
    bus = get_bus()
    bus.announce(conversation_topic(conversation_id), last_seq, batch)
    if any(conversation_columns.changes_lists(event) for event in new_events):
        changed = {"type": "conversation.changed", "id": str(conversation_id), "version": last_seq}
        bus.live(project_topic(project_id), changed)
    if any(subject) and (state := conversation_columns.state_after(new_events)):
        task_id, doc_id = (str(UUID(str(pk))) if pk else None for pk in subject)
        summary = {"type": "agent.state.changed", "id": str(conversation_id), "version": last_seq}
        about = {"task_id": task_id, "doc_id": doc_id, "status": batch.status}
        bus.live(project_topic(project_id), {**summary, **about, **state})


def _tell_parent(
    parent_id: UUID,
    conversation_id: UUID,
    new_events: Sequence[Event],
    batch: CommittedBatch,
    last_seq: int,
) -> None:
    """Tell the viewers of the conversation that started this helper what it does now."""
    state = conversation_columns.state_after(new_events)
    calls = [event for event in new_events if isinstance(event, events.ToolCalled)]
    spent = any(isinstance(event, events.UsageRecorded) for event in new_events)
    if not state and not calls and not spent:
        return
    progressed = events.SubagentProgressed(
        subagent_id=str(conversation_id),
        status=batch.status,
        activity=state.get("activity", ""),
        tool=calls[-1].tool if calls else "",
        subject=calls[-1].subject if calls else "",
        seq=last_seq,
    )
    name = Teammate.objects.filter(conversation=conversation_id).values_list("name", flat=True)
    source = next((f"teammate:{each}" for each in name), f"subagent:{conversation_id}")
    frame = live_frame(progressed, at=timezone.now(), source=source)
    get_bus().live(conversation_topic(parent_id), frame)


def claim_triggers(conversation_id: UUID, *, turn: int) -> list[str]:
    """Claim every new message for this turn. Gives the ids of the triggers, the oldest first."""
    before = statuses_before(TriggerState.CLAIMED, TRIGGER_MOVES)
    allowed = ", ".join(["%s"] * len(before))
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE conversations_trigger SET state = %s, turn = %s, attempts = attempts + 1"  # noqa: S608 - placeholders
            f" WHERE conversation_id = %s AND state IN ({allowed}) AND control IN (%s, %s)"
            " RETURNING created_at, id",
            [
                TriggerState.CLAIMED.value,
                turn,
                uuid_parameter(conversation_id),
                *(each.value for each in before),
                ControlCommand.NONE.value,
                ControlCommand.INTERRUPT.value,
            ],
        )
        return [str(UUID(str(found))) for _, found in sorted(cursor.fetchall())]


def _advance_row(
    cursor: Any,
    conversation_id: UUID,
    new_events: Sequence[Event],
    lease: Lease | None,
    now: datetime,
) -> tuple[Any, ...]:
    """Reserve the next numbers and update the conversation's row. Its lock puts all writers in order.

    Gives the last number, the turn, the epoch, the project's id, the new status, and the ids of the conversation that
    started it as a helper, of task and doc.
    """
    columns, values = conversation_columns.assignments(new_events, now, leased=lease is not None)
    where, keys = "id = %s AND deleted_at IS NULL", [uuid_parameter(conversation_id)]
    if lease is not None:
        # guard: store-lease-owner
        where, keys = f"{where} AND lease_owner = %s", [*keys, lease.owner]
        # guard: store-lease-epoch
        where, keys = f"{where} AND lease_epoch = %s", [*keys, lease.epoch]
    assignments = ", ".join(["next_seq = next_seq + %s", *columns])
    try:
        cursor.execute(
            f"UPDATE conversations_conversation SET {assignments} WHERE {where}"  # noqa: S608 - fixed names
            " RETURNING next_seq, turn_number, lease_epoch, project_id, status, parent_id, task_id, doc_id",
            [len(new_events), *values, *keys],
        )
        row = cursor.fetchone()
    except IntegrityError as error:
        if "conversation_moves_as_allowed" in str(error):
            raise IllegalStatusMove from error
        raise
    if row is None:
        raise Fenced if lease is not None else NotFound
    return row[0] - 1, *row[1:]


def _insert(
    cursor: Any,
    context: projections.WriteContext,
    first_seq: int,
    new_events: Sequence[Event],
    *,
    in_turn: bool,
) -> tuple[StoredEvent, ...]:
    turn = context.turn if in_turn else None
    stored = tuple(
        StoredEvent(
            seq,
            event.type,
            source_of(event),
            turn,
            context.now,
            to_storable_json(event.payload()),
        )
        for seq, event in enumerate(new_events, first_seq)
    )
    blobs = _insert_blobs(cursor, stored, context.now)
    if stored:
        cursor.executemany(
            "INSERT INTO conversations_event"
            " (conversation_id, seq, type, source, turn, epoch, at, payload, blob_id)"
            " VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s)",
            [_row(event, context, blobs.get(event.seq)) for event in stored],
        )
    return stored


def _row(
    event: StoredEvent, context: projections.WriteContext, blob: str | None
) -> tuple[Any, ...]:
    return (
        uuid_parameter(context.conversation_id),
        event.seq,
        event.type,
        event.source,
        event.turn,
        context.epoch,
        datetime_parameter(event.at),
        event.payload if blob is None else "",
        blob,
    )


def _insert_blobs(cursor: Any, stored: Sequence[StoredEvent], now: datetime) -> dict[int, str]:
    """Store each payload that is too large for its row as a blob; gives ``seq`` to sha256."""
    blobs: dict[int, str] = {}
    bodies: dict[str, str] = {}
    for event in stored:
        encoded = event.payload.encode()
        if len(encoded) > PAYLOAD_LIMIT_BYTES:
            blobs[event.seq] = hashlib.sha256(encoded).hexdigest()
            bodies[blobs[event.seq]] = event.payload
    for sha256, body in sorted(bodies.items()):  # in one order, so that writers cannot deadlock
        cursor.execute(
            "INSERT INTO conversations_blob (sha256, body, created_at) VALUES (%s, %s, %s)"
            # Not "do nothing": an update locks the row, so that the deletion of another log, which
            # has the same body, cannot remove it.
            " ON CONFLICT (sha256) DO UPDATE SET sha256 = excluded.sha256",
            [sha256, body, datetime_parameter(now)],
        )
    return blobs


_FROM_PEOPLE = (
    events.MessageReceived,
    events.MessageEdited,
    events.MessageWithdrawn,
    events.ContextCompactionRequested,
)
_FROM_AGENTS = (
    events.MessageSpoken,
    events.MessageDiscarded,
    events.ThoughtRecorded,
    events.ToolCalled,
    events.ToolStarted,
    events.ToolReturned,
    events.ToolOutcomeUnknown,
    events.TodoChanged,
)


def source_of(event: Event) -> str:
    """Who speaks in this event: user, agent, system, a helper by its id, or a teammate by its name."""
    if isinstance(event, events.MessageReceived) and event.teammate:
        return f"teammate:{event.teammate}"
    if isinstance(event, events.TeammateChanged):
        return f"teammate:{event.name}"
    if isinstance(event, events.SubagentStarted | events.SubagentFinished):
        return f"subagent:{event.subagent_id}"
    if isinstance(event, _FROM_PEOPLE):
        return "user"
    return "agent" if isinstance(event, _FROM_AGENTS) else "system"
