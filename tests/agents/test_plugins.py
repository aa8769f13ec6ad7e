"""Plugins: bundles that a project enables and that agents have; a list replaces the former one."""

from __future__ import annotations

from typing import Any

import pytest

from paca.accounts.models import AuditEntry
from paca.agents import mcp_secrets, plugin_reading, prompts, skill_reading
from paca.agents import services as agents
from paca.agents.models import AgentPlugin, McpServer
from paca.agents.services import mcp_servers, skills
from paca.agents.services.mcp_servers import McpServerOfPlugin
from tests.support.api import Api
from tests.support.world import World, make_world

pytestmark = pytest.mark.django_db

OWN = {
    "name": "House rules",
    "skills": [
        {"name": "rules", "description": "The rules", "content": "Be kind.", "triggers": ["kindly"]}
    ],
    "mcp_servers": {"git": {"command": "git-mcp", "env": {"TOKEN": ""}}},
    "settings": {"approval": "all", "hint": "Be brief."},
}


@pytest.fixture
def world() -> World:
    return make_world()


@pytest.fixture
def api(world: World) -> Api:
    return Api(world.user)


def url(world: World, rest: str = "") -> str:
    return f"/projects/{world.project.pk}/plugins/{rest}"


def own(world: World, api: Api, **given: Any) -> str:
    answer = api.post(url(world), {**OWN, **given})
    assert answer.status_code == 201, answer.content
    return str(answer.data["id"])


def put(world: World, api: Api, *ids: str) -> Any:
    return api.ask(
        "put",
        f"/projects/{world.project.pk}/agents/{world.agent.pk}/plugins/",
        {"plugins": list(ids)},
    )


def test_built_in_plugin_is_enabled_then_had_with_its_estimate(world: World, api: Api) -> None:
    assert put(world, api, "testing").data["code"] == "plugin_not_enabled"
    assert api.post(url(world, "testing/enable/"), {}).data["enabled"]
    answer = put(world, api, "testing")
    assert answer.status_code == 200
    assert answer.data["prompt_tokens"] > 0
    assert answer.data["skill_tokens"] > 100
    contents = plugin_reading.contents_of(world.agent.pk)
    assert "manual-tester" in [each.name for each in prompts.read_skills(world.agent.pk, contents)]
    shown = {each["id"]: each for each in api.get(url(world)).data["results"]}
    assert (shown["testing"]["agents"], shown["github"]["enabled"]) == (1, False)


def test_list_replaces_the_former_one_and_leaves_what_people_added(world: World, api: Api) -> None:
    first = own(world, api)
    second = own(
        world,
        api,
        name="Other",
        skills=[],
        mcp_servers={"web": {"url": "https://mcp.example.org/mcp"}},
    )
    mcp_servers.create(world.agent, name="mine", by=world.owner, transport="stdio", command="mine")
    skills.create(world.agent, name="rules", by=world.owner, description="Ours", content="Ours.")
    put(world, api, first)
    assert set(world.agent.mcp_servers.values_list("name", flat=True)) == {"git", "mine"}
    opened = skill_reading.open_skill(world.agent.pk, "rules")
    assert opened is not None
    assert opened.content == "Ours."
    shown = prompts.read_skills(world.agent.pk, plugin_reading.contents_of(world.agent.pk))
    assert [(each.name, each.description) for each in shown] == [("rules", "Ours")]
    put(world, api, second)
    assert set(world.agent.mcp_servers.values_list("name", flat=True)) == {"web", "mine"}
    put(world, api)
    assert set(world.agent.mcp_servers.values_list("name", flat=True)) == {"mine"}
    assert world.agent.skills.count() == 1
    changed = AuditEntry.objects.filter(action="agent.plugins_changed").order_by("created_at")
    assert changed[1].facts["added"] == ["Other"]
    assert changed[1].facts["removed"] == ["House rules"]


def test_skill_and_stricter_settings_reach_the_agent_through_the_link(
    world: World, api: Api
) -> None:
    plugin = own(world, api)
    put(world, api, plugin)
    assert [each.name for each in skill_reading.called_for_by("Do it kindly", world.agent.pk)] == [
        "rules"
    ]
    agent = world.agent
    agent.hint = "Be quick."
    plugin_reading.apply_settings(agent, plugin_reading.contents_of(agent.pk))
    assert (agent.approval, agent.hint) == ("all", "Be quick.\nBe brief.")
    api.patch(
        url(world, f"{plugin}/"),
        {"skills": [{**OWN["skills"][0], "content": "Be kinder."}], "settings": {}},
    )
    opened = skill_reading.open_skill(world.agent.pk, "rules")
    assert opened is not None
    assert opened.content == "Be kinder."


def test_change_of_a_plugin_changes_the_servers_of_its_agents_and_keeps_their_secrets(
    world: World, api: Api
) -> None:
    plugin = own(world, api)
    put(world, api, plugin)
    server = world.agent.mcp_servers.get()
    assert server.env_names == ["TOKEN"]
    mcp_servers.change(server, by=world.owner, env={"TOKEN": "secret"})
    stored = McpServer.objects.get(pk=server.pk).encrypted_env
    changed = {
        "git": {"command": "git-mcp", "env": {"TOKEN": "", "B": ""}},
        "b": {"command": "b"},
    }
    assert api.patch(url(world, f"{plugin}/"), {"mcp_servers": changed}).status_code == 200
    after = McpServer.objects.get(pk=server.pk)
    assert stored
    assert mcp_secrets.open_values(after.encrypted_env) == {"TOKEN": "secret", "B": ""}
    changed["git"] = {"command": "other-mcp", "env": {"TOKEN": ""}}
    assert api.patch(url(world, f"{plugin}/"), {"mcp_servers": changed}).status_code == 200
    after.refresh_from_db()
    assert mcp_secrets.open_values(after.encrypted_env) == {"TOKEN": ""}
    assert world.agent.mcp_servers.count() == 2


def test_server_of_a_plugin_is_changed_and_deleted_with_the_plugin_only(
    world: World, api: Api
) -> None:
    put(world, api, own(world, api))
    server = world.agent.mcp_servers.get()
    with pytest.raises(McpServerOfPlugin):
        mcp_servers.change(server, by=world.owner, command="evil")
    with pytest.raises(McpServerOfPlugin):
        mcp_servers.delete(McpServer.objects.get(), by=world.owner)


def test_disabling_counts_first_and_takes_it_from_its_agents(world: World, api: Api) -> None:
    plugin = own(world, api)
    put(world, api, plugin)
    refused = api.post(url(world, f"{plugin}/disable/"), {})
    assert (refused.status_code, refused.data["code"]) == (409, "plugin_in_use")
    assert "have it: 1 (Rosa). MCP servers that go with it: 1." in refused.data["detail"]
    assert api.delete(url(world, f"{plugin}/")).status_code == 409
    assert api.post(url(world, f"{plugin}/disable/"), {"confirm": True}).data["enabled"] is False
    assert not AgentPlugin.objects.exists()
    assert not McpServer.objects.exists()
    assert put(world, api, plugin).data["code"] == "plugin_not_enabled"
    assert api.delete(url(world, f"{plugin}/")).status_code == 204


def test_server_name_that_the_agent_has_refuses_the_whole_list(world: World, api: Api) -> None:
    mcp_servers.create(world.agent, name="git", by=world.owner, transport="stdio", command="mine")
    answer = put(world, api, own(world, api))
    assert answer.status_code == 400
    assert "cannot have the MCP server git" in answer.data["fields"]["plugins"][0]
    assert not AgentPlugin.objects.exists()


def test_plugin_of_another_project_is_not_found(world: World, api: Api) -> None:
    other = make_world("Other")
    foreign = own(other, Api(other.user))
    assert put(world, api, foreign).status_code == 404
    assert api.get(url(world, f"{foreign}/")).status_code == 404


def test_retired_agent_has_no_plugins(world: World, api: Api) -> None:
    plugin = own(world, api)
    put(world, api, plugin)
    agents.retire(world.agent, by=world.owner)
    assert api.get(url(world, f"{plugin}/")).data["agents"] == 0


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"skills": [{"name": "a"}]}, "skills.0"),
        ({"skills": OWN["skills"] * 2}, "skills.1.name"),
        (
            {"mcp_servers": {"git": {"command": "a", "env": {"TOKEN": "secret"}}}},
            "mcp_servers.git.env",
        ),
        ({"mcp_servers": {"git": {"comand": "a"}}}, "mcp_servers.git"),
        ({"mcp_servers": {"git": {"url": "ftp://example.org"}}}, "mcp_servers.git.url"),
        ({"mcp_servers": {"git": {"command": "a\0"}}}, "mcp_servers.git.command"),
        ({"mcp_servers": []}, "mcp_servers"),
        ({"mcp_servers": 0}, "mcp_servers"),
        # What Django would store as a text, or not look at.
        ({"skills": [{**OWN["skills"][0], "content": 5, "always_on": True}]}, "skills.0.content"),
        ({"skills": [{**OWN["skills"][0], "name": 5}]}, "skills.0.name"),
        ({"skills": [{**OWN["skills"][0], "triggers": None}]}, "skills.0.triggers"),
        ({"skills": [{**OWN["skills"][0], "always_on": "t"}]}, "skills.0.always_on"),
        ({"skills": [{**OWN["skills"][0], "content": "a\0"}]}, "skills.0.content"),
        ({"settings": {"model": "x"}}, "settings.model"),
        ({"settings": {"approval": "never"}}, "settings.approval"),
        ({"settings": {"hint": "x" * 1001}}, "settings.hint"),
        ({"settings": []}, "settings"),
        ({"name": " "}, "name"),
    ],
)
def test_bad_content_is_refused(world: World, api: Api, given: dict[str, Any], field: str) -> None:
    answer = api.post(url(world), {**OWN, **given})
    assert answer.status_code == 400, answer.content
    assert field in answer.data["fields"]
