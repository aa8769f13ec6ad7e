"""The disk and the commands of an agent's sandbox: as its settings want, as far as installation and project allow."""

from typing import Any

import pytest

from paca.agents import allowed_commands, context_preview, sandbox_limits
from paca.agents.models import Agent
from paca.sandbox.base import SandboxLimits
from tests.support.api import Api
from tests.support.world import World, make_world

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    return make_world()


@pytest.fixture
def api(world: World) -> Api:
    return Api(world.user)


def agent_path(world: World) -> str:
    return f"/projects/{world.project.pk}/agents/{world.agent.pk}/"


def project_path(world: World) -> str:
    return f"/projects/{world.project.pk}/"


def limits(world: World) -> SandboxLimits:
    return sandbox_limits.limits_of(Agent.objects.get(pk=world.agent.pk))


def test_agent_has_the_quota_of_its_settings_and_else_that_of_the_server(
    world: World, api: Api, settings
) -> None:
    settings.SANDBOX_DISK_MIB = 512
    assert (limits(world).workspace_mib, limits(world).workspace_files) == (512, 512 * 128)
    answer = api.patch(agent_path(world), {"sandbox": {"disk_mib": 64, "files": 1000}})
    assert answer.status_code == 200
    assert (answer.json()["sandbox"]["disk_mib"], answer.json()["sandbox"]["files"]) == (64, 1000)
    assert (limits(world).workspace_mib, limits(world).workspace_files) == (64, 1000)


def test_ceiling_of_the_installation_holds_also_for_settings_from_before(
    world: World, api: Api, settings
) -> None:
    api.patch(agent_path(world), {"sandbox": {"disk_mib": 4096, "files": 500_000}})
    settings.SANDBOX_MAX_DISK_MIB, settings.SANDBOX_MAX_FILES = 1024, 2048
    assert (limits(world).workspace_mib, limits(world).workspace_files) == (1024, 2048)
    refused = api.patch(agent_path(world), {"sandbox": {"disk_mib": 1025, "files": 2049}})
    assert refused.status_code == 400
    assert "SANDBOX_MAX_DISK_MIB" in str(refused.json())
    assert "SANDBOX_MAX_FILES" in str(refused.json())


@pytest.mark.parametrize("field", ["disk_mib", "files"])
@pytest.mark.parametrize("value", [0, 1, -5, "many", 1 << 40, 1.5])
def test_bad_quotas_are_refused(world: World, api: Api, field: str, value: Any) -> None:
    answer = api.patch(agent_path(world), {"sandbox": {field: value}})
    assert answer.status_code == 400
    assert any(field in name for name in answer.json()["fields"])


def test_commands_of_project_and_agent_reach_the_run(world: World, api: Api) -> None:
    assert api.get(agent_path(world)).json()["allowed_commands"] is None
    assert api.patch(agent_path(world), {"allowed_commands": ["git"]}).status_code == 200
    assert api.patch(project_path(world), {"allowed_commands": []}).status_code == 200
    agent = Agent.objects.select_related("project").get(pk=world.agent.pk)
    found = allowed_commands.lists_of(agent, agent.project)
    shown = context_preview.preview(agent, project="Harbor", trigger_type="chat_message")
    [told] = [part.text for part in shown.parts if part.name == "commands"]
    assert "This project allows: none. This agent allows: `git`." in told
    assert "both lists" in told
    assert [(each.owner, each.patterns) for each in found] == [("project", ()), ("agent", ("git",))]
    assert api.patch(project_path(world), {"allowed_commands": None}).status_code == 200
    agent = Agent.objects.select_related("project").get(pk=world.agent.pk)
    assert len(allowed_commands.lists_of(agent, agent.project)) == 1


@pytest.mark.parametrize(
    "value", ["git", ["*"], ["git; ls"], ["git", "git"], [""], [f"a{n}" for n in range(201)]]
)
def test_bad_lists_of_commands_are_refused(world: World, api: Api, value: Any) -> None:
    for path in (agent_path(world), project_path(world)):
        answer = api.patch(path, {"allowed_commands": value})
        assert answer.status_code == 400, path
        assert any(name.startswith("allowed_commands") for name in answer.json()["fields"])
