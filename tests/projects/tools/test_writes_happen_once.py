"""Repeated calls: whatever happened to the worker, a call writes once, and by its lease only."""

from typing import Any

import pytest

from paca.common.errors import NotFound
from paca.conversations import deletion, services
from paca.conversations.models import Conversation
from paca.projects.models import Activity, Comment, Doc, DocVersion, KeyedWrite, Task
from paca.projects.services import docs, tasks
from paca.projects.tools.access import CallingAgent
from tests.projects.tools.conftest import AgentAtWork, run_without_loop
from tests.support.world import World

WRITES: dict[str, dict[str, Any]] = {
    "add_comment": {"task": 1, "text": "Hi, @ada-harbor"},
    "create_doc": {"title": "Plan", "text": "First."},
    "create_task": {"title": "New"},
    "update_doc": {"doc": "Guide", "append": "More."},
    "update_task": {"task": 1, "status": "Done", "assignees": ["rosa"]},
}


class LeaseLost(Exception):
    """Another worker has the conversation."""


@pytest.fixture(autouse=True)
def task(world: World) -> Task:
    docs.create(world.project, title="Guide", text="Begin.", by=world.owner)
    return tasks.create(world.project, title="Fix the login", by=world.owner)


def written() -> list[int]:
    return [kind.objects.count() for kind in (Task, Comment, Activity, Doc, DocVersion, KeyedWrite)]


@pytest.mark.parametrize("tool", WRITES)
def test_repeated_call_gives_the_same_text_and_writes_nothing(
    agent: AgentAtWork, tool: str
) -> None:
    first = agent.calls(tool, call_id="c1", **WRITES[tool])
    before = written()
    # The role may have changed meanwhile: what has happened must not be called refused.
    agent.gets_role("viewer")
    assert agent.calls(tool, call_id="c1", **WRITES[tool]) == first
    assert written() == before
    agent.gets_role("agent")
    assert agent.calls(tool, call_id="c2", **WRITES[tool]) != first


@pytest.mark.parametrize("tool", WRITES)
def test_worker_without_the_lease_writes_nothing(agent: AgentAtWork, tool: str) -> None:
    before = written()
    agent.access.lease_error = LeaseLost()
    with pytest.raises(LeaseLost):
        agent.calls(tool, call_id="c1", **WRITES[tool])
    assert written() == before
    agent.access.lease_error = None
    assert not agent.calls(tool, call_id="c1", **WRITES[tool]).failed


def test_refused_call_leaves_no_key_so_that_a_repetition_is_tried_anew(
    agent: AgentAtWork,
) -> None:
    assert agent.calls("update_task", call_id="c1", task=1, status="Doing").failed
    assert KeyedWrite.objects.count() == 0
    assert find_result(agent, "update_task", "c1") is None


def test_result_of_a_call_that_has_written_is_found_by_its_id(agent: AgentAtWork) -> None:
    output = agent.calls("create_task", call_id="c1", title="New")
    assert find_result(agent, "create_task", "c1") == output
    assert find_result(agent, "create_task", "c2") is None
    assert find_result(agent, "read_task", "c1") is None


def test_calls_of_another_conversation_with_the_same_id_are_other_calls(
    agent: AgentAtWork, world: World
) -> None:
    agent.does("create_task", call_id="c1", title="New")
    AgentAtWork(world).does("create_task", call_id="c1", title="New")
    assert Task.objects.filter(title="New").count() == 2


def test_deleted_conversation_keeps_no_texts_of_its_calls(agent: AgentAtWork, world: World) -> None:
    sent = services.start_chat(world.agent, text="Hi", by=world.owner)
    other = AgentAtWork(world)
    agent.access.agent = CallingAgent(world.agent.pk, sent.conversation_id)
    for each in (agent, other):
        each.does("create_task", title="New")
    deletion.delete(Conversation.objects.get(pk=sent.conversation_id), by=world.owner)
    (left,) = KeyedWrite.objects.all()
    assert left.key.startswith(str(other.access.agent.conversation_id))
    assert Task.objects.filter(title="New").count() == 2


def find_result(agent: AgentAtWork, tool: str, call_id: str) -> Any:
    return run_without_loop(agent.toolbox.get(tool).find_result(call_id))


def test_error_of_a_service_rolls_the_whole_call_back(
    agent: AgentAtWork, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise NotFound("Gone meanwhile.")

    monkeypatch.setattr("paca.projects.tools.task_writes._told_changes", fail)
    before = written()
    assert agent.is_refused("update_task", task=1, status="Done") == "Gone meanwhile."
    assert written() == before
