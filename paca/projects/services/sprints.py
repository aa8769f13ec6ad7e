"""Services for sprints."""

from typing import Any

from django.db import transaction
from django.utils import timezone

from paca.common import validation
from paca.common.errors import Conflict, Invalid
from paca.projects import signals
from paca.projects.models import ActivityKind, Member, Project, Sprint, SprintStatus, Task
from paca.projects.models.task import TaskQuerySet
from paca.projects.services import timeline
from paca.projects.services.tasks import lock_project

CHANGEABLE = ("name", "goal", "start_date", "end_date")


class SprintNotPlanned(Conflict):
    """Only a planned sprint can be started."""

    code = "sprint_not_planned"


class SprintNotActive(Conflict):
    """Only an active sprint can be completed."""

    code = "sprint_not_active"


@transaction.atomic
def create(project: Project, *, name: str, by: Member | None, **fields: Any) -> Sprint:
    """Make a planned sprint; ``fields`` may be ``goal``, ``start_date`` and ``end_date``.

    Raises ``Invalid`` if the name is taken or a value is not valid, and ``TypeError`` for any other
    field.
    """
    sprint = Sprint(project=project)
    _set(sprint, {"name": name, **fields})
    sprint.save(force_insert=True)
    _tell(sprint)
    return sprint


@transaction.atomic
def change(sprint: Sprint, *, by: Member | None, **fields: Any) -> Sprint:
    """Change the name, the goal or the dates.

    Raises ``Invalid`` if the name is taken or a value is not valid, and ``TypeError`` for any other
    field.
    """
    _lock(sprint)
    _set(sprint, fields)
    sprint.save()
    _tell(sprint)
    return sprint


@transaction.atomic
def start(sprint: Sprint, *, by: Member | None) -> Sprint:
    """Make a planned sprint active; without a start date it starts today.

    Raises ``SprintNotPlanned`` if it is active or completed, and ``Invalid`` if it ends before today and
    has no start date.
    """
    _lock(sprint)
    if sprint.status != SprintStatus.PLANNED:
        raise SprintNotPlanned
    sprint.status = SprintStatus.ACTIVE
    sprint.start_date = sprint.start_date or timezone.localdate()
    _check(sprint)
    sprint.save()
    _tell(sprint)
    return sprint


@transaction.atomic
def complete(sprint: Sprint, *, move_to: Sprint | None = None, by: Member | None) -> int:
    """End an active sprint. Its open tasks go to ``move_to``, or to no sprint. Gives their number.

    Raises ``SprintNotActive`` if it is not active, and ``Invalid`` if ``move_to`` is the same sprint,
    completed or of another project.
    """
    _lock(sprint)
    if sprint.status != SprintStatus.ACTIVE:
        raise SprintNotActive
    if move_to is not None:
        move_to.refresh_from_db()
        _check_target(sprint, move_to)
    sprint.status, sprint.completed_at = SprintStatus.COMPLETED, timezone.now()
    sprint.save()
    moved = _move_tasks(Task.objects.filter(sprint=sprint).open(), sprint, move_to, by=by)
    _tell(sprint)
    return moved


@transaction.atomic
def delete(sprint: Sprint, *, by: Member | None) -> None:
    """Delete a sprint. Its tasks stay, in no sprint."""
    _lock(sprint)
    _move_tasks(Task.objects.filter(sprint=sprint), sprint, None, by=by)
    _tell(sprint)
    sprint.delete()


def _lock(sprint: Sprint) -> None:
    lock_project(sprint.project_id)
    sprint.refresh_from_db()


def _set(sprint: Sprint, fields: dict[str, Any]) -> None:
    for name, value in fields.items():
        if name not in CHANGEABLE:
            raise TypeError(f"a sprint's {name!r} cannot be set")
        setattr(sprint, name, value)
    _check(sprint)


def _check(sprint: Sprint) -> None:
    validation.require_order(sprint, "start_date", "end_date")
    validation.check(sprint)


def _check_target(sprint: Sprint, target: Sprint) -> None:
    if target.project_id != sprint.project_id or target.pk == sprint.pk:
        raise Invalid(fields={"move_to_id": ["Name another sprint of this project."]})
    if target.status == SprintStatus.COMPLETED:
        raise Invalid(
            fields={"move_to_id": [f"{target.name} is completed and takes no more tasks."]}
        )


def _move_tasks(
    found: TaskQuerySet, sprint: Sprint, target: Sprint | None, *, by: Member | None
) -> int:
    """Move tasks of the sprint, deleted ones too. Gives the number of those that are not deleted."""
    told = timeline.change_of("sprint", sprint.name, None if target is None else target.name)
    alive = list(found.filter(deleted_at__isnull=True).only("pk", "project_id"))
    timeline.record_for_tasks(alive, ActivityKind.TASK_UPDATED, actor=by, changes=[told])
    if found.update(sprint=target, updated_at=timezone.now()):
        signals.project_changed.send(
            sender=Sprint, project_id=sprint.project_id, noun="board", id=sprint.project_id
        )
    return len(alive)


def _tell(sprint: Sprint) -> None:
    signals.project_changed.send(
        sender=Sprint, project_id=sprint.project_id, noun="sprint", id=sprint.pk
    )
