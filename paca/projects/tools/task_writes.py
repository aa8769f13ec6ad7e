"""The tools that create and change tasks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from pydantic import Field

from paca.common.errors import Invalid
from paca.engine.tools.base import Effect, ToolArguments, ToolContext
from paca.engine.tools.formatting import to_one_line
from paca.projects.models import ActivityKind, Project, Task
from paca.projects.models.task import MAX_DESCRIPTION_CHARACTERS
from paca.projects.services import tasks
from paca.projects.tools import lookup, text
from paca.projects.tools.arguments import (
    NO_POINTS,
    Date,
    Keys,
    Name,
    Names,
    NonEmptyText,
    Points,
    StorableText,
    TaskKey,
)
from paca.projects.tools.base import Caller, ProjectTool
from paca.projects.tools.seen import remember_description, require_known_description

PriorityName = Literal["none", "low", "medium", "high", "urgent"]


class _TaskFields(ToolArguments):
    """The fields that a new task and a change of a task have in common."""

    description: StorableText | None = Field(
        default=None,
        max_length=MAX_DESCRIPTION_CHARACTERS,
        description="The whole text, in Markdown.",
    )
    status: Name | None = Field(default=None, description="A status, such as Done.")
    type: Name | None = Field(default=None, description="A task type, such as Bug.")
    priority: PriorityName | None = Field(default=None, description="The urgency.")
    assignees: Names | None = Field(
        default=None, description="The handles of all. An agent begins to work at once."
    )
    labels: Names | None = Field(default=None, description="All labels.")
    sprint: Name | None = Field(default=None, description="A sprint; empty for none.")
    parent: Name | None = Field(default=None, description="A task; empty for none.")
    blocked_by: Keys | None = Field(default=None, description="All tasks that must be done before.")
    story_points: Points | None = Field(
        default=None,
        description=f"The estimated size; {NO_POINTS} for none.",
    )
    start_date: Date | None = Field(default=None, description="YYYY-MM-DD; empty for none.")
    due_date: Date | None = Field(default=None, description="YYYY-MM-DD; empty for none.")


class CreateTask(ProjectTool["CreateTask.Arguments"]):
    """Create a task. Look with search_project first whether there is one already.

    Fields that you leave out get the project's defaults.
    """

    name = "create_task"
    effect = Effect.KEYED
    permission = "tasks:write"

    class Arguments(_TaskFields):
        title: NonEmptyText = Field(max_length=200, description="What to do, in a few words.")

    def subject(self, arguments: Arguments) -> str:
        return to_one_line(arguments.title)

    def act_on(self, caller: Caller, arguments: Arguments, context: ToolContext) -> str:
        fields = _named_fields(caller.project, arguments)
        task = tasks.create(caller.project, title=arguments.title, by=caller.member, **fields)
        remember_description(context, task)
        return f"Created {task.key}, status {task.status.name}: {task.title}"


class UpdateTask(ProjectTool["UpdateTask.Arguments"]):
    """Change a task: set its status, assign it, or change any other field.

    Fields that you leave out stay as they are. Lists replace the present ones, so name all that shall
    be there. Read the task before you replace its description.
    """

    name = "update_task"
    effect = Effect.KEYED
    permission = "tasks:write"

    class Arguments(_TaskFields):
        task: TaskKey
        title: NonEmptyText | None = Field(
            default=None, max_length=200, description="The new title."
        )

    def subject(self, arguments: Arguments) -> str:
        return text.task_subject(arguments.task)

    def act_on(self, caller: Caller, arguments: Arguments, context: ToolContext) -> str:
        """Raises ``Invalid`` if no field is given, and what the service raises."""
        task = lookup.task(caller.project, arguments.task)
        fields = _named_fields(caller.project, arguments)
        if arguments.title is not None:
            fields["title"] = arguments.title
        if not fields:
            raise Invalid(f"Nothing was changed: name at least one field of {task.key} to change.")
        if arguments.description is not None:
            require_known_description(context, task)
        before = task.activities.count()
        task = tasks.change(task, by=caller.member, **fields)
        if arguments.description is not None:
            remember_description(context, task)
        return _told_changes(task, before)


def _named_fields(project: Project, arguments: _TaskFields) -> dict[str, Any]:
    """The given fields, with the rows that they name. Raises ``NotFound`` or ``Invalid``."""
    given = {
        name: value
        for name, value in arguments.model_dump(exclude={"task", "title"}).items()
        if value is not None
    }
    for name, value in given.items():
        if name in ("start_date", "due_date"):
            given[name] = lookup.day(value, field=name)
        elif name == "story_points":
            given[name] = None if value == NO_POINTS else value
        elif finds := _FINDERS.get(name):
            given[name] = finds(project, value)
    return given


_FINDERS: dict[str, Callable[[Project, Any], Any]] = {
    "status": lambda project, name: lookup.named(project.statuses.all(), name, noun="status"),
    "type": lambda project, name: lookup.named(project.task_types.all(), name, noun="task type"),
    "sprint": lambda project, name: lookup.sprint(project, name) if name.strip() else None,
    "parent": lambda project, key: lookup.task(project, key) if key.strip() else None,
    "assignees": lookup.members,
    "blocked_by": lookup.tasks,
}


def _told_changes(task: Task, before: int) -> str:
    """The changes as the timeline has them; ``before`` is the number of its entries before."""
    entries = task.activities.filter(kind=ActivityKind.TASK_UPDATED).order_by("created_at", "id")
    if task.activities.count() == before:
        return f"{task.key} is so already: nothing was changed."
    last = entries.last()
    words = [text.change_words(change) for change in (last.changes if last else [])]
    return f"Changed {task.key}. " + "; ".join(words)
