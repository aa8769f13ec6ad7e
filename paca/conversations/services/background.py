"""Background commands of a conversation: stopping them, and waking the agent when one ends.

Whoever wants a command ended writes that into its row; the worker that runs the conversation, or one that watches
idle conversations, kills it and stores its end. A worker that dies before has changed nothing, and the next one
reads the row.
"""

from __future__ import annotations

from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from paca import events
from paca.common import disk_space
from paca.common.errors import NotFound, PacaError
from paca.conversations import event_log, store
from paca.conversations.models import (
    BackgroundCommand,
    ControlCommand,
    Conversation,
    ConversationStatus,
    Event,
    Trigger,
    TriggerType,
)
from paca.conversations.services.inbox import (
    HasName,
    add_trigger,
    check_agent_available,
    check_subject,
    is_busy,
    lock,
)

WAKE = "background"  # the kind of the trigger
MAX_WAKES = 5  # since something else than an end of a command or its team has started a turn
MAX_LISTED = 50


def get(conversation: Conversation, call_id: str) -> BackgroundCommand:
    """The background command of this call. Raises ``NotFound``."""
    try:
        found = BackgroundCommand.objects.filter(conversation=conversation, pk=UUID(call_id))
    except ValueError:
        found = BackgroundCommand.objects.none()
    command = found.first()
    if command is None:
        raise NotFound("There is no such background command in this conversation.")
    return command


def newest(conversation: Conversation) -> list[BackgroundCommand]:
    """The background commands of the conversation, the newest first, at most ``MAX_LISTED``."""
    rows = BackgroundCommand.objects.filter(conversation=conversation)
    return list(rows[:MAX_LISTED])


@transaction.atomic
def stop(conversation: Conversation, *, call_id: str, by: HasName) -> BackgroundCommand:
    """Have a background command ended, with its processes. One that has ended does not change.

    Raises ``NotFound``.
    """
    lock(conversation)
    command = get(conversation, call_id)
    request_stop(conversation.pk, by=by.name, call_id=command.pk)
    command.refresh_from_db()
    return command


def request_stop(conversation_id: UUID, *, by: str, call_id: UUID | None = None) -> None:
    """Have all running commands of the conversation ended, or one of them. The first request counts."""
    rows = BackgroundCommand.objects.running().filter(
        conversation=conversation_id, stop_requested_at=None
    )
    if call_id is not None:
        rows = rows.filter(pk=call_id)
    now = timezone.now()
    rows.update(stop_requested_at=now, stop_by=by[:200], look_at=now)


def stop_all_of(agent_id: UUID, *, by: str, task_id: UUID | None = None) -> None:
    """Have what an agent runs in the background ended, also in conversations that have ended; of a task if one is named."""
    running = BackgroundCommand.objects.running().filter(conversation__agent=agent_id)
    if task_id is not None:
        running = running.filter(conversation__task=task_id)
    for conversation_id in set(running.values_list("conversation", flat=True)):
        request_stop(conversation_id, by=by)


# --- waking the agent -------------------------------------------------------------------------------


@transaction.atomic
def wake(conversation_id: UUID) -> bool:
    """Start a turn if a command has ended that the agent has not read about; True if one starts.

    Only after an answer: a conversation that is stopped, paused or failed waits for a person, and the agent reads the
    note when it goes on. At most ``MAX_WAKES`` times in a row, so that an agent that starts one command after the
    other does not work for ever. While the disk is full the end stays due. The trigger is that of the last turn in all but its kind: it counts the same hops,
    and the key of the same person pays.
    """
    # guard: background-wake-waits-for-space
    if not disk_space.has_space(settings.PACA_DATA_DIR):
        return False  # it stays due
    current = lock(Conversation(pk=conversation_id))
    due = BackgroundCommand.objects.filter(conversation=current, wake_due=True)
    if is_busy(current) or not due.exists():
        return False
    ended = due.order_by("-finished_at")[0]
    due.update(wake_due=False)
    if not _may_wake(current):
        return False
    turns = Trigger.objects.filter(
        conversation=current, control__in=(ControlCommand.NONE, ControlCommand.INTERRUPT)
    )
    last = turns.exclude(kind=WAKE).order_by("-created_at").first()
    woken = turns.filter(kind=WAKE)
    # A team wakes its lead too, and the two must not take turns for ever.
    # guard: background-wakes-count-on-beside-a-team
    asked = turns.exclude(kind__in=(WAKE, TriggerType.TEAMMATE))
    if (newest := asked.order_by("-created_at").first()) is not None:
        woken = woken.filter(created_at__gt=newest.created_at)
    # guard: background-wakes-are-bounded
    if woken.count() >= MAX_WAKES:
        return False
    store.append(current.pk, events.ConversationQueued(trigger=WAKE))
    add_trigger(
        current,
        WAKE,
        by=last.by if last else "",
        source="system",
        key=str(ended.pk),
        actor=last.actor if last else None,
        hops=last.hops if last else 0,
    )
    return True


def _may_wake(current: Conversation) -> bool:
    answered = (current.status, current.reason) == (ConversationStatus.FINISHED, "answered")
    # guard: background-wakes-after-an-answer-only
    if not answered or current.archived or current.deleted_at is not None:
        return False
    if _is_read(current):
        return False
    try:
        check_agent_available(current.agent)
        check_subject(current)
    except PacaError:
        return False
    return True


def _is_read(current: Conversation) -> bool:
    """Whether a model call has read the newest end of a background command."""
    ends = Event.objects.filter(conversation=current, type=events.BackgroundFinished.type).order_by(
        "-seq"
    )
    newest_end = ends.values_list("seq", flat=True).first() or 0
    usage = (events.UsageRecorded.type,)
    for event in event_log.backwards(current.pk, usage, upto_seq=current.last_seq):
        if isinstance(event, events.UsageRecorded) and _is_step(event):
            # guard: background-end-that-is-read-wakes-nobody
            return event.seen_seq >= newest_end
    return False


def _is_step(event: events.UsageRecorded) -> bool:
    return (event.purpose, event.outcome) == ("turn", "done")


# --- what workers ask ---------------------------------------------------------------------------------


def unwanted() -> Q:
    """The condition of commands that are to end, because nobody can use what they do any more."""
    gone = Q(stop_requested_at__isnull=False) | Q(conversation__archived_at__isnull=False)
    gone |= Q(conversation__agent__deleted_at__isnull=False)
    gone |= Q(conversation__project__deleted_at__isnull=False)
    gone |= Q(conversation__task__deleted_at__isnull=False)
    return gone | Q(conversation__doc__deleted_at__isnull=False)
