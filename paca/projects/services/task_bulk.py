"""Changes many tasks at once: all of them, or none."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.db import transaction

from paca.common.errors import Invalid
from paca.projects.models import Member, Project, Task
from paca.projects.services import tasks

MAX_TASKS = 200
# Changes of a set of which each task keeps the rest: the field, and whether the values come or go.
PARTIAL = {
    "add_assignees": ("assignees", True),
    "remove_assignees": ("assignees", False),
    "add_labels": ("labels", True),
    "remove_labels": ("labels", False),
}


@transaction.atomic
def change(
    project: Project, numbers: Sequence[int], *, by: Member | None, **fields: Any
) -> list[Task]:
    """Make the same change to tasks of the project; all are changed, or none.

    ``fields`` are those of ``tasks.change``, and ``add_assignees``, ``remove_assignees`` (members),
    ``add_labels`` and ``remove_labels`` (names). Gives the tasks in the order of ``numbers``.

    Raises ``Invalid`` if there are too many or none. It also raises ``Invalid`` if a task cannot be
    changed; its fields then name the problem of each such task, as in ``PACA-4.parent``.
    """
    wanted = list(dict.fromkeys(numbers))
    if not 1 <= len(wanted) <= MAX_TASKS:
        raise Invalid(fields={"numbers": [f"Name 1 to {MAX_TASKS} tasks."]})
    tasks.lock_project(project.pk)
    found = {
        task.number: task
        for task in Task.objects.for_project(project).filter(number__in=wanted).with_columns()
    }
    problems: dict[str, list[str]] = {
        f"{project.prefix}-{number}": ["There is no such task."]
        for number in wanted
        if number not in found
    }
    for number in wanted:
        if number in found:
            problems.update(_change_one(found[number], fields, by=by))
    # guard: bulk-changes-all-or-none
    if problems:
        raise Invalid("Nothing was changed: some tasks cannot be changed so.", fields=problems)
    return [found[number] for number in wanted]


def _change_one(
    task: Task, fields: Mapping[str, Any], *, by: Member | None
) -> dict[str, list[str]]:
    """Change one task. Gives what is wrong with it; the caller then rolls all changes back."""
    given = {name: value for name, value in fields.items() if name not in PARTIAL}
    for name in PARTIAL:
        if name in fields:
            target, comes = PARTIAL[name]
            present = given.get(target, _present(task, target))
            given[target] = _merge(present, fields[name], comes=comes)
    try:
        tasks.change_locked(task, by=by, **given)
    except Invalid as error:
        if not error.fields:
            return {task.key: [error.detail]}
        return {f"{task.key}.{name}": texts for name, texts in error.fields.items()}
    return {}


def _present(task: Task, target: str) -> list[Any]:
    if target == "labels":
        return [label.name for label in task.labels.all()]
    return list(task.assignees.all())


def _merge(present: list[Any], named: Iterable[Any], *, comes: bool) -> list[Any]:
    keys = {_key(each) for each in named}
    if comes:
        return [*present, *(each for each in named if _key(each) not in set(map(_key, present)))]
    return [each for each in present if _key(each) not in keys]


def _key(value: Any) -> Any:
    return value.casefold() if isinstance(value, str) else value.pk
