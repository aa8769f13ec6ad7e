"""The tools that list and read tasks."""

from __future__ import annotations

from typing import Literal

from django.db.models import QuerySet
from pydantic import Field

from paca.engine.tools.base import Effect, ToolArguments, ToolContext
from paca.engine.tools.formatting import format_size, to_one_line
from paca.projects.models import Member, Priority, Task
from paca.projects.tools import comments, lookup, text
from paca.projects.tools.arguments import Name, TaskKey
from paca.projects.tools.base import Caller, ProjectTool
from paca.projects.tools.seen import remember_description

MAX_TASKS = 50
MAX_ACTIVITIES = 10
MAX_ATTACHMENTS = 20
MAX_DESCRIPTION_LINES = 2000
# Shares of a tool's output, in bytes.
DESCRIPTION_BYTES = 10_000
LIST_BYTES = 3_000


class ListTasks(ProjectTool["ListTasks.Arguments"]):
    """List tasks of the project, the newest first. All filters that you give must hold.

    Use search_project to find tasks by their words.
    """

    name = "list_tasks"
    effect = Effect.READ_ONLY
    permission = "tasks:read"

    class Arguments(ToolArguments):
        status: Name | None = Field(default=None, description="A status.")
        state: Literal["open", "done", "all"] = Field(
            default="open", description="open: not done yet. Ignored if status is given."
        )
        assignee: Name | None = Field(
            default=None, description='A handle, "me", or "none" for unassigned tasks.'
        )
        label: Name | None = Field(default=None, description="A label.")
        sprint: Name | None = Field(default=None, description="A sprint.")
        parent: Name | None = Field(default=None, description="A task, to list its subtasks.")
        before: int | None = Field(
            default=None, ge=1, description="Only lower numbers, to go on with a list."
        )
        limit: int = Field(default=30, ge=1, le=MAX_TASKS, description="How many at most.")

    def subject(self, arguments: Arguments) -> str:
        chosen = (arguments.status, arguments.assignee, arguments.label, arguments.sprint)
        return to_one_line(", ".join(filter(None, chosen)))

    def act_on(self, caller: Caller, arguments: Arguments, context: ToolContext) -> str:
        found = _filtered(caller, arguments)
        rows = list(
            found.order_by("-number")
            .select_related("project", "status")
            .prefetch_related("assignees__user", "assignees__agent", "labels")[
                : arguments.limit + 1
            ]
        )
        if not rows:
            return "No task fits." if arguments.before is None else "No further task fits."
        lines = [text.task_line(task) for task in rows[: arguments.limit]]
        if len(rows) > arguments.limit:
            lines.append(f"[more; go on with before={rows[arguments.limit - 1].number}]")
        return "\n".join(lines)


def _filtered(caller: Caller, arguments: ListTasks.Arguments) -> QuerySet[Task]:
    project = caller.project
    found = _in_state(caller, arguments)
    if arguments.assignee:
        found = _assigned(found, caller, arguments.assignee)
    if arguments.label:
        label = lookup.named(project.labels.all(), arguments.label, noun="label")
        found = found.filter(labels=label)
    if arguments.sprint:
        found = found.filter(sprint=lookup.sprint(project, arguments.sprint))
    if arguments.parent:
        found = found.filter(parent=lookup.task(project, arguments.parent))
    if arguments.before is not None:
        found = found.filter(number__lt=min(arguments.before, lookup.MAX_NUMBER))
    return found


def _in_state(caller: Caller, arguments: ListTasks.Arguments) -> QuerySet[Task]:
    found = Task.objects.for_project(caller.project)
    if arguments.status:
        statuses = caller.project.statuses.all()
        return found.filter(status=lookup.named(statuses, arguments.status, noun="status"))
    if arguments.state == "open":
        return found.open()
    return found.filter(status__category="done") if arguments.state == "done" else found


def _assigned(found: QuerySet[Task], caller: Caller, assignee: str) -> QuerySet[Task]:
    wanted = assignee.strip().lower()
    if wanted == "none":
        return found.filter(assignments__isnull=True)
    member = caller.member if wanted == "me" else lookup.member(caller.project, assignee)
    return found.filter(assignees=member)


class ReadTask(ProjectTool["ReadTask.Arguments"]):
    """Read a task: its fields, description, newest comments, attachments and last changes.

    Comments come with the oldest first. A long description comes in parts.
    """

    name = "read_task"
    effect = Effect.READ_ONLY
    permission = "tasks:read"

    class Arguments(ToolArguments):
        task: TaskKey
        first_line: int = Field(
            default=1,
            ge=1,
            description="The line to begin with.",
        )
        before_comment: Name | None = Field(
            default=None, description="The id of a comment, to read those before it."
        )
        comment: Name | None = Field(
            default=None, description="The id of a comment, to read it whole."
        )

    def subject(self, arguments: Arguments) -> str:
        return text.task_subject(arguments.task)

    def act_on(self, caller: Caller, arguments: Arguments, context: ToolContext) -> str:
        task = lookup.task(caller.project, arguments.task)
        if arguments.comment is not None:
            return comments.whole(task, arguments.comment, first_line=arguments.first_line)
        told = comments.newest(task, before=arguments.before_comment)
        if arguments.before_comment is not None:
            return told or "There are no older comments."
        remember_description(context, task)
        parts = [_fields(task), _description(task, arguments.first_line)]
        parts += [f"Attachments:\n{files}"] if (files := _attachments(task)) else []
        parts += [f"Comments:\n{told}"] if told else ["No comments yet."]
        parts += [f"Last changes:\n{changes}"] if (changes := _activities(task)) else []
        return "\n\n".join(parts)


def _fields(task: Task) -> str:
    dependencies = task.dependencies.filter(blocked_by__deleted_at=None)
    blockers = [each.blocked_by for each in dependencies.select_related("blocked_by__status")]
    subtasks = (
        task.subtasks.filter(deleted_at=None).order_by("number").values_list("number", flat=True)
    )
    prefix = task.project.prefix
    fields = {
        "Status": f"{task.status.name} ({task.status.category})",
        "Type": task.type.name,
        "Priority": Priority(task.priority).name.lower() if task.priority else "",
        "Assignees": text.names(Member.objects.with_names().filter(assigned_tasks=task)),
        "Reporter": f"@{task.reporter.handle}" if task.reporter else "",
        "Labels": ", ".join(label.name for label in task.labels.all()),
        "Sprint": task.sprint.name if task.sprint else "",
        "Parent": f"{prefix}-{task.parent.number}" if task.parent else "",
        "Subtasks": ", ".join(f"{prefix}-{number}" for number in subtasks[:MAX_TASKS]),
        "Blocked by": ", ".join(
            f"{prefix}-{each.number} ({each.status.name})" for each in blockers
        ),
        "Story points": "" if task.story_points is None else str(task.story_points),
        "Dates": " to ".join(str(day) if day else "?" for day in (task.start_date, task.due_date))
        if task.start_date or task.due_date
        else "",
    }
    lines = [f"{name}: {value}" for name, value in fields.items() if value]
    return "\n".join([f"{task.key}: {task.title}", *lines])


def _description(task: Task, first_line: int) -> str:
    if not task.description:
        return "No description."
    part = text.numbered_lines(
        task.description, first=first_line, count=MAX_DESCRIPTION_LINES, limit=DESCRIPTION_BYTES
    )
    return f"Description:\n{part}"


def _attachments(task: Task) -> str:
    files = task.attachments.order_by("-created_at")
    lines = [f"{file.name} ({format_size(file.size_bytes)})" for file in files[:MAX_ATTACHMENTS]]
    shown = text.first_that_fit(lines, LIST_BYTES)
    if (left_out := task.attachments.count() - len(shown) if lines else 0) > 0:
        shown.append(f"[and {left_out} older ones]")
    return "\n".join(shown)


def _activities(task: Task) -> str:
    """The newest entries of the timeline, the oldest of them first."""
    newest = task.activities.select_related("actor__user", "actor__agent").order_by(
        "-created_at", "-id"
    )
    lines = [text.activity_line(entry) for entry in newest[:MAX_ACTIVITIES]]
    return "\n".join(reversed(text.first_that_fit(lines, LIST_BYTES)))
