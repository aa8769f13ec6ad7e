"""Many agents are made at once: all of them, or none, with the problem of each row."""

from __future__ import annotations

from typing import Any

import pytest

from paca.accounts.models import AuditEntry
from paca.agents.models import Agent, Skill
from paca.agents.services import bulk
from paca.common.errors import Invalid
from paca.projects.models import Member
from tests.support.api import Api
from tests.support.world import World, make_world

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    return make_world()


@pytest.fixture
def api(world: World) -> Api:
    return Api(world.user)


def post(world: World, api: Api, rows: list[Any], **defaults: Any) -> Any:
    given = {"model": "demo/guide", "role_id": str(world.role("agent").pk), **defaults}
    return api.post(
        f"/projects/{world.project.pk}/agents/bulk/", {"defaults": given, "agents": rows}
    )


def row(handle: str, **more: Any) -> dict[str, Any]:
    return {"name": handle.title(), "handle": handle, **more}


def test_agents_are_made_in_order_with_defaults_memberships_skills_and_audit(
    world: World, api: Api
) -> None:
    viewer = str(world.role("viewer").pk)
    answer = post(
        world,
        api,
        [row("ana", agent_type="developer"), row("bo", role_id=viewer, tags=["Go"]), row("cy")],
        priority="high",
    )
    assert answer.status_code == 201, answer.content
    made = answer.json()["results"]
    assert [each["handle"] for each in made] == ["ana", "bo", "cy"]
    assert {each["priority"] for each in made} == {"high"}
    assert (made[1]["role_id"], made[1]["tags"]) == (viewer, ["go"])
    assert Member.objects.filter(agent__in=[each["id"] for each in made]).count() == 3
    assert Skill.objects.get().agent.handle == "ana"
    assert AuditEntry.objects.filter(action="agent.created", object_name__contains="@cy").exists()


def test_one_bad_row_makes_no_agent_and_each_problem_is_named(world: World, api: Api) -> None:
    answer = post(
        world,
        api,
        [
            row("ana"),
            row("ana", name="Another"),
            row("rosa"),
            row("cy", model="acme/x", prompts={"system": "x" * 50_001}),
            row("di", agent_type="pirate"),
        ],
    )
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid")
    assert sorted(answer.json()["fields"]) == [
        "agents.1.handle",
        "agents.2.handle",
        "agents.2.name",
        "agents.3.model",
        "agents.3.prompts.system",
        "agents.4.agent_type",
    ]
    assert [each.handle for each in Agent.objects.all()] == ["rosa"]
    assert not AuditEntry.objects.filter(object_name__contains="@ana").exists()


def test_more_than_fifty_or_none_are_refused_by_api_and_service(world: World, api: Api) -> None:
    many = [row(f"a{number}") for number in range(51)]
    assert post(world, api, many).json()["fields"].keys() == {"agents"}
    for rows in ([], many):
        with pytest.raises(Invalid):
            bulk.create(world.project, rows, by=None)
    assert post(world, api, many[:50]).status_code == 201
    assert Agent.objects.count() == 51


def test_row_with_a_role_beyond_ones_own_or_of_another_project_makes_no_agent(
    world: World, api: Api
) -> None:
    foreign = str(make_world("Elsewhere").role("agent").pk)
    assert post(world, api, [row("ana"), row("bo", role_id=foreign)]).status_code == 404
    assert not Agent.objects.filter(handle="ana").exists()


def test_same_request_sent_again_makes_no_second_crew(world: World, api: Api) -> None:
    body = {
        "defaults": {"model": "demo/guide", "role_id": str(world.role("agent").pk)},
        "agents": [row("ana")],
    }
    path = f"/projects/{world.project.pk}/agents/bulk/"
    first = api.post(path, body, Idempotency_Key="crew")
    again = api.post(path, body, Idempotency_Key="crew")
    assert (first.status_code, again.status_code) == (201, 201)
    assert again.json() == first.json()
    assert Agent.objects.filter(handle="ana").count() == 1
