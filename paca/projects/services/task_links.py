"""The rows around a task: its assignees, labels and dependencies, and the checks of what it names."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar
from uuid import UUID

from paca.common import validation
from paca.common.errors import Invalid
from paca.common.text import to_storable
from paca.projects.models import (
    Label,
    Member,
    SprintStatus,
    Task,
    TaskAssignee,
    TaskDependency,
)
from paca.projects.services.timeline import Change, change_of

Row = TypeVar("Row")

MAX_ASSIGNEES = 20
MAX_LABELS = 20
MAX_BLOCKERS = 50


def check_places(task: Task, fields: Mapping[str, Any]) -> None:
    """Check that status, type, parent and sprint belong to the task's project.

    Raises ``Invalid`` if one does not, if the parent is deleted or below the task, or if the sprint is
    completed.
    """
    for name in ("status", "type", "parent", "sprint"):
        row = fields.get(name)
        # guard: task-names-rows-of-its-project
        if row is not None and row.project_id != task.project_id:
            raise Invalid(fields={name: [f"This {name} belongs to another project."]})
    if (parent := fields.get("parent")) is not None:
        _check_parent(task, parent)
    sprint = fields.get("sprint")
    if sprint is None or sprint.pk == task.sprint_id:
        return
    if sprint.status == SprintStatus.COMPLETED:
        raise Invalid(fields={"sprint": [f"{sprint.name} is completed and takes no more tasks."]})


class Reassignment(NamedTuple):
    """The members that a change has assigned and unassigned."""

    added: Sequence[Member] = ()
    gone: Sequence[Member] = ()


NO_REASSIGNMENT = Reassignment()


def set_assignees(task: Task, members: Iterable[Member]) -> tuple[Reassignment, list[Change]]:
    """Make these members the assignees. Gives who has come and gone, and the change in words.

    Raises ``Invalid`` if one is new and is no member of the project, or if there are too many.
    """
    present = [each.member for each in task.assignments.select_related(*_NAMES)]
    wanted = list(dict.fromkeys(members))
    _check_number("assignees", wanted, MAX_ASSIGNEES)
    added = [each for each in wanted if each not in present]
    for member in added:
        # guard: task-is-assigned-to-members
        if member.project_id != task.project_id or member.deleted_at is not None:
            raise Invalid(fields={"assignees": [f"{member.name} is no member of this project."]})
        TaskAssignee.objects.create(task=task, member=member)
    gone = [each for each in present if each not in wanted]
    if gone:
        task.assignments.filter(member__in=gone).delete()
    return Reassignment(added, gone), _change("assignees", present, wanted, lambda each: each.name)


def set_labels(task: Task, names: Iterable[str]) -> list[Change]:
    """Give the task the labels of these names; a label that the project does not have is made.

    Names that differ only in case are one label. Raises ``Invalid`` if a name is empty or too long, or
    if there are too many.
    """
    stored = [to_storable(name).strip() for name in names]
    wanted = list({name.casefold(): name for name in stored}.values())
    _check_number("labels", wanted, MAX_LABELS)
    present = list(task.labels.all())
    if {label.name.casefold() for label in present} == {name.casefold() for name in wanted}:
        return []
    known = {label.name.casefold(): label for label in task.project.labels.all()}
    labels = [known.get(name.casefold()) or _make_label(task, name) for name in wanted]
    task.labels.set(labels)
    return _change("labels", present, labels, lambda each: each.name)


def set_blockers(task: Task, blockers: Iterable[Task]) -> list[Change]:
    """Make these the tasks that the task waits for. The caller holds the lock of the project.

    Raises ``Invalid`` if one is of another project, deleted, or waits for this task itself.
    """
    links = list(task.dependencies.select_related("blocked_by__project"))
    # A deleted task keeps its links, so that it has them again when it is restored.
    present = [each.blocked_by for each in links if each.blocked_by.deleted_at is None]
    wanted = list(dict.fromkeys(blockers))
    _check_number("blocked_by", wanted, MAX_BLOCKERS)
    _check_blockers(task, wanted, kept=present)
    for blocker in wanted:
        if blocker not in present:
            TaskDependency.objects.create(task=task, blocked_by=blocker)
    gone = [each for each in present if each not in wanted]
    if gone:
        task.dependencies.filter(blocked_by__in=gone).delete()
    return _change("blocked_by", present, wanted, lambda each: each.key)


_NAMES = ("member__user", "member__agent", "member__role")


def _change(field: str, old: list[Row], new: list[Row], name: Callable[[Row], str]) -> list[Change]:
    before, after = (", ".join(sorted(map(name, rows))) for rows in (old, new))
    return [] if before == after else [change_of(field, before or None, after or None)]


def _check_number(field: str, rows: list[Any], at_most: int) -> None:
    if len(rows) > at_most:
        raise Invalid(fields={field: [f"A task has at most {at_most}."]})


def _make_label(task: Task, name: str) -> Label:
    label = Label(project=task.project, name=name)
    try:
        validation.check(label)
    except Invalid as error:
        raise Invalid(fields={"labels": error.fields.get("name", [error.detail])}) from None
    label.save()
    return label


def _check_parent(task: Task, parent: Task) -> None:
    if parent.deleted_at is not None:
        raise Invalid(fields={"parent": [f"{parent.key} is deleted."]})
    above = dict(
        Task.objects.filter(project_id=task.project_id, parent__isnull=False).values_list(
            "pk", "parent_id"
        )
    )
    step: UUID | None = parent.pk
    while step is not None:
        # guard: task-parents-are-no-circle
        if step == task.pk:
            raise Invalid(
                fields={
                    "parent": [
                        f"{parent.key} is this task or below it, so it cannot be its parent."
                    ]
                }
            )
        step = above.get(step)


def _check_blockers(task: Task, blockers: list[Task], *, kept: list[Task]) -> None:
    added = [each for each in blockers if each not in kept]
    if not added:
        return
    waiting_for: dict[UUID, list[UUID]] = {}
    links = TaskDependency.objects.filter(task__project_id=task.project_id)
    for waiting, blocker_id in links.values_list("task_id", "blocked_by_id"):
        waiting_for.setdefault(waiting, []).append(blocker_id)
    for blocker in added:
        if blocker.project_id != task.project_id or blocker.deleted_at is not None:
            raise Invalid(fields={"blocked_by": ["One of these tasks is not in this project."]})
        # guard: task-dependencies-are-no-circle
        if _reaches(blocker.pk, task.pk, waiting_for):
            raise Invalid(
                fields={
                    "blocked_by": [f"{blocker.key} waits for this task itself, or is this task."]
                }
            )


def _reaches(start: UUID, goal: UUID, edges: Mapping[UUID, list[UUID]]) -> bool:
    """Whether the edges lead from one to the other."""
    unvisited, seen = [start], {start}
    while unvisited:
        node = unvisited.pop()
        if node == goal:
            return True
        fresh = [each for each in edges.get(node, ()) if each not in seen]
        seen.update(fresh)
        unvisited += fresh
    return False
