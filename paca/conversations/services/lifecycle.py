"""Lifecycle commands: stop, pause, resume and continue a conversation."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.db.models import Q, QuerySet

from paca import events
from paca.agents.models import Agent
from paca.common.best_effort import tolerated
from paca.common.errors import Conflict
from paca.common.prepared_queries import Select
from paca.conversations import store
from paca.conversations.models import (
    COMMENTED_TYPES,
    ControlCommand,
    Conversation,
    ConversationStatus,
    StopReason,
    Teammate,
    TeammateStop,
    Trigger,
    TriggerType,
)
from paca.conversations.models.statuses import (
    ACTIVE_STATUSES,
    ENDED_STATUSES,
    UNFINISHED_STATUSES,
)
from paca.conversations.services import background, helpers, pauses, waits
from paca.conversations.services.inbox import (
    HasName,
    add_trigger,
    check_agent_available,
    check_subject,
    discard_new_triggers,
    is_busy,
    lock,
    start_held,
    take_back_pauses,
)
from paca.projects.models import ActivityKind, Doc, Member, Task
from paca.projects.services import timeline

CONTINUE = "continue"


@transaction.atomic
def stop(conversation: Conversation, *, by: HasName, source: str = "api", key: str = "") -> None:
    """End the conversation at once. What is stored stays. An ended conversation does not change.

    A stop with a ``key`` takes effect once, even if the conversation has been continued since.
    """
    current = lock(conversation)
    same_key = Trigger.objects.filter(conversation=current, source=source, idempotency_key=key)
    if not key or not same_key.filter(control=ControlCommand.STOP).exists():
        _stop(current, reason=StopReason.BY_PERSON, by=by.name, source=source, key=key)


@transaction.atomic
def stop_agent_conversations(
    agent_id: UUID,
    *,
    by: str,
    reason: StopReason = StopReason.AGENT_REMOVED,
    keep_paused: bool = False,
) -> None:
    """Stop every conversation of an agent that has not ended, for this reason. ``by``: the name of a person.

    ``keep_paused``: those that are paused stay as they are.
    """
    unfinished = Conversation.objects.filter(agent=agent_id, deleted_at=None).exclude(
        status__in=ENDED_STATUSES
    )
    if keep_paused:
        unfinished = unfinished.exclude(status=ConversationStatus.PAUSED)
    # Conversations are locked before their helpers, which are stopped with them.
    for conversation in unfinished.top_level().select_related("agent").for_update():
        _stop(conversation, reason=reason, by=by)
    for child in unfinished.filter(parent__isnull=False).select_related("agent").for_update():
        _stop(child, reason=reason, by=by)
    # The lead may have ended its turn, and nobody wakes it again.
    # guard: removed-agent-leads-no-team
    if not keep_paused:
        Teammate.objects.live().filter(lead__agent=agent_id).update(stopping=TeammateStop.WITH_LEAD)


@transaction.atomic
def stop_unassigned(agent: Agent, task: Task, *, by: Member | None) -> None:
    """Stop the agent's work on a task that it is no longer assigned to; the timeline of the task tells it.

    ``by``: the member who unassigned it, None for the system. The caller has locked the agent.
    """
    working = Conversation.objects.filter(
        Q(status__in=UNFINISHED_STATUSES) | Q(pk__in=_leads()),
        agent=agent,
        task=task,
        trigger_type__in=COMMENTED_TYPES,
        deleted_at=None,
    )
    for current in working.select_related("agent").for_update():
        _stop(current, reason=StopReason.UNASSIGNED, by=by.name if by else "")
        kind = ActivityKind.AGENT_SESSION_STOPPED
        timeline.record(task, kind, actor=by, conversation_id=current.pk)
    # Its conversation may have ended, and what it started runs on.
    # guard: unassigned-agent-runs-nothing-on
    background.stop_all_of(agent.pk, by=by.name if by else "", task_id=task.pk)


def stop_conversations_of_deleted() -> int:
    """Stop the conversations whose task, doc or project is deleted; gives their number.

    A worker asks every second. The rows of tasks and docs tell it, so that a process that dies after
    a deletion loses nothing, and so that a deletion does not wait for a turn that ends. A conversation
    that cannot be stopped is logged, and does not keep the others from being stopped.
    """
    stopped = 0
    # Two queries: the condition of both reads every conversation.
    for (found,) in {*UNFINISHED_OF_DELETED.rows(), *LEADS_OF_DELETED.rows()}:
        with tolerated("stop of a conversation of what is deleted", conversation=str(found)):
            stopped += _stop_of_deleted(found)
    return stopped


@transaction.atomic
def _stop_of_deleted(conversation_id: UUID) -> bool:
    """Stop the conversation once for each deletion. A running turn obeys a moment later."""
    rows = Conversation.objects.select_related("agent", "task", "project").for_update()
    current = rows.get(pk=conversation_id)
    reason, at = _deletion_of(current)
    key = f"{reason}:{at.isoformat()}" if at else ""
    told = Trigger.objects.filter(conversation=current, source="system", idempotency_key=key)
    if at is None or told.exists():
        return False
    if current.status in ENDED_STATUSES and not _leads().filter(lead=current).exists():
        return False
    _stop(current, reason=reason, by="", source="system", key=key)
    return True


def _leads() -> QuerySet[Teammate, UUID]:
    """The conversations whose team has not ended: it works on after an answer of the lead."""
    # guard: end-of-a-task-reaches-the-team-of-its-lead
    return Teammate.objects.live().order_by().values_list("lead", flat=True)


def _of_deleted() -> QuerySet[Conversation]:
    deleted = Q(task__deleted_at__isnull=False) | Q(doc__deleted_at__isnull=False)
    deleted |= Q(project__deleted_at__isnull=False)
    return Conversation.objects.filter(deleted, deleted_at=None, parent=None)


UNFINISHED_OF_DELETED = Select(
    lambda: _of_deleted().filter(status__in=UNFINISHED_STATUSES).values_list("pk")
)
LEADS_OF_DELETED = Select(lambda: _of_deleted().filter(pk__in=_leads()).values_list("pk"))


def _deletion_of(current: Conversation) -> tuple[StopReason, datetime | None]:
    """What was deleted, and when; None if nothing is."""
    if current.project.deleted_at is not None:
        return StopReason.PROJECT_DELETED, current.project.deleted_at
    if current.task is not None:
        return StopReason.TASK_DELETED, current.task.deleted_at
    docs = Doc.objects.filter(conversations=current)
    return StopReason.DOC_DELETED, docs.values_list("deleted_at", flat=True).first()


def _stop(
    current: Conversation, *, reason: StopReason, by: str, source: str = "api", key: str = ""
) -> None:
    active = current.status in ACTIVE_STATUSES
    # guard: stop-ends-background-work
    background.request_stop(current.pk, by=by)
    if current.waits_for_person:
        waits.supersede(current, cause="stop", by=by)
    if current.waits_for_helpers:
        helpers.release(current, cause="stop", by=by)
    mark_team(current)
    # guard: stop-reaches-the-helpers
    stop_helpers(current, by=by, reason=reason, with_team=True)
    if active or key:
        add_trigger(current, reason, by=by, source=source, key=key, control=ControlCommand.STOP)
    if not active:
        discard_new_triggers(current)
    if current.status in (ConversationStatus.QUEUED, ConversationStatus.PAUSED):
        store.append(current.id, events.ConversationStopped(reason=reason, by=by))
    if current.parent_id is not None:
        helpers.settle_soon(current.parent_id)


def mark_team(current: Conversation) -> None:
    """Let the teammates end that a stop reaches, also those that are idle: a worker's sweep sees the mark."""
    # guard: stop-reaches-the-team
    Teammate.objects.live().filter(lead=current).update(stopping=TeammateStop.WITH_LEAD)
    alone = Teammate.objects.live().filter(conversation=current, stopping="")
    # guard: stop-reaches-an-idle-teammate
    alone.update(stopping=TeammateStop.ALONE)


def stop_helpers(
    current: Conversation,
    *,
    by: str,
    reason: StopReason = StopReason.BY_PERSON,
    with_team: bool = False,
) -> None:
    """Stop the helpers of a locked conversation that still work, in the caller's transaction.

    Its teammates go on, unless ``with_team``: they work beside it.
    """
    if current.parent_id is None:
        for child in helpers.unfinished(current):
            # guard: interrupt-leaves-the-team
            if with_team or child.trigger_type != TriggerType.TEAMMATE:
                _stop(child, reason=reason, by=by)


def stop_locked(current: Conversation, *, reason: StopReason, by: str) -> None:
    """Stop a locked conversation, in the caller's transaction. ``by`` is empty for the system."""
    _stop(current, reason=reason, by=by)


@transaction.atomic
def pause(conversation: Conversation, *, by: Member) -> None:
    """Let the running step end, then pause until a message or ``resume``.

    Raises ``Conflict`` if the conversation is not running.
    """
    helpers.refuse_helper(conversation)
    current = lock(conversation)
    if current.status not in ACTIVE_STATUSES:
        raise Conflict("Only a running conversation can be paused.")
    pauses.add(current, "pause", by=by.name, actor=by)


@transaction.atomic
def resume(conversation: Conversation, *, by: HasName) -> None:
    """Queue a paused conversation again.

    Raises ``Conflict`` if it is not paused, ``SubjectDeleted``, and what ``check_agent_available`` raises.
    """
    helpers.refuse_helper(conversation)
    current = lock(conversation)
    if current.status != ConversationStatus.PAUSED:
        raise Conflict("This conversation is not paused.")
    requeue(current, by=by, actor=by if isinstance(by, Member) else None)


@transaction.atomic
def continue_(
    conversation: Conversation, *, by: Member, source: str = "api", key: str = ""
) -> None:
    """Queue a paused or ended conversation again, as if the person had asked the agent to go on; start held work.

    Another conversation that is queued or runs does not change. With a ``key`` it takes effect once, even if the conversation has
    paused again since: a request that is sent again gives no second portion of a budget.

    Raises ``SubjectDeleted`` and what ``check_agent_available`` raises.
    """
    helpers.refuse_helper(conversation)
    current = lock(conversation)
    same_key = Trigger.objects.filter(conversation=current, source=source, idempotency_key=key)
    # guard: continue-once-a-click
    if key and same_key.filter(kind=CONTINUE).exists():
        return
    # guard: continue-starts-held-work
    if current.waits_for_start or not is_busy(current):
        requeue(current, by=by, actor=by, source=source, key=key)


def requeue(
    current: Conversation,
    *,
    by: HasName,
    actor: Member | None,
    source: str = "api",
    key: str = "",
) -> None:
    """Queue a locked conversation again, and take back what its helpers and team have not obeyed of its pause.

    ``actor`` is the member whose turn it is, for their key: of one that goes on by itself, who began it.
    """
    check_agent_available(current.agent)
    check_subject(current)
    queued = events.ConversationQueued(trigger=CONTINUE, by=by.name)
    store.append(current.id, *(start_held(current, CONTINUE, by=by.name) or [queued]))
    take_back_pauses(current)
    add_trigger(current, CONTINUE, by=by.name, source=source, key=key, actor=actor)
