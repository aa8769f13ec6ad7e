"""Personas: none, predefined or of the project; their text is a part of the system prompt in its place."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext

from paca.accounts.models import AuditEntry
from paca.agents import persona_catalogue, prompts
from paca.agents import services as agents
from paca.agents.models import Agent, Persona
from paca.agents.services import personas
from tests.support.api import Api
from tests.support.world import World, make_world

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    return make_world()


@pytest.fixture
def api(world: World) -> Api:
    return Api(world.user)


def url(world: World, rest: str = "") -> str:
    return f"/projects/{world.project.pk}/personas/{rest}"


def agent_url(world: World, rest: str = "") -> str:
    return f"/projects/{world.project.pk}/agents/{world.agent.pk}/{rest}"


def parts(world: World, api: Api) -> dict[str, str]:
    answer = api.get(agent_url(world, "preview/?trigger_type=chat_message"))
    return {part["name"]: part["text"] for part in answer.json()["parts"]}


def own(world: World, api: Api, **given: Any) -> str:
    body = {"name": "Pirate", "text": "You talk like a pirate.", **given}
    answer = api.post(url(world), body)
    assert answer.status_code == 201, answer.content
    return str(answer.json()["id"])


def test_predefined_persona_is_a_part_of_the_prompt_after_the_identity(
    world: World, api: Api
) -> None:
    assert "persona" not in parts(world, api)
    shown = api.patch(agent_url(world), {"persona": "plain-writer"}).json()
    assert shown["persona"] == "plain-writer"
    found = parts(world, api)
    assert found["persona"].startswith("You write plainly")
    names = list(found)
    assert names.index("persona") == names.index("identity") + 1
    assert api.patch(agent_url(world), {"persona": ""}).json()["persona"] == ""
    assert "persona" not in parts(world, api)


def test_persona_of_the_project_reaches_its_agents_when_it_changes(world: World, api: Api) -> None:
    persona = own(world, api)
    assert api.patch(agent_url(world), {"persona": persona}).json()["persona"] == persona
    assert parts(world, api)["persona"] == "You talk like a pirate."
    changed = api.patch(url(world, f"{persona}/"), {"text": "You talk like a captain.\n"})
    assert changed.json()["text"] == "You talk like a captain."
    assert parts(world, api)["persona"] == "You talk like a captain."
    api.patch(agent_url(world), {"persona": "calm-engineer"})
    row = Agent.objects.get(pk=world.agent.pk)
    assert (row.own_persona_id, row.predefined_persona) == (None, "calm-engineer")
    entry = AuditEntry.objects.filter(action="agent.configured").latest("created_at")
    assert entry.facts["fields"] == ["persona"]


def test_own_persona_is_prefilled_from_a_predefined_one(world: World, api: Api) -> None:
    answer = api.post(url(world), {"template": "strict-reviewer"}).json()
    source = persona_catalogue.find("strict-reviewer")
    assert source is not None
    assert (answer["text"], answer["category"]) == (source.text, "quality")
    mine = api.post(url(world), {"template": "plain-writer", "name": "Mine", "text": "Mine."})
    assert (mine.json()["name"], mine.json()["text"]) == ("Mine", "Mine.")


def test_list_has_predefined_and_own_ones_and_filters_by_category(world: World, api: Api) -> None:
    own(world, api, category="quality")
    every = api.get(url(world)).json()["results"]
    assert [each["predefined"] for each in every].count(False) == 1
    found = api.get(url(world, "?category=quality")).json()["results"]
    assert [each["name"] for each in found] == ["Strict reviewer", "Pirate"]
    assert api.get(url(world, "?category=pirates")).status_code == 400


def test_persona_that_an_agent_has_is_not_deleted(world: World, api: Api) -> None:
    persona = own(world, api)
    api.patch(agent_url(world), {"persona": persona})
    refused = api.delete(url(world, f"{persona}/"))
    assert (refused.status_code, refused.json()["code"]) == (409, "persona_in_use")
    assert "Rosa" in refused.json()["detail"]
    agents.retire(Agent.objects.get(pk=world.agent.pk), by=world.owner)
    assert api.delete(url(world, f"{persona}/")).status_code == 204
    assert not Persona.objects.exists()
    assert AuditEntry.objects.filter(action="persona.deleted").exists()


def test_unknown_or_foreign_persona_is_refused(world: World, api: Api) -> None:
    elsewhere = make_world("Elsewhere")
    foreign = personas.create(elsewhere.project, name="Theirs", text="A secret", by=None)
    for named in ("nobody", str(foreign.pk), "00000000-0000-0000-0000-000000000000", "x" * 41):
        answer = api.patch(agent_url(world), {"persona": named})
        assert (answer.status_code, list(answer.json()["fields"])) == (400, ["persona"])
    assert api.get(url(world, f"{foreign.pk}/")).status_code == 404


def test_name_is_unique_and_a_project_has_at_most_fifty(world: World, api: Api) -> None:
    own(world, api)
    assert api.post(url(world), {"name": "PIRATE", "text": "b"}).json()["fields"].keys() == {"name"}
    Persona.objects.bulk_create(
        Persona(project=world.project, name=f"P{number}", text="a") for number in range(49)
    )
    assert api.post(url(world), {"name": "More", "text": "b"}).json()["code"] == "too_many_personas"


def test_database_refuses_two_personas_of_one_agent(world: World) -> None:
    persona = personas.create(world.project, name="A", text="b", by=world.owner)
    both = {"own_persona": persona, "predefined_persona": "plain-writer"}
    with pytest.raises(IntegrityError), transaction.atomic():
        Agent.objects.filter(pk=world.agent.pk).update(**both)


def test_stale_change_of_a_persona_is_refused_with_the_present_one(world: World, api: Api) -> None:
    persona = own(world, api)
    answer = api.patch(url(world, f"{persona}/"), {"text": "b"}, If_Match="2020-01-01T00:00:00Z")
    assert answer.status_code == 412
    assert answer.json()["present"]["name"] == "Pirate"


def test_only_a_persona_of_the_project_costs_a_query(world: World) -> None:
    persona = personas.create(world.project, name="A", text="Arr.", by=world.owner)
    for named, text, queries in (
        ("", "", 0),
        ("calm-engineer", persona_catalogue.PERSONAS[0].text, 0),
        ("of-a-later-version", "", 0),
        (str(persona.pk), "Arr.", 1),
    ):
        with CaptureQueriesContext(connection) as seen:
            assert prompts.read_persona(named) == text
        assert len(seen) == queries
