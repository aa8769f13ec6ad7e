"""Which description of a task the model has last read, so that it does not overwrite a newer one."""

from __future__ import annotations

import hashlib

from paca.common.errors import Conflict
from paca.common.text import to_utf8
from paca.engine.tools.base import ToolContext
from paca.projects.models import Task


def remember_description(context: ToolContext, task: Task) -> None:
    """Record that the model knows the description of the task as it is now."""
    context.seen_files[_name(task)] = _digest(task)


def require_known_description(context: ToolContext, task: Task) -> None:
    """Raises ``Conflict`` if the task has a description that the model has not read, or not since its change."""
    if task.description and context.seen_files.get(_name(task)) != _digest(task):
        raise Conflict(
            f"The description of {task.key} is not the one that you have read, so nothing was changed."
            " Read the task with read_task, then write the whole new description."
        )


def _name(task: Task) -> str:
    # No path of the workspace contains NUL.
    return f"\0task {task.pk}"


def _digest(task: Task) -> str:
    return hashlib.sha256(to_utf8(task.description)).hexdigest()
