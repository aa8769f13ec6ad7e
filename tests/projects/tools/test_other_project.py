"""The tools of an agent and the rows of another project: nothing there is found, shown or changed."""

from dataclasses import dataclass
from typing import Any

import pytest

from paca.agents import services as agents
from paca.projects.models import Doc, DocFolder, Member, Project, Sprint
from paca.projects.models.task_settings import StatusCategory
from paca.projects.services import attachments, comments, statuses, tasks
from paca.projects.tools.all_tools import project_tools
from tests.projects.tools.conftest import AgentAtWork
from tests.projects.tools.test_rights import CALLS, task, written
from tests.support.world import World, make_world

__all__ = ["task"]  # the fixture of the project that the agent works in

CONTENT = "classified"
NUMBER = 77

# The arguments that name a row, and what names a row of the other project. A call has the other
# arguments of its row in ``CALLS``.
NAMING: dict[tuple[str, str], str | list[str]] = {
    ("add_comment", "task"): "QUAY-77",
    ("add_comment", "doc"): "{doc}",
    ("add_comment", "answer_to"): "{comment}",
    ("create_doc", "folder"): "Vault",
    ("create_task", "status"): "Sealed",
    ("create_task", "type"): "Heist",
    ("create_task", "assignees"): ["mole"],
    ("create_task", "sprint"): "Night",
    ("create_task", "parent"): "QUAY-77",
    ("create_task", "blocked_by"): ["77"],
    ("list_docs", "folder"): "Vault",
    ("list_docs", "after"): "{doc}",
    ("list_tasks", "status"): "Sealed",
    ("list_tasks", "assignee"): "ada-quay",
    ("list_tasks", "label"): "hush",
    ("list_tasks", "sprint"): "Night",
    ("list_tasks", "parent"): "77",
    ("read_doc", "doc"): "{doc}",
    ("read_doc", "before_comment"): "{doc_comment}",
    ("read_doc", "comment"): "{doc_comment}",
    ("read_task", "task"): "77",
    ("read_task", "before_comment"): "{comment}",
    ("read_task", "comment"): "{comment}",
    ("save_attachment", "task"): "QUAY-77",
    ("save_attachment", "attachment"): "secret.txt",
    ("search_project", "words"): CONTENT,
    ("update_doc", "doc"): "{doc}",
    ("update_task", "task"): "QUAY-77",
    ("update_task", "status"): "Sealed",
    ("update_task", "type"): "Heist",
    ("update_task", "assignees"): ["mole"],
    ("update_task", "sprint"): "Night",
    ("update_task", "parent"): "77",
    ("update_task", "blocked_by"): ["QUAY-77"],
}
# It finds nothing, which is no error.
FINDS_NOTHING = {("search_project", "words")}
# These name no row: texts and numbers, and labels, which are made when they are first used.
NAMES_NOTHING = {
    "append",
    "before",
    "description",
    "due_date",
    "first_line",
    "kind",
    "labels",
    "limit",
    "line_count",
    "new",
    "old",
    "path",
    "priority",
    "start_date",
    "state",
    "story_points",
    "text",
    "title",
    "version",
}


@dataclass(frozen=True)
class OtherProject:
    """The project, and the ids that calls name."""

    project: Project
    ids: dict[str, str]


@pytest.fixture
def other(world: World) -> OtherProject:
    quay = make_world("Quay")
    project, me = quay.project, quay.owner
    agents.create(
        project, name="Mole", handle="mole", model="demo/guide", role=quay.role("agent"), by=me
    )
    status = statuses.add_status(project, name="Sealed", category=StatusCategory.TODO, by=me)
    Project.objects.filter(pk=project.pk).update(last_task_number=NUMBER - 1)
    project.refresh_from_db()
    secret = tasks.create(
        project,
        title=CONTENT,
        description=CONTENT,
        status=status,
        type=statuses.add_type(project, name="Heist", by=me),
        sprint=Sprint.objects.create(project=project, name="Night"),
        labels=["hush"],
        by=me,
    )
    attachments.add(secret, name="secret.txt", content_type="", data=[CONTENT.encode()], by=me)
    folder = DocFolder.objects.create(project=project, name="Vault")
    doc = Doc.objects.create(
        project=project, title="Plan", text=CONTENT, folder=folder, updated_by=me
    )
    return OtherProject(
        project,
        {
            "doc": str(doc.pk),
            "comment": str(comments.add(secret, text=CONTENT, by=me).pk),
            "doc_comment": str(comments.add(doc, text=CONTENT, by=me).pk),
        },
    )


def test_every_argument_of_every_tool_names_a_row_or_is_said_not_to() -> None:
    arguments = {
        (tool.name, field) for tool in project_tools() for field in tool.Arguments.model_fields
    }
    named = {each for each in arguments if each[1] not in NAMES_NOTHING}
    assert named - set(NAMING) == set(), "no row in NAMING"
    assert set(NAMING) - arguments == set(), "rows without an argument"


@pytest.mark.parametrize(("tool", "field"), NAMING, ids=lambda each: each)
def test_row_of_another_project_is_not_found_by_a_tool(
    agent: AgentAtWork, task: Any, other: OtherProject, tool: str, field: str
) -> None:
    agent.gets_role("owner")
    arguments = dict(CALLS[tool][0])
    if field in {"doc", "task"}:
        arguments.pop("task", None)
    value = NAMING[tool, field]
    named = value.format(**other.ids) if isinstance(value, str) else value
    before = written()
    output = agent.calls(tool, **{**arguments, field: named})
    assert output.failed is ((tool, field) not in FINDS_NOTHING), output.output
    assert CONTENT not in output.output.replace(repr(named), "")
    assert written() == before
    assert not agent.workspace.files


def test_lists_and_descriptions_show_nothing_of_another_project(
    agent: AgentAtWork, task: Any, other: OtherProject
) -> None:
    agent.gets_role("owner")
    for tool in ("list_tasks", "list_docs", "read_project"):
        text = agent.does(tool)
        for secret in (CONTENT, "QUAY", "Sealed", "Heist", "Night", "Vault", "mole", "ada-quay"):
            assert secret not in text, (tool, secret)


def test_agent_of_another_project_is_no_member_of_this_one(other: OtherProject) -> None:
    assert not Member.objects.filter(agent__handle="mole").exclude(project=other.project).exists()
