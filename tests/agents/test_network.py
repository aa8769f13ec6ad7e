"""An agent has the network that its settings want and its project allows; people decide how wide it is."""

from typing import Any

import pytest
from django.db import IntegrityError, transaction

from paca.agents import network
from paca.agents.models import Agent
from paca.common.network_policy import PRESETS, Network
from paca.projects.models import Project
from paca.projects.services import members
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


def policy(world: World) -> Any:
    agent = Agent.objects.select_related("project").get(pk=world.agent.pk)
    return network.policy_of(agent, agent.project)


def test_a_new_project_is_closed_and_its_agents_wait_for_it(world: World, api: Api) -> None:
    shown = api.get(project_path(world)).json()
    assert (shown["network"], shown["network_presets"], shown["network_hosts"]) == ("none", [], [])
    assert api.get(agent_path(world)).json()["sandbox"]["network"] == "restricted"
    assert policy(world).network is Network.NONE


def test_a_project_opens_the_hosts_of_its_list(world: World, api: Api) -> None:
    given = {
        **{"network": "restricted", "network_presets": ["python"], "network_hosts": ["a.example"]},
        "package_cache": True,
    }
    shown = api.patch(project_path(world), given)
    assert shown.status_code == 200
    assert {name: shown.json()[name] for name in given} == given
    found = policy(world)
    assert found.network is Network.RESTRICTED
    assert found.hosts == (*PRESETS["python"], "a.example")
    assert PRESETS["python"][0] in network.describe(found)


@pytest.mark.parametrize(
    ("ceiling", "wanted", "found"),
    [
        ("none", "open", "none"),
        ("restricted", "open", "restricted"),
        ("open", "open", "open"),
        ("open", "none", "none"),
    ],
)
def test_an_agent_gets_no_more_than_its_project_allows(
    world: World, api: Api, ceiling: str, wanted: str, found: str
) -> None:
    api.patch(project_path(world), {"network": ceiling})
    changed = api.patch(agent_path(world), {"sandbox": {"network": wanted}})
    assert changed.json()["sandbox"]["network"] == wanted
    assert policy(world).network == found


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("network", "all"),
        ("network", None),
        ("network_presets", ["windows"]),
        ("network_presets", "python"),
        ("network_presets", ["python", "python"]),
        ("network_hosts", ["127.0.0.1"]),
        ("network_hosts", ["*"]),
        ("network_hosts", ["https://pkgs.dev/"]),
        ("network_hosts", ["localhost"]),
        ("network_hosts", [7]),
        ("network_hosts", ["a.example", "a.example"]),
        ("network_hosts", [f"a{n}.example" for n in range(201)]),
    ],
)
def test_bad_networks_of_a_project_are_refused(
    world: World, api: Api, field: str, value: Any
) -> None:
    answer = api.patch(project_path(world), {field: value})
    assert answer.status_code == 400
    assert any(name.startswith(field) for name in answer.json()["fields"])


@pytest.mark.parametrize("value", ["all", "", None, 7])
def test_bad_networks_of_an_agent_are_refused(world: World, api: Api, value: Any) -> None:
    answer = api.patch(agent_path(world), {"sandbox": {"network": value}})
    assert answer.status_code == 400


@pytest.fixture
def builder(world: World) -> Api:
    """Somebody who may change agents, and not the project."""
    role = world.role("viewer")
    role.permissions = ["agents:write", "agents:read", "projects:read"]
    role.save()
    person = make_world("Other").user
    members.add_person(world.project, user=person, role=role, by=world.owner)
    return Api(person)


@pytest.mark.parametrize("in_defaults", [True, False])
def test_many_agents_are_opened_by_somebody_who_may_change_the_project(
    world: World, builder: Api, in_defaults: bool
) -> None:
    path = f"/projects/{world.project.pk}/agents/bulk/"
    row = {"handle": "first", "name": "First", "model": "demo/guide"}
    row["role_id"] = str(world.role("viewer").pk)
    wide = {"sandbox": {"network": "open"}}
    given = {"defaults": wide, "agents": [row]} if in_defaults else {"agents": [{**row, **wide}]}
    refused = builder.post(path, given)
    assert refused.status_code == 403
    assert builder.post(path, {"agents": [row]}).status_code == 201


def test_an_agent_is_opened_by_somebody_who_may_change_the_project(
    world: World, builder: Api
) -> None:
    api = builder
    assert api.patch(agent_path(world), {"sandbox": {"network": "open"}}).status_code == 403
    assert api.patch(agent_path(world), {"sandbox": {"network": "none"}}).status_code == 200
    assert api.patch(project_path(world), {"network": "open"}).status_code == 403


def test_the_database_knows_three_networks(world: World) -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        Project.objects.filter(pk=world.project.pk).update(network="all")
    with pytest.raises(IntegrityError), transaction.atomic():
        Agent.objects.filter(pk=world.agent.pk).update(sandbox_network="all")
