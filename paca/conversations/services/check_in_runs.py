"""Runs of check-ins: takes the slots that are due, each once, and starts a conversation or says why not.

One transaction takes a slot: it moves ``next_at`` of the check-in by a compare-and-swap, writes what became of the
slot, and stores the conversation with its trigger. So a process that dies before the commit has taken nothing, and
the slot is still due for the next worker. One that dies after the commit leaves a queued conversation, which any
worker claims as every other one; the slot is not due any more. The agent's row is locked first, as everywhere.
"""

from __future__ import annotations

import logging
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction
from django.db.models import F

from paca.agents.models import Agent
from paca.common import database_errors
from paca.common.best_effort import tolerated
from paca.conversations import budget_report, check_in_slots
from paca.conversations.check_in_slots import DueSlot
from paca.conversations.models import (
    CheckIn,
    CheckInOutcome,
    CheckInRun,
    Conversation,
    ConversationStatus,
    SkipReason,
    TriggerType,
)
from paca.conversations.models.statuses import ACTIVE_STATUSES
from paca.conversations.services import assignments, trigger_texts
from paca.conversations.services.inbox import add_message, record_start
from paca.conversations.services.messages import MAX_TITLE_CHARACTERS
from paca.projects.models import Member, Task
from paca.projects.signals import project_changed

logger = logging.getLogger(__name__)

BATCH = 50
KEPT_RUNS = 200
MAX_TASKS = 3
# A slot that is taken this late still counts as being in time, also if the active hours end meanwhile.
GRACE = timedelta(minutes=5)


def take_due(now: datetime) -> datetime | None:
    """Take the slots that are due at ``now``, up to ``BATCH``; gives when to ask again.

    That is the next slot of all check-ins, ``now`` after slots were taken, and None if none is scheduled. If nothing
    is due, it costs one query.
    """
    rows = CheckIn.objects.scheduled().order_by("next_at", "pk")
    found = list(rows.values_list("pk", "next_at")[:BATCH])
    due = [pk for pk, next_at in found if next_at is not None and next_at <= now]
    for pk in due:
        take_or_skip(pk, now)
    if due:
        return now
    return found[0][1] if found else None


def take_or_skip(check_in_id: UUID, now: datetime) -> None:
    """Take the slot of one check-in. If that fails, however it fails, the slot is skipped with the reason.

    While the database is out of reach it stays due. If it cannot be skipped either, it is looked at again later:
    slots that stay due stand before those of other check-ins.
    """
    for failed in (False, True):
        with tolerated("check-in", check_in=str(check_in_id)):
            try:
                take(check_in_id, now, failed=failed)
            except database_errors.UNAVAILABLE_ERRORS:
                logger.warning("check-in stays due", extra={"check_in": str(check_in_id)})
            return
    with tolerated("delay of a check-in", check_in=str(check_in_id)):
        stuck = CheckIn.objects.filter(pk=check_in_id, next_at__lte=now)
        stuck.update(next_at=now + GRACE)


@transaction.atomic
def take(check_in_id: UUID, now: datetime, *, failed: bool = False) -> CheckInRun | None:
    """Take the slot of a check-in that is due at ``now``, and start its run or store why not.

    Gives what became of it; None if it was taken already. ``failed``: a try has failed, so it is skipped.
    """
    agents = Agent.objects.filter(check_ins=check_in_id)
    for agent in agents.only("pk"):
        assignments.lock_agent(agent)
    related = ("agent__project", "task__project", "doc__project")
    due = CheckIn.objects.scheduled().select_related(*related).filter(next_at__lte=now)
    check_in = due.filter(pk=check_in_id).first()
    if check_in is None or check_in.next_at is None:
        return None
    slot = check_in_slots.due_slot(check_in.schedule, check_in.next_at, now)
    # guard: slot-is-taken-once
    mine = CheckIn.objects.filter(pk=check_in_id, next_at=check_in.next_at)
    if not mine.update(next_at=slot.following):
        return None
    # A worker whose clock is ahead took it, and then a change of the times planned it again.
    # guard: slot-that-is-planned-again
    if check_in.runs.filter(slot_at=slot.slot).exists():
        return None
    _record_missed(check_in, slot)
    reason = SkipReason.FAILED if failed else _reason_to_skip(check_in, slot.slot, now)
    if reason is not None:
        return _record_skip(check_in, reason, slot.slot)
    return start(check_in, slot=slot.slot, now=now, by=None)


def start(
    check_in: CheckIn, *, slot: datetime | None, now: datetime, by: Member | None
) -> CheckInRun:
    """Store the conversation of a run with its message, for a slot or by hand. The agent's row is locked."""
    subject = check_in.task or check_in.doc
    kind = TriggerType.CHECK_IN
    # A plan is for work that changes something, and nobody is there to approve one.
    plan = None if check_in.auto_act else False
    current = assignments.create(check_in.agent, kind, by=by, subject=subject, plan=plan)
    current.read_only = not check_in.auto_act
    current.save(update_fields=["read_only", "updated_at"])
    record_start(current)
    run = CheckInRun.objects.create(
        check_in=check_in,
        slot_at=slot,
        outcome=CheckInOutcome.STARTED,
        started_by=by.name if by else "",
        conversation=current,
    )
    text = trigger_texts.check_in(
        check_in,
        at=(slot or now).astimezone(check_in.schedule.zone),
        tasks=_open_tasks(check_in) if check_in.with_tasks else (),
        by=by,
    )
    add_message(
        current,
        assignments.message_of(text, kind, by=by),
        by=by.name if by else check_in.name,
        title=check_in.name[:MAX_TITLE_CHARACTERS],
        actor=by,
        source="check_in",
        key=str(run.pk),
    )
    _forget_old(check_in)
    tell_pages(check_in)
    return run


def is_busy(check_in: CheckIn) -> bool:
    """Whether a former run of the check-in waits or runs. One that is paused waits for people, and is none."""
    unfinished = (ConversationStatus.QUEUED, *ACTIVE_STATUSES)
    return Conversation.objects.filter(
        check_in_run__check_in=check_in, status__in=unfinished, deleted_at=None
    ).exists()


def report_is_deleted(check_in: CheckIn) -> bool:
    """Whether the task or doc that gets the report is deleted."""
    subject = check_in.task or check_in.doc
    return subject is not None and subject.deleted_at is not None


def tell_pages(check_in: CheckIn) -> None:
    """Let open pages of the project read the check-in again."""
    project_changed.send(
        sender=CheckIn,
        project_id=check_in.agent.project_id,
        noun="check_in",
        id=check_in.pk,
    )


def _reason_to_skip(check_in: CheckIn, slot: datetime, now: datetime) -> SkipReason | None:
    agent = check_in.agent
    if agent.status == Agent.Status.PAUSED:
        return SkipReason.AGENT_PAUSED
    if agent.status == Agent.Status.INACTIVE:
        return SkipReason.AGENT_INACTIVE
    # guard: late-slot-outside-of-the-active-hours
    if now - slot > GRACE and not check_in_slots.is_active(check_in.schedule, now):
        return SkipReason.OUTSIDE_HOURS
    if report_is_deleted(check_in):
        return SkipReason.REPORT_DELETED
    # guard: check-in-waits-for-the-former-one
    if is_busy(check_in):
        return SkipReason.BUSY
    return SkipReason.BUDGET_REACHED if _budget_is_reached(agent) else None


def _budget_is_reached(agent: Agent) -> bool:
    """Whether the agent's budget of the day or the project's of the month is used up. One that is not set costs nothing."""
    day = agent.limit_day_tokens is not None or agent.limit_day_cost_usd is not None
    project = agent.project
    month = project.limit_month_tokens is not None or project.limit_month_cost_usd is not None
    return (day and budget_report.of_day(agent).is_reached) or (
        month and budget_report.of_month(project).is_reached
    )


def _open_tasks(check_in: CheckIn) -> list[Task]:
    """The most urgent open tasks that are assigned to the agent."""
    found = Task.objects.for_project(check_in.agent.project).open()
    mine = found.filter(assignees=check_in.agent.member).select_related("project", "status")
    return list(mine.order_by("-priority", "number")[:MAX_TASKS])


# --- history ------------------------------------------------------------------------------------------


def _record_missed(check_in: CheckIn, slot: DueSlot) -> None:
    if slot.last_missed is not None:
        _record_skip(check_in, SkipReason.MISSED, slot.last_missed, count=slot.missed)


def _record_skip(
    check_in: CheckIn, reason: SkipReason, slot: datetime, *, count: int = 1
) -> CheckInRun:
    """Store why a slot did not run. Skips for the same reason in a row are one entry with their number."""
    known = check_in.runs.filter(slot_at=slot).first()
    if known is not None:
        return known
    newest = check_in.runs.first()
    if newest is not None and newest.reason == reason:
        check_in.runs.filter(pk=newest.pk).update(slot_at=slot, count=F("count") + count)
        newest.refresh_from_db()
        return newest
    run = CheckInRun.objects.create(
        check_in=check_in,
        slot_at=slot,
        outcome=CheckInOutcome.SKIPPED,
        reason=reason,
        count=count,
    )
    _forget_old(check_in)
    tell_pages(check_in)
    return run


def _forget_old(check_in: CheckIn) -> None:
    """Keep the newest ``KEPT_RUNS`` entries of the history. Conversations stay."""
    old = check_in.runs.values_list("pk", flat=True)[KEPT_RUNS : KEPT_RUNS + BATCH]
    CheckInRun.objects.filter(pk__in=list(old)).delete()
