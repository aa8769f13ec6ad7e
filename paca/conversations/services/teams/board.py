"""The plan of a team: tasks of the project, of which each is claimed once.

The caller has locked the project and then the lead. So claims of one project pass one after another; the constraint
``task_is_claimed_once`` keeps what a fault of this order would do out of the database.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet

from paca import events
from paca.common.errors import Conflict
from paca.conversations import store
from paca.conversations.models import Conversation, Teammate, TeamTask
from paca.engine.teams.requests import MAX_TASKS
from paca.projects import permissions
from paca.projects.models import Member, Task
from paca.projects.models.task import TaskAssignee, TaskDependency
from paca.projects.models.task_settings import StatusCategory
from paca.projects.services import tasks

DONE = StatusCategory.DONE


def add(lead: Conversation, found: Iterable[Task], *, member: Member) -> None:
    """Put tasks into the plan. One that was closed without being done can be claimed once more.

    Raises ``Conflict`` if a task is assigned to somebody else, or if there are too many; nothing is added then.
    """
    for task in found:
        _require_free(task, member)
        row, is_new = TeamTask.objects.get_or_create(lead=lead, task=task)
        if not is_new and row.closed_at is not None and task.status.category != DONE:
            row.teammate, row.claimed_at, row.closed_at = None, None, None
            row.save()
    # guard: team-plan-is-capped
    if TeamTask.objects.filter(lead=lead).count() > MAX_TASKS:
        raise Conflict(f"The plan of a team has at most {MAX_TASKS} tasks. Nothing was added.")
    tell(lead)


def _require_free(task: Task, member: Member) -> None:
    others = [each.handle for each in task.assignees.all() if each.pk != member.pk]
    # guard: team-takes-no-task-of-others
    if others:
        names = ", ".join(f"@{handle}" for handle in others)
        raise Conflict(f"{task.key} is assigned to {names}. Nothing was done.")


def claimable(**of_lead: Any) -> QuerySet[TeamTask]:
    """The tasks of plans that nobody has claimed, that are open, and that wait for no other open task."""
    blockers = TaskDependency.objects.filter(
        task=OuterRef("task"), blocked_by__deleted_at=None
    ).exclude(blocked_by__status__category=DONE)
    elsewhere = TeamTask.objects.filter(
        task=OuterRef("task"), claimed_at__isnull=False, closed_at=None
    )
    of_others = TaskAssignee.objects.filter(task=OuterRef("task")).exclude(
        member__agent=OuterRef("lead__agent")
    )
    found = TeamTask.objects.filter(claimed_at=None, task__deleted_at=None, **of_lead)
    found = found.exclude(task__status__category=DONE)
    # guard: blocked-task-is-not-claimed
    found = found.filter(~Exists(blockers.order_by()))
    # guard: task-of-others-is-not-claimed
    found = found.filter(~Exists(of_others.order_by()))
    return found.filter(~Exists(elsewhere.order_by())).order_by(
        "-task__priority", "created_at", "pk"
    )


def claim_next(mate: Teammate, lead: Conversation, *, now: datetime) -> Task | None:
    """Claim the next task of the plan for an idle teammate; None if there is none, or its role may change none."""
    row = claimable(lead=lead).select_related("task__project", "task__status").first()
    if row is None:
        return None
    member = Member.objects.live().select_related("role").filter(agent=lead.agent).first()
    # guard: team-claims-by-its-role
    if member is None or not permissions.allows(member, "tasks:write"):
        return None
    return _claim(row, mate, member=member, now=now)


def claim(mate: Teammate, lead: Conversation, task: Task, *, member: Member, now: datetime) -> Task:
    """Claim this task for a teammate: one of the plan, or an unassigned one.

    Raises ``Conflict`` if it has a task already, or if the task is done, blocked, assigned or claimed.
    """
    # guard: teammate-has-one-task
    if (held := open_claims(mate).first()) is not None:
        raise Conflict(f"You have {held.task.key} already. End your turn with its report first.")
    _require_free(task, member)
    row, _ = TeamTask.objects.get_or_create(lead=lead, task=task)
    if row.closed_at is not None and task.status.category != DONE:
        raise Conflict(f"{task.key} was claimed and given back. The lead can add it again.")
    if not claimable(pk=row.pk).exists():
        raise Conflict(f"{task.key} is done, blocked by an open task, or claimed already.")
    return _claim(row, mate, member=member, now=now)


def _claim(row: TeamTask, mate: Teammate, *, member: Member, now: datetime) -> Task:
    """Claim by a compare-and-swap, and let people see who works on the task."""
    # guard: task-is-claimed-once
    mine = TeamTask.objects.filter(pk=row.pk, claimed_at=None)
    if not mine.update(claimed_at=now, teammate=mate):
        raise Conflict("Somebody else has claimed the task.")
    task = row.task
    tasks.lock(task)
    changes: dict[str, Any] = {"assignees": [member]}
    begun = task.project.statuses.filter(category=StatusCategory.IN_PROGRESS).first()
    if begun is not None and task.status.category in (StatusCategory.BACKLOG, StatusCategory.TODO):
        changes["status"] = begun
    tasks.change_locked(task, by=member, **changes)
    tell(mate.lead)
    return task


def open_claims(mate: Teammate) -> QuerySet[TeamTask]:
    """The claims of a teammate that are not closed."""
    found = TeamTask.objects.filter(teammate=mate, claimed_at__isnull=False, closed_at=None)
    return found.select_related("task__project", "task__status")


def close(mate: Teammate, *, now: datetime) -> list[TeamTask]:
    """Close the claims of a teammate whose turn has ended; gives them. The lead hears which are still open."""
    found = list(open_claims(mate))
    if found:
        TeamTask.objects.filter(pk__in=[each.pk for each in found]).update(closed_at=now)
        tell(mate.lead)
    return found


def facts(lead: Conversation) -> list[dict[str, Any]]:
    """The plan as events and the API tell it."""
    rows = TeamTask.objects.filter(Q(lead=lead), task__deleted_at=None)
    rows = rows.select_related("task__project", "task__status", "teammate")
    return [
        {
            "task": row.task.key,
            "title": row.task.title,
            "state": _state(row),
            "teammate": row.teammate.name if row.teammate else "",
        }
        for row in rows
    ]


def _state(row: TeamTask) -> str:
    if row.task.status.category == DONE:
        return "done"
    if row.claimed_at is None:
        return "open"
    return "claimed" if row.closed_at is None else "closed"


def tell(lead: Conversation) -> None:
    """Store the plan in the log of the lead."""
    store.append(lead.pk, events.BoardChanged(tasks=facts(lead)))
