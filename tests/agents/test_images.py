"""The image of sandboxes: the operator lists them, the agent's wins over its project's, and a missing one is told."""

from types import SimpleNamespace
from typing import Any

import pytest

from paca.agents import services as agents
from paca.agents.models import Agent
from paca.common.errors import Invalid
from paca.engine.workspace import SandboxBroken
from paca.projects.services import images, projects
from paca.sandbox import runner_bundle
from paca.sandbox.docker import image as docker_image
from paca.sandbox.docker.container import RUNNER_LABEL
from paca.sandbox.docker.engine import NOT_FOUND, DockerRefused
from paca.worker import assembly
from tests.support.api import Api
from tests.support.world import World, make_world


@pytest.fixture
def world(db: None, settings: Any) -> World:
    settings.AGENT_SANDBOX_IMAGES = ["paca-node:2", "registry.example/sandboxes/*"]
    return make_world()


def image_of(world: World) -> str:
    agent = Agent.objects.select_related("project").get(pk=world.agent.pk)
    conversation = SimpleNamespace(parent_id=None, pk=world.agent.pk)
    return assembly._sandbox_spec(conversation, agent, agent.project, None).image  # type: ignore[arg-type]


def test_the_image_of_the_agent_wins_over_that_of_the_project(world: World) -> None:
    assert image_of(world) == ""
    projects.change(world.project, by=world.owner, sandbox_image="paca-node:2")
    assert image_of(world) == "paca-node:2"
    agents.configure(world.agent, by=world.owner, sandbox_image="registry.example/sandboxes/go:1")
    assert image_of(world) == "registry.example/sandboxes/go:1"


@pytest.mark.parametrize("image", ["paca-node:3", "registry.example/others/x", "-v", "a b"])
def test_only_images_of_the_list_can_be_chosen(world: World, image: str) -> None:
    api = Api(world.user)
    project = f"/projects/{world.project.pk}/"
    agent = f"{project}agents/{world.agent.pk}/"
    for path, given in (
        (project, {"sandbox_image": image}),
        (agent, {"sandbox": {"image": image}}),
    ):
        answer = api.patch(path, given)
        assert answer.status_code == 400
        assert (
            "AGENT_SANDBOX_IMAGES" in answer.content.decode()
            or "no name" in answer.content.decode()
        )
    assert api.patch(agent, {"sandbox": {"image": "paca-node:2"}}).json()["sandbox"]["image"]


def test_an_image_that_left_the_list_blocks_no_other_setting(world: World, settings: Any) -> None:
    agents.configure(world.agent, by=world.owner, sandbox_image="paca-node:2")
    settings.AGENT_SANDBOX_IMAGES = []
    assert not images.is_allowed("paca-node:2")
    agents.configure(world.agent, by=world.owner, name="Rosa P.")
    with pytest.raises(Invalid):
        agents.configure(world.agent, by=world.owner, sandbox_image="paca-node:1")


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("labels", "said"),
    [(None, "Docker has no image node:9"), ({}, "is not built on the image of this version")],
)
async def test_a_missing_or_foreign_image_needs_a_person(labels: Any, said: str) -> None:
    with pytest.raises(SandboxBroken, match=said) as error:
        await docker_image.find_chosen_image_id(engine(labels), "node:9")
    assert "Choose another image" in error.value.detail


@pytest.mark.anyio
async def test_an_image_with_our_runner_is_taken() -> None:
    labels = {RUNNER_LABEL: runner_bundle.runner_version()}
    assert await docker_image.find_chosen_image_id(engine(labels), "node:9") == "sha256:1"


def engine(labels: dict[str, str] | None) -> Any:
    async def call(ask: Any, **_: Any) -> Any:
        if labels is None:
            raise DockerRefused(NOT_FOUND, "no such image")
        return {"Id": "sha256:1", "Config": {"Labels": labels}}

    return SimpleNamespace(call=call)
