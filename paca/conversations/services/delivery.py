"""Brings assignments, mentions and ends of assignments to the conversations of agents, after their commit."""

from __future__ import annotations

import logging
from contextlib import suppress
from datetime import timedelta
from uuid import UUID

from django.conf import settings
from django.db import DatabaseError, transaction
from django.utils import timezone

from paca.agents.models import Agent
from paca.common import disk_space
from paca.common.best_effort import tolerated
from paca.common.errors import PacaError
from paca.conversations.models import PendingKind, PendingTrigger, TriggerType
from paca.conversations.services import assignments, hops, lifecycle, refusals
from paca.conversations.services.assignments import Cause
from paca.projects.models import Comment, Doc, Member, Task
from paca.projects.services import comments

logger = logging.getLogger(__name__)

# The process of the cause delivers at once. After this time a worker does.
FIRST_WAIT_SECONDS = 2.0
MAX_WAIT_SECONDS = 300.0
BATCH = 20
# A request does not wait for more deliveries to one agent than this; a worker makes the others.
MAX_AT_ONCE = 10


def request(
    kind: PendingKind,
    agent: Agent,
    subject: Task | Doc,
    *,
    by: Member | None,
    comment: Comment | None = None,
) -> None:
    """Store a trigger for the agent in the transaction of its cause, and deliver it after the commit.

    Behind ``MAX_AT_ONCE`` triggers that wait for the same agent it is left to the workers.
    """
    is_left = PendingTrigger.objects.filter(agent=agent)[:MAX_AT_ONCE].count() == MAX_AT_ONCE
    wait = timedelta(seconds=0 if is_left else FIRST_WAIT_SECONDS)
    pending = PendingTrigger.objects.create(
        kind=kind,
        agent=agent,
        task=subject if isinstance(subject, Task) else None,
        doc=subject if isinstance(subject, Doc) else None,
        comment=comment,
        by=by,
        hops=hops.count(by, comment=comment),
        due_at=timezone.now() + wait,
    )
    if is_left:
        return
    # Robust: a fault here must not answer a request with an error whose work is committed. A function
    # of its own: Django's log names it.
    transaction.on_commit(lambda: deliver(pending.pk), robust=True)


def deliver_due() -> int:
    """Deliver the triggers that were left to the workers or by a process that died, up to ``BATCH``.

    Gives their number. Workers ask every second, and at once after a full batch.
    """
    due = PendingTrigger.objects.filter(due_at__lte=timezone.now()).order_by("due_at")
    found = list(due[:BATCH])
    for pending in found:
        # Postponed before it is tried: one that fails, however it fails, does not hold up the others.
        with tolerated("delivery of a trigger"):
            _postpone(pending)
            deliver(pending.pk)
    return len(found)


def deliver(pending_id: UUID) -> None:
    """Deliver one trigger. The reason of a failure is stored with it, and a worker tries it again."""
    try:
        _deliver(pending_id)
    except (PacaError, DatabaseError) as error:
        logger.exception("trigger not delivered", extra={"trigger": str(pending_id)})
        reason = f"{type(error).__name__}: {error}"[:1000]
        with suppress(DatabaseError):
            PendingTrigger.objects.filter(pk=pending_id).update(last_error=reason)


def _postpone(pending: PendingTrigger) -> None:
    wait = min(FIRST_WAIT_SECONDS * 2 ** min(pending.attempts + 1, 10), MAX_WAIT_SECONDS)
    PendingTrigger.objects.filter(pk=pending.pk).update(
        attempts=pending.attempts + 1, due_at=timezone.now() + timedelta(seconds=wait)
    )


@transaction.atomic
def _deliver(pending_id: UUID) -> None:
    rows = PendingTrigger.objects.select_for_update(of=("self",), skip_locked=True)
    related = ("agent", "task__project", "doc__project", "comment__parent", "by__user", "by__agent")
    pending = rows.select_related(*related).filter(pk=pending_id).first()
    if pending is None:
        return  # another process delivers it
    assignments.lock_agent(pending.agent)
    if _has_to_wait(pending):
        return
    # Not ``pending.delete()``: the key of its message stays in ``pending``.
    PendingTrigger.objects.filter(pk=pending_id).delete()
    agent = Agent.objects.get(pk=pending.agent_id)
    member = Member.objects.live().with_names().filter(agent=agent).first()
    subject = pending.task or pending.doc
    assert subject is not None
    if member is None or not _is_wanted(pending, subject, member):
        return
    if pending.kind == PendingKind.TASK_UNASSIGNED:
        assert pending.task is not None
        lifecycle.stop_unassigned(agent, pending.task, by=pending.by)
    else:
        _give(pending, agent, subject, member)


def _has_to_wait(pending: PendingTrigger) -> bool:
    """Whether an earlier end of the agent's assignment has to come first: its stop would discard the mention."""
    earlier = PendingTrigger.objects.filter(
        kind=PendingKind.TASK_UNASSIGNED,
        agent=pending.agent_id,
        task=pending.task_id,
        created_at__lt=pending.created_at,
    )
    # guard: mention-comes-after-the-stop
    return pending.kind == PendingKind.COMMENT_MENTION and earlier.exists()


def _give(pending: PendingTrigger, agent: Agent, subject: Task | Doc, member: Member) -> None:
    """Give the agent its work, or let it say why it does not start."""
    if refusal := refusals.find(agent, subject, hops=pending.hops):
        refusals.say(refusal, subject, member=member, comment=pending.comment)
        return
    disk_space.require_space(settings.PACA_DATA_DIR)
    cause = Cause(
        kind=TriggerType(pending.kind),
        by=pending.by,
        comment=pending.comment,
        text=pending.comment.text if pending.comment else "",
        key=str(pending.pk),
        hops=pending.hops,
    )
    assignments.begin_or_continue(agent, subject, cause)


def _is_wanted(pending: PendingTrigger, subject: Task | Doc, member: Member) -> bool:
    """Whether the cause still stands: nothing is deleted, the task is still assigned or still not, and the
    comment still mentions the agent."""
    if member.agent is None or member.agent.deleted_at is not None:
        return False
    if subject.deleted_at is not None or subject.project.deleted_at is not None:
        return False
    if pending.task is not None and pending.kind != PendingKind.COMMENT_MENTION:
        is_assigned = pending.task.assignees.filter(pk=member.pk).exists()
        return is_assigned == (pending.kind == PendingKind.TASK_ASSIGNED)
    # guard: mention-that-was-edited-away
    return pending.comment is not None and comments.confirm_mention(pending.comment, member)
