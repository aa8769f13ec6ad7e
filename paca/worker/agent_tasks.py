"""The open tasks of a running agent, as its model reads them after a summary."""

from __future__ import annotations

from contextlib import suppress

from paca.common.best_effort import tolerated
from paca.common.errors import NotAllowed
from paca.projects.models import Task
from paca.projects.tools import text
from paca.projects.tools.base import Caller, ProjectAccess

MAX_TASKS = 20


async def read_open_tasks(access: ProjectAccess) -> str:
    """The tasks that are assigned to the agent and not done, one a line; empty if there are none.

    An agent whose role may not read tasks is told none. A summary does without them if they cannot be read.
    """
    with tolerated("open tasks"), suppress(NotAllowed):
        return await access.read("tasks:read", _open_tasks)
    return ""


def _open_tasks(caller: Caller) -> str:
    found = (
        Task.objects.for_project(caller.project)
        .open()
        .filter(assignees=caller.member)
        .order_by("-number")
        .select_related("project", "status")
        .prefetch_related("assignees__user", "assignees__agent", "labels")[: MAX_TASKS + 1]
    )
    lines = [text.task_line(task) for task in found]
    if not lines:
        return ""
    more = ["[more; list_tasks shows them]"] if len(lines) > MAX_TASKS else []
    return "\n".join(["Your open tasks in this project:", *lines[:MAX_TASKS], *more])
