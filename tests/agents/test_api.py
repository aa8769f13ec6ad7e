"""The API of agents."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from paca.agents import encryption
from paca.agents.models import Agent
from paca.projects import signals
from tests.support.api import Api
from tests.support.world import MODEL, World, make_world

pytestmark = pytest.mark.django_db
KEY = "sk-ant-0123456789-abcdefghij-WXYZ"

ALL_FIELDS = {
    "name": "Bo",
    "handle": "bo",
    "description": "Builds boats.",
    "status": "paused",
    "category": "operations",
    "tags": ["boats", "tools"],
    "priority": "high",
    "model": MODEL,
    "base_url": "http://models:8080/v1",
    "llm_api_key": KEY,
    "parameters": {"temperature": 0.5, "max_tokens": 4096, "effort": "high"},
    "tools": ["add_comment", "read_task"],
    "prompts": {
        "system": "You build boats.\n",
        "task_assigned": "Build it.",
        "comment_mention": "Answer it.",
        "chat_message": "Be brief.",
        "description_write": "Describe it.",
        "execute": "Do it.",
        "verification": "Check it.",
        "hint": "Use the plans.",
    },
    "limits": {
        **{
            "steps": 9,
            "tokens": 5000,
            "cost_usd": "1.50",
            "seconds": 60,
            "concurrent": 2,
            "helpers": 3,
        },
        **{"turn_tokens": 2000, "turn_cost_usd": "0.50"},
        **{"day_tokens": 90_000, "day_cost_usd": "9.00"},
    },
    "sandbox": {"memory_mib": 512, "cpus": "0.5", "life": "persistent"},
    "git": {"name": "Bo", "email": "bo@boats.example"},
}


@pytest.fixture
def world() -> World:
    return make_world()


@pytest.fixture
def api(world: World) -> Api:
    return Api(world.user)


def path(world: World, agent: Any = "") -> str:
    return f"/projects/{world.project.pk}/agents/" + (f"{agent}/" if agent else "")


def make_agent(world: World, api: Api, **changes: Any) -> dict[str, Any]:
    body = {**ALL_FIELDS, "role_id": str(world.role("agent").pk), **changes}
    answer = api.post(path(world), body)
    assert answer.status_code == 201, answer.content
    return dict(answer.json())


def test_agent_is_shown_with_every_given_field_except_the_key(world: World, api: Api) -> None:
    shown = make_agent(world, api)
    assert shown == api.get(path(world, shown["id"])).json()
    expected = {name: value for name, value in ALL_FIELDS.items() if name != "llm_api_key"}
    dollars = {"cost_usd": 1.5, "turn_cost_usd": 0.5, "day_cost_usd": 9.0}
    expected["limits"] = {**ALL_FIELDS["limits"], **dollars}
    expected["sandbox"] = {
        **ALL_FIELDS["sandbox"],
        "cpus": 0.5,
        "disk_mib": None,
        "files": None,
        "network": "restricted",
        "image": "",
        "setup": "",
    }
    assert {name: shown[name] for name in expected} == expected
    assert shown["key"] == {"set": True, "last4": "WXYZ"}
    assert shown["role_id"] == str(world.role("agent").pk)
    assert KEY not in str(shown)
    assert encryption.decrypt(Agent.objects.get(pk=shown["id"]).encrypted_key) == KEY


def test_agent_can_be_made_from_the_required_fields_with_the_alias_of_role_id(
    world: World, api: Api
) -> None:
    role = str(world.role("viewer").pk)
    body = {"name": "Bo", "handle": "bo", "model": "demo/guide", "project_role_id": role}
    shown = api.post(path(world), body).json()
    assert (shown["role_id"], shown["is_demo"], shown["status"]) == (role, True, "active")
    assert shown["key"] == {"set": False, "last4": ""}
    assert shown["limits"]["concurrent"] == 5
    assert shown["tools"] is None


def test_agent_patch_keeps_the_fields_that_are_not_given(world: World, api: Api) -> None:
    before = make_agent(world, api)
    after = api.patch(path(world, before["id"]), {"limits": {"steps": None}}).json()
    before["limits"]["steps"] = None
    before["updated_at"] = after["updated_at"]
    assert after == before


def test_agent_has_the_tools_that_were_chosen_in_the_order_of_the_toolbox(
    world: World, api: Api
) -> None:
    agent = path(world, make_agent(world, api)["id"])
    every = [tool["name"] for tool in api.get("/tools/").json()["results"]]
    for given, kept in (
        (["read_task", "bash", "read_task"], ["bash", "read_task"]),
        ([], []),
        (every[::-1], None),
        (None, None),
    ):
        changed = api.patch(agent, {"tools": given})
        assert (changed.status_code, changed.json()["tools"]) == (200, kept)
        shown = api.get(f"{agent}preview/?trigger_type=chat_message").json()["tools"]
        wanted = every if kept is None else kept
        without_skills = [name for name in wanted if not name.endswith(("_skill", "_skills"))]
        assert [tool["name"] for tool in shown] == without_skills


@pytest.mark.parametrize("given", [["bash", "fly"], "bash", [7], {"bash": True}, [["bash"]]])
def test_tools_that_there_are_not_are_refused_with_the_list(
    world: World, api: Api, given: Any
) -> None:
    agent = path(world, make_agent(world, api)["id"])
    refused = api.patch(agent, {"tools": given})
    assert (refused.status_code, refused.json()["code"]) == (400, "invalid")
    assert [name.partition(".")[0] for name in refused.json()["fields"]] == ["tools"]
    if given == ["bash", "fly"]:
        (text,) = refused.json()["fields"]["tools"]
        assert text.startswith('There is no tool "fly". The tools are: add_comment, ask_person, ')
    assert api.get(agent).json()["tools"] == ALL_FIELDS["tools"]


def test_agent_as_shown_can_be_sent_back(world: World, api: Api) -> None:
    shown = make_agent(world, api)
    sent = {
        name: shown[name]
        for name in ("name", "handle", "model", "role_id", "parameters", "prompts", "limits")
    }
    sent |= {"sandbox": shown["sandbox"], "git": shown["git"], "llm_api_key": "***"}
    after = api.patch(path(world, shown["id"]), sent)
    assert after.status_code == 200, after.content
    assert after.json()["key"] == shown["key"]
    assert encryption.decrypt(Agent.objects.get(pk=shown["id"]).encrypted_key) == KEY


def test_agent_patch_of_an_outdated_version_is_refused(world: World, api: Api) -> None:
    seen = make_agent(world, api)
    api.patch(path(world, seen["id"]), {"name": "Bob"})
    refused = api.patch(path(world, seen["id"]), {"name": "Bo"}, If_Match=seen["updated_at"])
    assert (refused.status_code, refused.json()["code"]) == (412, "changed_meanwhile")
    assert Agent.objects.get(pk=seen["id"]).name == "Bob"


def test_retired_agent_is_in_no_list(world: World, api: Api) -> None:
    received: list[str] = []

    def receive(change: str, **_: Any) -> None:
        received.append(change)

    signals.members_changed.connect(receive)
    try:
        assert api.delete(path(world, world.agent.pk)).status_code == 204
    finally:
        signals.members_changed.disconnect(receive)
    assert received == ["removed"]
    assert api.get(path(world, world.agent.pk)).status_code == 404
    assert api.delete(path(world, world.agent.pk)).status_code == 404
    assert api.get(path(world)).json()["results"] == []
    members = api.get(f"/projects/{world.project.pk}/members/").json()["results"]
    assert [member["kind"] for member in members] == ["human"]


def test_agent_list_needs_a_constant_number_of_queries(world: World, api: Api) -> None:
    for number in range(3):
        make_agent(world, api, name=f"Bo {number}", handle=f"bo{number}")
    few = _count_queries(api, path(world))
    for number in range(3, 9):
        make_agent(world, api, name=f"Bo {number}", handle=f"bo{number}")
    assert _count_queries(api, path(world)) == few


def test_connection_check_of_the_demo_agent_succeeds(world: World, api: Api) -> None:
    answer = api.post(f"{path(world, world.agent.pk)}test-connection/")
    assert answer.json()["works"] is True


@pytest.mark.process
def test_connection_check_names_an_unreachable_server_as_the_cause(world: World, api: Api) -> None:
    shown = make_agent(world, api, base_url="http://127.0.0.1:9/v1")
    answer = api.post(f"{path(world, shown['id'])}test-connection/")
    assert answer.status_code == 200
    assert (answer.json()["works"], answer.json()["code"]) == (False, "model_unreachable")
    assert KEY not in str(answer.json())


def test_catalogues_list_models_and_tools(api: Api) -> None:
    models = api.get("/agents/llm-models/").json()["results"]
    assert {"model": "demo/guide", "needs_key": False}.items() <= models[0].items()
    tools = {tool["name"]: tool for tool in api.get("/tools/").json()["results"]}
    assert (tools["bash"]["effect"], tools["read_file"]["effect"]) == ("opaque", "read_only")


def _count_queries(api: Api, address: str) -> int:
    with CaptureQueriesContext(connection) as captured:
        assert api.get(address).status_code == 200
    return len(captured)
