"""Services for the statuses and the types of a project's tasks."""

from collections.abc import Sequence
from typing import Any, TypeVar

from django.db import transaction
from django.utils import timezone

from paca.common import validation
from paca.common.errors import Conflict, Invalid
from paca.projects import signals
from paca.projects.models import ActivityKind, Member, Project, TaskStatus, TaskType
from paca.projects.services import timeline
from paca.projects.services.tasks import lock_project

Row = TypeVar("Row", TaskStatus, TaskType)

MAX_STATUSES = 50
CHANGEABLE = {TaskStatus: ("name", "category"), TaskType: ("name",)}
FIELDS: dict[type, str] = {TaskStatus: "status", TaskType: "type"}
NOUNS: dict[type, str] = {TaskStatus: "status", TaskType: "task_type"}


class InUse(Conflict):
    """Tasks have this status or type; name another one for them."""

    code = "in_use"


class LastOne(Conflict):
    """A project needs at least one status and one task type; add another one first."""

    code = "last_one"


@transaction.atomic
def add_status(project: Project, *, name: str, category: str, by: Member | None) -> TaskStatus:
    """Add a status behind the others. Raises ``Invalid`` if the name is taken or a value is not valid."""
    return _add(TaskStatus(project=project, name=name, category=category))


@transaction.atomic
def add_type(project: Project, *, name: str, by: Member | None) -> TaskType:
    """Add a task type behind the others. Raises ``Invalid`` if the name is taken or not valid."""
    return _add(TaskType(project=project, name=name))


@transaction.atomic
def change(row: Row, *, by: Member | None, **changes: Any) -> Row:
    """Change the name of a status or a type, or the category of a status.

    Raises ``Invalid`` if the name is taken or a value is not valid, and ``TypeError`` for any other
    field.
    """
    for field, value in changes.items():
        if field not in CHANGEABLE[type(row)]:
            raise TypeError(f"{field!r} of a {FIELDS[type(row)]} cannot be changed")
        setattr(row, field, value)
    validation.check(row)
    row.save()
    _tell(row)
    return row


@transaction.atomic
def reorder(project: Project, rows: Sequence[Row], *, by: Member | None) -> None:
    """Put all statuses, or all types, of the project in this order. New tasks get the first one.

    Raises ``Invalid`` if one is missing or named twice.
    """
    lock_project(project.pk)
    model = type(rows[0]) if rows else TaskStatus
    present = set(model.objects.filter(project=project).values_list("pk", flat=True))
    if len(rows) != len(present) or {row.pk for row in rows} != present:
        raise Invalid(fields={"ids": ["Name each of them once."]})
    for position, row in enumerate(rows):
        row.position = position
        row.save(update_fields=["position", "updated_at"])
    _tell(rows[0])


@transaction.atomic
def delete(row: Row, *, replacement: Row | None = None, by: Member | None) -> None:
    """Delete a status or a type. Its tasks get the replacement, and their timelines tell it.

    Raises ``InUse`` if tasks have it and there is no replacement, ``LastOne`` if the project has no
    other, and ``Invalid`` if the replacement is the same or of another project.
    """
    lock_project(row.project_id)
    if not type(row).objects.filter(project_id=row.project_id).exclude(pk=row.pk).exists():
        raise LastOne
    if replacement is not None and (
        replacement.pk == row.pk or replacement.project_id != row.project_id
    ):
        raise Invalid(fields={"replacement_id": ["Name another one of this project."]})
    if replacement is not None:
        _replace(row, replacement, by=by)
    elif row.tasks.exists():
        raise InUse
    _tell(row)
    row.delete()


def _add(row: Row) -> Row:
    lock_project(row.project_id)
    present = type(row).objects.filter(project_id=row.project_id)
    if present.count() >= MAX_STATUSES:
        raise Invalid(f"A project has at most {MAX_STATUSES} of these.")
    last = present.order_by("-position").first()
    row.position = 0 if last is None else last.position + 1
    validation.check(row)
    row.save(force_insert=True)
    _tell(row)
    return row


def _replace(row: Row, replacement: Row, *, by: Member | None) -> None:
    """Give the replacement to all tasks of the row, deleted tasks too."""
    field = FIELDS[type(row)]
    told = timeline.change_of(field, row.name, replacement.name)
    alive = row.tasks.filter(deleted_at__isnull=True).only("pk", "project_id")
    timeline.record_for_tasks(alive, ActivityKind.TASK_UPDATED, actor=by, changes=[told])
    row.tasks.update(**{field: replacement}, updated_at=timezone.now())
    signals.project_changed.send(
        sender=type(row), project_id=row.project_id, noun="board", id=row.project_id
    )


def _tell(row: TaskStatus | TaskType) -> None:
    signals.project_changed.send(
        sender=type(row), project_id=row.project_id, noun=NOUNS[type(row)], id=row.pk
    )
