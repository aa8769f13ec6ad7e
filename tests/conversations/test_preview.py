"""The preview of an agent's context: its trigger types, sizes and wrong input."""

from typing import Any

import pytest

from paca.agents import services as agents
from paca.projects.services import tasks
from tests.support.api import Api
from tests.support.world import World, make_world

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    return make_world()


def preview(world: World, **query: str) -> dict[str, Any]:
    path = f"/projects/{world.project.pk}/agents/{world.agent.pk}/preview/"
    words = "&".join(f"{name}={value}" for name, value in query.items())
    answer = Api(world.user).get(f"{path}?{words}")
    assert answer.status_code == 200, answer.content
    return dict(answer.json())


def test_preview_shows_the_prompt_of_each_trigger_type(world: World) -> None:
    agents.configure(world.agent, by=world.owner, execute_prompt="Just do it.")
    last = {
        trigger_type: preview(world, trigger_type=trigger_type)["parts"][-1]["text"]
        for trigger_type in ("task_assigned", "comment_mention", "description_write", "execute")
    }
    assert last["task_assigned"].startswith("You were assigned a task")
    assert last["comment_mention"].startswith("Somebody mentioned you")
    assert last["description_write"].startswith("You write the description")
    assert last["execute"] == "Just do it."


def test_preview_tells_the_window_if_it_is_known(world: World) -> None:
    agents.configure(world.agent, by=world.owner, parameters={"context_window": 5000})
    assert preview(world)["window"] == 5000
    known = {"model": "cerebras/llama-3.1-70b", "parameters": {}}
    agents.configure(world.agent, by=world.owner, **known)
    assert preview(world)["window"] == 128_000
    agents.configure(world.agent, by=world.owner, base_url="http://models:8080/v1")
    assert preview(world)["window"] is None  # a server of one's own


def test_preview_of_an_unknown_trigger_type_is_refused(world: World) -> None:
    path = f"/projects/{world.project.pk}/agents/{world.agent.pk}/preview/?trigger_type=telepathy"
    answer = Api(world.user).get(path)
    assert answer.status_code == 400
    assert "not a valid choice" in str(answer.json()["fields"]["trigger_type"])


def test_preview_on_a_task_has_the_first_message_of_each_trigger_type(world: World) -> None:
    task = tasks.create(world.project, title="Hull", by=world.owner, description="It leaks.")
    for trigger_type in ("task_assigned", "comment_mention", "description_write", "execute"):
        shown = preview(world, trigger_type=trigger_type, task=str(task.number))
        [message] = [part["text"] for part in shown["parts"] if part["name"] == "message"]
        assert "Hull" in message
        assert "It leaks." in message


@pytest.mark.parametrize(
    ("query", "status", "told"),
    [
        ("trigger_type=execute&task=999", 404, "There is no task"),
        ("trigger_type=execute&task=x", 400, "A valid integer is required."),
        ("trigger_type=execute&task=99999999999999999999", 400, "less than or equal"),
        ("task=1", 400, "A chat is about no task."),
        ("colour=red", 400, "There is no such field."),
    ],
)
def test_wrong_query_is_refused(query: str, status: int, told: str, world: World) -> None:
    path = f"/projects/{world.project.pk}/agents/{world.agent.pk}/preview/?{query}"
    answer = Api(world.user).get(path)
    assert answer.status_code == status
    assert told in answer.content.decode()
