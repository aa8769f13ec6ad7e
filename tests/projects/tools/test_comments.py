"""The tool that comments on tasks and docs."""

from typing import Any

import pytest

from paca.agents import services as agents
from paca.conversations import services
from paca.conversations.models import PendingTrigger
from paca.projects.models import Comment, Doc, Task
from paca.projects.services import comments, tasks
from paca.projects.signals import member_mentioned, task_assigned
from paca.projects.tools.access import CallingAgent
from tests.projects.tools.conftest import AgentAtWork
from tests.support.world import World, make_world


@pytest.fixture
def task(world: World) -> Task:
    return tasks.create(world.project, title="Fix the login", by=world.owner)


@pytest.fixture
def doc(world: World) -> Doc:
    return Doc.objects.create(project=world.project, title="Guide", updated_by=world.owner)


def test_agent_comments_on_a_task_with_mentions_and_its_conversation(
    agent: AgentAtWork, task: Task
) -> None:
    text = agent.does("add_comment", task="HARB-1", text="Done, @ada-harbor. Ask @bob or @rosa.")
    (comment,) = Comment.objects.all()
    assert text == (
        f"Commented on HARB-1 ({str(comment.pk)[:8]}). Mentioned: @ada-harbor."
        " No member has the handle @bob."
    )
    assert (comment.task, comment.author) == (task, agent.member)
    assert comment.conversation_id == agent.access.agent.conversation_id
    assert [mention.member for mention in comment.mentions.all()] == [agent.world.owner]


def test_agent_answers_a_comment_by_the_id_that_it_has_read(agent: AgentAtWork, task: Task) -> None:
    asked = comments.add(task, text="Is it done?", by=agent.world.owner)
    read = agent.does("read_task", task=1)
    short_id = read.partition("(" + str(asked.pk)[:8])[1].removeprefix("(")
    agent.does("add_comment", task=1, text="Yes.", answer_to=short_id)
    assert Comment.objects.get(author=agent.member).parent == asked


def test_agent_comments_on_a_doc_by_title_or_id(agent: AgentAtWork, doc: Doc) -> None:
    agent.does("add_comment", doc="guide", text="Good.")
    agent.does("add_comment", doc=str(doc.pk), text="Very good.")
    assert [comment.text for comment in doc.comments.all()] == ["Good.", "Very good."]


def test_receivers_learn_in_which_conversation_an_agent_mentions_and_assigns(
    agent: AgentAtWork, task: Task
) -> None:
    seen: list[Any] = []

    def receive(by: Any, **_: Any) -> None:
        seen.append(by.acting_in)

    for signal in (member_mentioned, task_assigned):
        signal.connect(receive)
    try:
        agent.does("add_comment", task=1, text="Look, @ada-harbor.")
        agent.does("update_task", task=1, assignees=["ada-harbor"])
    finally:
        for signal in (member_mentioned, task_assigned):
            signal.disconnect(receive)
    assert seen == [agent.access.agent.conversation_id] * 2


def test_agent_that_calls_another_agent_with_its_tools_is_one_hop_away_from_a_person(
    agent: AgentAtWork, task: Task
) -> None:
    world = agent.world
    agents.create(
        world.project,
        role=world.role("agent"),
        by=world.owner,
        name="Bo",
        handle="bo",
        model="demo/guide",
    )
    sent = services.start_chat(world.agent, text="Ask Bo.", by=world.owner)
    agent.access.agent = CallingAgent(world.agent.pk, sent.conversation_id)
    agent.does("add_comment", task=1, text="Look, @bo and @rosa.")
    agent.does("update_task", task=1, assignees=["bo", "rosa"])
    pending = PendingTrigger.objects.order_by("created_at")
    assert [(each.agent.handle, each.by, each.hops) for each in pending] == [
        ("bo", agent.member, 1)
    ] * 2


BAD: list[tuple[dict[str, Any], str]] = [
    ({"text": "Hi"}, "name either a task or a doc"),
    ({"task": 1, "doc": "Guide", "text": "Hi"}, "name either a task or a doc"),
    ({"task": 1}, "text: is missing"),
    ({"task": 1, "text": ""}, "text: expected text that is not empty"),
    ({"task": 1, "text": " \n "}, "- text: "),
    ({"task": 1, "text": "a\0b"}, "text: expected text without NUL"),
    ({"task": 1, "text": "x" * 50_001}, "of at most 50000 characters"),
    ({"task": 2, "text": "Hi"}, "There is no task '2'"),
    ({"doc": "Gide", "text": "Hi"}, "There is no doc 'Gide'. Docs: Guide."),
    ({"doc": "0" * 32, "text": "Hi"}, "There is no doc"),
    ({"task": 1, "text": "Hi", "answer_to": "12345678"}, "There is no comment '12345678' there"),
]


@pytest.mark.parametrize(("arguments", "told"), BAD)
def test_wrong_comments_get_a_text_that_helps_and_write_nothing(
    agent: AgentAtWork, task: Task, doc: Doc, arguments: dict[str, Any], told: str
) -> None:
    assert told in agent.is_refused("add_comment", **arguments)
    assert Comment.objects.count() == 0


def test_docs_of_the_same_title_are_told_apart_by_id(agent: AgentAtWork, doc: Doc) -> None:
    twin = Doc.objects.create(
        project=agent.world.project, title="Guide", updated_by=agent.world.owner
    )
    text = agent.is_refused("add_comment", doc="Guide", text="Hi")
    assert "Several docs have the title" in text
    assert str(doc.pk) in text
    assert str(twin.pk) in text


def test_docs_of_other_projects_and_deleted_ones_are_not_found(agent: AgentAtWork) -> None:
    other = make_world("Elsewhere")
    foreign = Doc.objects.create(project=other.project, title="Plan", updated_by=other.owner)
    for name in ("Plan", str(foreign.pk)):
        assert "There is no doc" in agent.is_refused("add_comment", doc=name, text="Hi")
