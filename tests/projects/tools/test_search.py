"""The tool that finds tasks, docs and comments."""

from typing import Any

import pytest

from paca.projects.models import Comment, Member, Role, Task
from paca.projects.services import comments, docs, tasks
from tests.projects.tools.conftest import AgentAtWork
from tests.support.world import World, make_world


@pytest.fixture(autouse=True)
def task(world: World) -> Task:
    made = tasks.create(
        world.project, title="Fix the login", description="The door fails.", by=world.owner
    )
    comments.add(made, text="The door is open.", by=world.owner)
    doc = docs.create(world.project, title="House", text="A door has a key.", by=world.owner)
    comments.add(doc, text="Which door?", by=world.owner)
    return made


def test_agent_finds_tasks_docs_and_comments_and_can_open_what_it_finds(
    agent: AgentAtWork,
) -> None:
    lines = agent.does("search_project", words="door").splitlines()
    on_task, on_doc = Comment.objects.order_by("created_at")
    assert sorted(line.partition(":")[0] for line in lines) == sorted(
        [
            "HARB-1 Fix the login",
            f"doc {on_doc.doc_id} House",
            f"comment ({str(on_task.pk)[:8]}) on HARB-1 Fix the login",
            f"comment ({str(on_doc.pk)[:8]}) on doc {on_doc.doc_id} House",
        ]
    )
    (only,) = agent.does("search_project", words="door", kind="doc").splitlines()
    assert only == f"doc {on_doc.doc_id} House: A door has a key."
    assert "Which door?" in agent.does("read_doc", doc=only.split()[1])
    assert agent.does("search_project", words="harb-1").startswith("HARB-1 Fix the login")
    assert agent.does("search_project", words="roof").startswith("Nothing has all these words.")


def test_agent_finds_only_what_its_role_may_read(agent: AgentAtWork) -> None:
    role = Role.objects.create(
        project=agent.world.project, name="Narrow", permissions=["projects:read", "docs:read"]
    )
    Member.objects.filter(pk=agent.member.pk).update(role=role)
    lines = agent.does("search_project", words="door").splitlines()
    assert len(lines) == 2
    assert all("doc " in line for line in lines)


def test_agent_finds_nothing_of_other_projects(agent: AgentAtWork) -> None:
    other = make_world("Elsewhere")
    tasks.create(other.project, title="Secret roof", by=other.owner)
    assert agent.does("search_project", words="roof").startswith("Nothing")


BAD: list[tuple[dict[str, Any], str]] = [
    ({}, "words: is missing"),
    ({"words": ""}, "words: expected text that is not empty"),
    ({"words": "x" * 201}, "of at most 200 characters"),
    ({"words": "a\0"}, "text without NUL"),
    ({"words": "a", "kind": "conversation"}, "one of task, doc, comment"),
    ({"words": "a", "limit": 51}, "from 1 to 50"),
]


@pytest.mark.parametrize(("arguments", "told"), BAD)
def test_wrong_arguments_get_a_text_that_helps(
    agent: AgentAtWork, arguments: dict[str, Any], told: str
) -> None:
    assert told in agent.is_refused("search_project", **arguments)


def test_words_that_a_database_reads_as_operators_are_words(agent: AgentAtWork) -> None:
    for words in ('"', "door OR", "* & |", "(door", "NEAR(a b)", "'; drop table", "door:*"):
        agent.does("search_project", words=words)
