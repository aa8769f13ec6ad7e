"""Tools on tasks and their comments."""

from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import Field

from paca.mcp_server.call import Call
from paca.mcp_server.results import cut, part_of, pick
from paca.mcp_server.tools.base import (
    HIGHEST_NUMBER,
    Arguments,
    IdempotencyKey,
    McpTool,
    ProjectId,
    TaskNumber,
    Text,
    UpdatedAt,
    given,
    page,
)
from paca.mcp_server.tools.projects import ListArguments

Priority = Literal["none", "low", "medium", "high", "urgent"]
Title = Annotated[Text, Field(min_length=1, max_length=200)]
Ids = Annotated[list[UUID], Field(max_length=50)]
COMMENTS = 20
# So that a whole result needs no further cut: a description that was cut in silence would be written back so.
DESCRIPTION_CHARACTERS, COMMENTS_CHARACTERS = 30_000, 24_000


class ListTasksArguments(ListArguments):
    """A filter of tasks."""

    category: Literal["backlog", "todo", "in_progress", "done", ""] = ""
    assignee: Annotated[
        Text, Field(max_length=40, description="Id of a member, 'me' or 'none'.")
    ] = ""
    search: Annotated[Text, Field(max_length=200, description="Words of the title.")] = ""


class ListTasks(McpTool[ListTasksArguments]):
    """List the tasks of a project, the newest first."""

    name = "list_tasks"
    arguments = ListTasksArguments
    is_read_only = True

    async def act(self, arguments: ListTasksArguments, call: Call) -> Any:
        query = arguments.model_dump(exclude={"project"})
        answer = await call.rest.get("projects", arguments.project, "tasks", **query)
        return page(answer, [_brief(each) for each in answer["results"]])


class TaskArguments(Arguments):
    """A task."""

    project: ProjectId
    task: TaskNumber


class GetTaskArguments(TaskArguments):
    """A task, or a part of its long description."""

    offset: Annotated[
        int,
        Field(
            ge=0,
            le=HIGHEST_NUMBER,
            description="Of the description, in characters; description_next_offset goes on.",
        ),
    ] = 0
    comments: Annotated[
        int, Field(ge=0, le=COMMENTS, description="How many; fewer are shown longer.")
    ] = COMMENTS


class GetTask(McpTool[GetTaskArguments]):
    """Show a task with its newest comments, a long description in parts."""

    name = "get_task"
    arguments = GetTaskArguments
    is_read_only = True

    async def act(self, arguments: GetTaskArguments, call: Call) -> Any:
        place = ("projects", arguments.project, "tasks", arguments.task)
        task = await call.rest.get(*place)
        part = part_of(task["description"], arguments.offset, DESCRIPTION_CHARACTERS)
        rest = {f"description_{name}": part[name] for name in part if name == "next_offset"}
        found = {**_full(task), "description": part["text"], **rest}
        if not arguments.comments:
            return found
        answer = await call.rest.get(*place, "comments", limit=arguments.comments)
        longest = COMMENTS_CHARACTERS // max(1, len(answer["results"]))
        shown = [
            {
                **pick(each, "id", "parent", "created_at"),
                "author": each["author"]["name"],
                "text": cut(each["text"], longest),
            }
            for each in answer["results"]
        ]
        return {**found, "newest_comments": shown}


class _TaskFields(Arguments):
    """The fields of a task that can be written."""

    project: ProjectId
    description: Annotated[Text, Field(description="Markdown.")] = ""
    status_id: Annotated[UUID | None, Field(description="From get_project.")] = None
    priority: Priority = "none"
    assignee_ids: Annotated[
        Ids, Field(description="Ids of members. An agent starts on the task at once.")
    ] = []
    labels: Annotated[list[Text], Field(max_length=50)] = []
    due_date: Annotated[Text | None, Field(max_length=10, description="YYYY-MM-DD.")] = None


class CreateTaskArguments(_TaskFields):
    """A new task."""

    title: Title
    idempotency_key: IdempotencyKey = ""


class CreateTask(McpTool[CreateTaskArguments]):
    """Create a task. An agent that it is assigned to starts on it."""

    name = "create_task"
    arguments = CreateTaskArguments

    async def act(self, arguments: CreateTaskArguments, call: Call) -> Any:
        fields = given(arguments, "project", "idempotency_key")
        created = await call.rest.post(
            "projects",
            arguments.project,
            "tasks",
            body=_without_null_status(fields),
            idempotency_key=arguments.idempotency_key,
        )
        return _full(created)


class UpdateTaskArguments(_TaskFields):
    """A change of a task: only the fields that are given change."""

    task: TaskNumber
    title: Title = ""
    if_updated_at: Annotated[
        UpdatedAt,
        Field(
            description="The updated_at that you have read: somebody else's change since then is an error."
        ),
    ] = ""


class UpdateTask(McpTool[UpdateTaskArguments]):
    """Change fields of a task. Fields that you leave out stay as they are."""

    name = "update_task"
    arguments = UpdateTaskArguments

    async def act(self, arguments: UpdateTaskArguments, call: Call) -> Any:
        fields = given(arguments, "project", "task", "if_updated_at")
        changed = await call.rest.patch(
            "projects",
            arguments.project,
            "tasks",
            arguments.task,
            body=_without_null_status(fields),
            if_match=arguments.if_updated_at,
        )
        return _full(changed)


class CommentArguments(TaskArguments):
    """A comment on a task."""

    text: Annotated[
        Text, Field(min_length=1, description="Markdown. @handle mentions; an agent answers.")
    ]
    idempotency_key: IdempotencyKey = ""


class AddComment(McpTool[CommentArguments]):
    """Comment on a task."""

    name = "add_comment"
    arguments = CommentArguments

    async def act(self, arguments: CommentArguments, call: Call) -> Any:
        created = await call.rest.post(
            "projects",
            arguments.project,
            "tasks",
            arguments.task,
            "comments",
            body={"text": arguments.text},
            idempotency_key=arguments.idempotency_key,
        )
        return pick(created, "id", "text", "mentions", "created_at")


def _without_null_status(fields: dict[str, Any]) -> dict[str, Any]:
    """A task always has a status, so null means the present or the first one."""
    return {name: value for name, value in fields.items() if name != "status_id" or value}


def _brief(task: dict[str, Any]) -> dict[str, Any]:
    return {
        **pick(task, "number", "key", "title", "priority", "due_date", "agent_state", "updated_at"),
        "status": task["status"]["name"],
        "assignees": [each["name"] for each in task["assignees"]],
    }


def _full(task: dict[str, Any]) -> dict[str, Any]:
    return {
        **pick(task, "number", "key", "title", "description", "status", "priority", "labels"),
        **pick(task, "parent", "blocked_by", "due_date", "agent_state", "created_at", "updated_at"),
        "assignees": [pick(each, "id", "name", "handle", "kind") for each in task["assignees"]],
    }


TOOLS: tuple[McpTool[Any], ...] = (
    ListTasks(),
    GetTask(),
    CreateTask(),
    UpdateTask(),
    AddComment(),
)
