"""Tools on projects: which there are, what they consist of, and what can be found in them."""

from typing import Annotated, Any

from pydantic import Field

from paca.mcp_server.call import Call
from paca.mcp_server.results import pick
from paca.mcp_server.tools.base import (
    Arguments,
    Cursor,
    Limit,
    McpTool,
    NoArguments,
    ProjectId,
    Text,
    all_rows,
    page,
)


class ListArguments(Arguments):
    """A page of a list in a project."""

    project: ProjectId
    limit: Limit = 20
    cursor: Cursor = ""


class ListProjects(McpTool[NoArguments]):
    """List the projects that you are a member of."""

    name = "list_projects"
    arguments = NoArguments
    is_read_only = True

    async def act(self, arguments: NoArguments, call: Call) -> Any:
        found = await all_rows(call, "projects")
        return [pick(each, "id", "name", "prefix", "description") for each in found]


class ProjectArguments(Arguments):
    """A project."""

    project: ProjectId


class GetProject(McpTool[ProjectArguments]):
    """Show a project with the ids of its statuses and members, which tasks need."""

    name = "get_project"
    arguments = ProjectArguments
    is_read_only = True

    async def act(self, arguments: ProjectArguments, call: Call) -> Any:
        place = ("projects", arguments.project)
        project = await call.rest.get(*place)
        statuses = await call.rest.get(*place, "statuses")
        members = await all_rows(call, *place, "members")
        return {
            **pick(project, "id", "name", "prefix", "description", "time_zone"),
            "statuses": [pick(each, "id", "name", "category") for each in _rows(statuses)],
            "members": [pick(each, "id", "name", "handle", "kind") for each in members],
        }


class SearchArguments(Arguments):
    """What to search."""

    project: ProjectId
    words: Annotated[
        Text, Field(max_length=200, description="Words, or the key or number of a task.")
    ]
    limit: Limit = 20


class Search(McpTool[SearchArguments]):
    """Search the tasks, docs, comments and conversations of a project, the best first."""

    name = "search"
    arguments = SearchArguments
    is_read_only = True

    async def act(self, arguments: SearchArguments, call: Call) -> Any:
        found = await call.rest.get(
            "projects", arguments.project, "search", q=arguments.words, limit=arguments.limit
        )
        return [
            {
                **pick(each, "kind", "title", "task", "key", "doc", "conversation", "updated_at"),
                "snippet": "".join(piece["text"] for piece in each["snippet"]),
            }
            for each in found["results"]
        ]


class ListAgents(McpTool[ListArguments]):
    """List the agents of a project."""

    name = "list_agents"
    arguments = ListArguments
    is_read_only = True

    async def act(self, arguments: ListArguments, call: Call) -> Any:
        answer = await call.rest.get(
            "projects",
            arguments.project,
            "agents",
            limit=arguments.limit,
            cursor=arguments.cursor,
        )
        fields = ("id", "member_id", "name", "handle", "description", "status", "model")
        return page(answer, [pick(each, *fields) for each in answer["results"]])


def _rows(answer: Any) -> list[Any]:
    """The rows of a list, which has pages or none."""
    return list(answer["results"] if isinstance(answer, dict) else answer)


TOOLS: tuple[McpTool[Any], ...] = (ListProjects(), GetProject(), Search(), ListAgents())
