"""Services for tasks. Each of them locks the project first, so that numbers, places and circles are sure."""

from collections.abc import Iterable
from typing import Any, TypeVar

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from paca.common import validation
from paca.common.errors import Invalid, NotFound
from paca.common.text import to_storable
from paca.projects import search_entries, signals
from paca.projects.models import (
    ActivityKind,
    Member,
    Priority,
    Project,
    Task,
    TaskStatus,
    TaskType,
)
from paca.projects.services import notifications, task_links, task_positions, timeline
from paca.projects.services.task_links import NO_REASSIGNMENT, Reassignment
from paca.projects.services.timeline import Change, change_of

Row = TypeVar("Row", TaskStatus, TaskType)

# Fields of the row, in the order in which the timeline names them.
COLUMNS = (
    "title",
    "description",
    "status",
    "type",
    "priority",
    "parent",
    "sprint",
    "story_points",
    "start_date",
    "due_date",
)
SETS = ("assignees", "labels", "blocked_by")
PLACES = ("position", "before", "after")
# ``check_places`` has checked them, or the caller cannot set them.
CHECKED = ("project", "number", "status", "type", "parent", "sprint", "reporter")


@transaction.atomic
def create(project: Project, *, title: str, by: Member | None, **fields: Any) -> Task:
    """Make a task with the next number of the project. The member becomes its reporter.

    ``fields`` are those of ``change``. Without a status or a type it gets the first one; it stands at
    the top of its column. Raises ``Invalid`` if a value is not valid, and ``TypeError`` for an unknown
    field.
    """
    _refuse_unknown(fields)
    Project.objects.filter(pk=project.pk).update(last_task_number=F("last_task_number") + 1)
    project.refresh_from_db(fields=["last_task_number"])
    task = Task(project=project, number=project.last_task_number, reporter=by)
    fields = {
        "title": title,
        "status": fields.pop("status", None) or _first(project.statuses.first(), "status"),
        "type": fields.pop("type", None) or _first(project.task_types.first(), "type"),
        **fields,
    }
    _set_columns(task, fields)
    _check(task)
    task.position = _place(task, fields)
    task.save(force_insert=True)
    reassigned, _ = _set_links(task, fields)
    timeline.record(task, ActivityKind.TASK_CREATED, actor=by)
    search_entries.put(task)
    _tell(task, reassigned, by=by)
    return task


@transaction.atomic
def change(task: Task, *, by: Member | None, **fields: Any) -> Task:
    """Change a task as it is stored now; ``task`` is loaded again. The timeline tells each change.

    ``fields``: ``title``, ``description``, ``status``, ``type``, ``priority`` (a ``Priority`` or its
    lower-case name), ``parent``, ``sprint``, ``story_points``, ``start_date``, ``due_date``,
    ``assignees`` (members), ``labels`` (names), ``blocked_by`` (tasks), and the place on the board as
    ``before`` or ``after`` (another task of the column) or ``position``. A task that comes into
    another column without a place stands at its top.

    Raises ``Invalid`` if a value is not valid, ``NotFound`` if the task is deleted, and ``TypeError``
    for an unknown field.
    """
    lock(task)
    return change_locked(task, by=by, **fields)


def change_locked(task: Task, *, by: Member | None, **fields: Any) -> Task:
    """Change a task as ``change`` does. The caller has locked the project and then loaded the task.

    Raises ``Invalid`` if a value is not valid, and ``TypeError`` for an unknown field.
    """
    _refuse_unknown(fields)
    before = task.status_id
    changes = _set_columns(task, fields)
    is_moved = task.status_id != before or any(name in fields for name in PLACES)
    if changes:
        _check(task)
    if is_moved:
        task.position = _place(task, fields)
    reassigned, told = _set_links(task, fields)
    if changes + told:
        task.save()
        timeline.record(task, ActivityKind.TASK_UPDATED, actor=by, changes=changes + told)
    elif is_moved:
        # A place is no content: somebody who edits the text meanwhile may save it.
        task.save(update_fields=["position"])
    if any(each["field"] in ("title", "description") for each in changes):
        search_entries.put(task)
    if changes or told or is_moved:
        _tell(task, reassigned, by=by)
    return task


def assign(task: Task, *, to: Member, by: Member | None) -> Task:
    """Add an assignee; an agent starts on the task as soon as this commits.

    Raises ``Invalid`` if it is no member of the task's project, and ``NotFound`` if the task is deleted.
    """
    with transaction.atomic():
        lock(task)
        return change(task, by=by, assignees=[*task.assignees.all(), to])


@transaction.atomic
def delete(task: Task, *, by: Member | None) -> None:
    """Delete a task. Its row stays, so it can be restored. Raises ``NotFound`` if it is deleted already."""
    lock(task)
    task.deleted_at = timezone.now()
    task.save(update_fields=["deleted_at", "updated_at"])
    timeline.record(task, ActivityKind.TASK_DELETED, actor=by)
    search_entries.remove(task)
    _tell(task, by=by)


@transaction.atomic
def restore(task: Task, *, by: Member | None) -> Task:
    """Bring a deleted task back with all that it had. A task that is not deleted stays as it is."""
    lock(task, deleted=True)
    if task.deleted_at is not None:
        task.deleted_at = None
        task.save(update_fields=["deleted_at", "updated_at"])
        timeline.record(task, ActivityKind.TASK_RESTORED, actor=by)
        search_entries.put(task, with_comments=True)
        _tell(task, by=by)
    return task


def lock_project(project_id: Any) -> None:
    """Let no other transaction write tasks of the project until this one ends.

    Services lock the project before its agents and tasks, and these before conversations.
    """
    Project.objects.select_for_update(no_key=True).get(pk=project_id)


def lock(task: Task, *, deleted: bool = False) -> None:
    """Lock the task's project and load the task again, with its project, status, type, parent and sprint.

    Raises ``NotFound`` if the task is deleted, unless ``deleted`` allows it.
    """
    # guard: task-writers-wait-for-one-another
    lock_project(task.project_id)
    task.refresh_from_db(from_queryset=Task.objects.with_columns())
    if task.deleted_at is not None and not deleted:
        raise NotFound(f"{task.key} is deleted.")


def _refuse_unknown(fields: Iterable[str]) -> None:
    for name in fields:
        if name not in (*COLUMNS, *SETS, *PLACES):
            raise TypeError(f"a task's {name!r} cannot be set")


def _first(row: Row | None, name: str) -> Row:
    if row is None:
        raise Invalid(fields={name: ["The project has none; add one first."]})
    return row


def _set_columns(task: Task, fields: dict[str, Any]) -> list[Change]:
    """Set the fields of the row, without saving it. Gives the changes in words."""
    task_links.check_places(task, fields)
    for name in ("title", "description"):
        if name in fields:
            fields[name] = to_storable(fields[name])
    if "title" in fields:
        fields["title"] = fields["title"].strip()
    if "priority" in fields:
        fields["priority"] = _priority(fields["priority"])
    changes = []
    for name in COLUMNS:
        if name not in fields:
            continue
        old = None if task._state.adding else getattr(task, name)
        if task._state.adding or old != fields[name]:
            setattr(task, name, fields[name])
            changes.append(change_of(name, _words(name, old), _words(name, fields[name])))
    return changes


def _check(task: Task) -> None:
    """Check the fields, without queries: all that the constraints say is checked before."""
    validation.require_order(task, "start_date", "due_date")
    validation.check_fields(task, exclude=CHECKED)


def _priority(value: Any) -> Priority:
    names = {each.name.lower(): each for each in Priority}
    try:
        return names[value] if isinstance(value, str) else Priority(value)
    except (KeyError, ValueError):
        raise Invalid(fields={"priority": [f"Use one of {', '.join(names)}."]}) from None


def _words(name: str, value: Any) -> str | None:
    """A value as people read it."""
    if value is None or value == "":
        return None
    if name == "priority":
        return Priority(value).name.lower()
    return value.key if isinstance(value, Task) else str(value)


def _place(task: Task, fields: dict[str, Any]) -> float:
    given = [name for name in PLACES if fields.get(name) is not None]
    if len(given) > 1:
        raise Invalid(fields={given[1]: ["Give only one of position, before and after."]})
    if not given:
        return task_positions.at_the_top(task.project_id, task.status_id)
    if given == ["position"]:
        return float(fields["position"])
    return task_positions.beside(task, before=fields.get("before"), after=fields.get("after"))


def _set_links(task: Task, fields: dict[str, Any]) -> tuple[Reassignment, list[Change]]:
    reassigned = NO_REASSIGNMENT
    changes: list[Change] = []
    if "assignees" in fields:
        reassigned, changes = task_links.set_assignees(task, fields["assignees"])
    if "labels" in fields:
        changes = changes + task_links.set_labels(task, fields["labels"])
    if "blocked_by" in fields:
        changes = changes + task_links.set_blockers(task, fields["blocked_by"])
    return reassigned, changes


def _tell(task: Task, reassigned: Reassignment = NO_REASSIGNMENT, *, by: Member | None) -> None:
    """Tell the newly assigned members, the receivers of the signals, and the open pages."""
    for member in reassigned.gone:
        signals.task_unassigned.send(sender=Task, task=task, member=member, by=by)
    for member in reassigned.added:
        notifications.tell_assigned(task, member=member, by=by)
        signals.task_assigned.send(sender=Task, task=task, member=member, by=by)
    signals.project_changed.send(
        sender=Task, project_id=task.project_id, noun="task", id=task.number
    )
