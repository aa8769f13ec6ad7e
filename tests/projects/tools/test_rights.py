"""The tools of an agent in each role: what the role does not allow is refused, and nothing is changed."""

from typing import Any

import pytest

from paca.agents import services as agents
from paca.agents.api.catalogues import make_toolbox
from paca.engine.tools.base import Effect
from paca.projects.models import Activity, Comment, Doc, DocVersion, KeyedWrite, Member, Role, Task
from paca.projects.services import attachments, projects, tasks
from paca.projects.tools.all_tools import project_tools
from tests.projects.tools.conftest import AgentAtWork
from tests.support.world import World

# One call of each tool that works for an owner, and the permission that it needs.
CALLS: dict[str, tuple[dict[str, Any], str]] = {
    "add_comment": ({"task": 1, "text": "Hi"}, "tasks:write"),
    "create_doc": ({"title": "New", "text": ""}, "docs:write"),
    "create_task": ({"title": "New"}, "tasks:write"),
    "list_docs": ({}, "docs:read"),
    "list_tasks": ({}, "tasks:read"),
    "read_doc": ({"doc": "Guide"}, "docs:read"),
    "read_project": ({}, "projects:read"),
    "read_task": ({"task": 1}, "tasks:read"),
    "save_attachment": ({"task": 1, "attachment": "log.txt"}, "tasks:read"),
    "search_project": ({"words": "login"}, "projects:read"),
    "update_doc": ({"doc": "Guide", "append": "More"}, "docs:write"),
    "update_task": ({"task": 1, "status": "Done"}, "tasks:write"),
}
ROLES = ["owner", "manager", "member", "agent", "viewer"]


@pytest.fixture
def task(world: World) -> Task:
    Doc.objects.create(project=world.project, title="Guide", text="Text", updated_by=world.owner)
    made = tasks.create(world.project, title="Fix the login", by=world.owner)
    attachments.add(made, name="log.txt", content_type="text/plain", data=[b"abc"], by=world.owner)
    return made


def written() -> list[int]:
    """How many rows there are of all that the tools write."""
    return [
        kind.objects.count() for kind in (Task, Comment, Activity, Doc, DocVersion, KeyedWrite)
    ] + [Task.objects.filter(status__name="Done").count()]


def test_every_tool_on_the_project_has_its_row_here() -> None:
    assert {tool.name for tool in project_tools()} == set(CALLS)


@pytest.mark.parametrize("tool", CALLS)
def test_tool_is_allowed_to_the_roles_with_its_permission_only(
    agent: AgentAtWork, task: Task, tool: str
) -> None:
    arguments, permission = CALLS[tool]
    for role in ROLES:
        agent.gets_role(role)
        before = written()
        output = agent.calls(tool, **arguments)
        allowed = role != "viewer" or permission.endswith(":read")
        assert output.failed is not allowed, (role, output.output)
        if not allowed:
            assert output.cause == "refused"
            assert (
                f"Your role, Viewer, does not allow this; it needs {permission}." in output.output
            )
            assert written() == before


def test_comment_on_a_doc_needs_the_permission_for_docs(agent: AgentAtWork, task: Task) -> None:
    role = Role.objects.create(
        project=agent.world.project, name="Narrow", permissions=["docs:write"]
    )
    Member.objects.filter(pk=agent.member.pk).update(role=role)
    assert agent.calls("add_comment", task=1, text="Hi").cause == "refused"
    assert not agent.calls("add_comment", doc="Guide", text="Hi").failed


@pytest.mark.parametrize("tool", CALLS)
def test_tool_asks_for_its_own_permission_and_no_other(
    agent: AgentAtWork, task: Task, tool: str
) -> None:
    arguments, permission = CALLS[tool]
    role = Role.objects.create(project=agent.world.project, name="Narrow", permissions=[permission])
    Member.objects.filter(pk=agent.member.pk).update(role=role)
    assert not agent.calls(tool, **arguments).failed
    role.permissions = ["conversations:*"]
    role.save()
    assert agent.calls(tool, **arguments).cause == "refused"


def test_agent_that_is_retired_or_whose_project_is_deleted_can_do_nothing(
    agent: AgentAtWork, task: Task
) -> None:
    before = written()
    agents.retire(agent.world.agent, by=agent.world.owner)
    for tool, (arguments, _) in CALLS.items():
        output = agent.calls(tool, **arguments)
        assert (output.failed, output.cause) == (True, "refused")
        assert "no longer a member of this project" in output.output
    assert written() == before


def test_agent_of_a_deleted_project_can_do_nothing(agent: AgentAtWork, task: Task) -> None:
    member = agent.member
    projects.delete(agent.world.project, by=agent.world.owner)
    Member.objects.filter(pk=member.pk).update(deleted_at=None)
    assert agent.calls("list_tasks").cause == "refused"


def test_project_tells_an_agent_no_members_that_its_role_may_not_read(
    agent: AgentAtWork, task: Task
) -> None:
    agent.gets_role("viewer")
    text = agent.does("read_project")
    assert "@ada-harbor (ada-harbor, person, Owner)" in text
    assert "@rosa (Rosa, agent, Viewer, you)" in text
    assert "Statuses: Backlog (backlog), To do (todo)" in text
    role = Role.objects.create(
        project=agent.world.project, name="Narrow", permissions=["projects:read"]
    )
    Member.objects.filter(pk=agent.member.pk).update(role=role)
    assert agent.does("read_project") == "Harbor (tasks HARB-1, HARB-2 ...)"


def test_effects_of_the_tools_follow_from_their_permissions() -> None:
    for tool in project_tools():
        assert tool.repeatable
        if tool.name == "save_attachment":  # it writes into the sandbox only
            assert (tool.effect, tool.uses_workspace) == (Effect.IDEMPOTENT, True)
            continue
        reads = CALLS[tool.name][1].endswith(":read")
        assert tool.effect is (Effect.READ_ONLY if reads else Effect.KEYED)
        assert not tool.uses_workspace


def test_tools_are_described_without_a_project() -> None:
    names = [entry["name"] for entry in make_toolbox().catalogue()]
    assert set(CALLS) < set(names)
