"""Turns the ids and numbers in the input of a task into the fields of the services."""

from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

from paca.common.errors import Invalid, NotFound
from paca.projects import selectors
from paca.projects.models import Member, Project, Task

MEMBERS = {
    "assignee_ids": "assignees",
    "add_assignee_ids": "add_assignees",
    "remove_assignee_ids": "remove_assignees",
}


def to_fields(project: Project, given: Mapping[str, Any]) -> dict[str, Any]:
    """The fields for ``tasks.create`` and ``tasks.change``, with the objects that ``given`` names.

    Members, status, type and sprint are named by id: ``assignee_ids``, ``status_id``, ``type_id``,
    ``sprint_id``. Tasks are named by number: ``parent``, ``blocked_by``, ``before``, ``after``. All
    other names stay as they are. Raises ``NotFound`` for an id that the project does not have, and
    ``Invalid`` for a number that it does not have.
    """
    fields: dict[str, Any] = {}
    for name, value in given.items():
        if name in MEMBERS:
            fields[MEMBERS[name]] = find_members(project, value)
        elif name == "status_id":
            fields["status"] = selectors.get_status(project, value)
        elif name == "type_id":
            fields["type"] = selectors.get_type(project, value)
        elif name == "sprint_id":
            fields["sprint"] = value and selectors.get_sprint(project, value)
        elif name == "blocked_by":
            fields[name] = find_tasks(project, name, value)
        elif name in {"parent", "before", "after"}:
            fields[name] = None if value is None else find_tasks(project, name, [value])[0]
        else:
            fields[name] = value
    return fields


def find_members(project: Project, ids: Iterable[UUID]) -> list[Member]:
    """Members of the project, removed ones too, in the order of the ids; one query.

    Raises ``NotFound`` if the project does not have one.
    """
    wanted = list(dict.fromkeys(ids))
    rows = Member.objects.with_names().filter(project=project, pk__in=wanted)
    found = {member.pk: member for member in rows}
    if missing := [str(each) for each in wanted if each not in found]:
        raise NotFound(f"The project has no member {', '.join(missing)}.")
    return [found[each] for each in wanted]


def find_tasks(project: Project, field: str, numbers: Iterable[int]) -> list[Task]:
    """Tasks of the project in the order of the numbers; one query.

    Raises ``Invalid`` if the project does not have one, or it is deleted.
    """
    wanted = list(dict.fromkeys(numbers))
    rows = Task.objects.for_project(project).filter(number__in=wanted).select_related("project")
    found = {task.number: task for task in rows}
    if missing := [f"{project.prefix}-{each}" for each in wanted if each not in found]:
        raise Invalid(fields={field: [f"There is no task {', '.join(missing)}."]})
    return [found[each] for each in wanted]
