"""Lists of agents: filters, orders and pages, by the API and on the page; types, categories, tags, priority."""

from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext

from paca.agents import services as agents
from paca.agents.models import Agent
from paca.agents.models.tags import normalize_tags
from tests.support.api import Api
from tests.support.world import World, make_world

pytestmark = pytest.mark.django_db

CREW: dict[str, dict[str, Any]] = {
    "ana": {"agent_type": "developer", "tags": ["Go", "api"], "priority": 3},
    "bo": {"agent_type": "ba", "tags": ["golang"], "status": "paused", "priority": 0},
    "cy": {"agent_type": "manual-tester", "description": "Finds 100% of bugs_in forms"},
    "di": {"category": "data", "status": "inactive", "tags": ["API", "Nightly Runs"]},
}


@pytest.fixture
def world() -> World:
    world = make_world()
    for handle, settings in CREW.items():
        make_agent(world, handle, **settings)
    make_world("Elsewhere", handle="eve", tags=["go"])
    return world


@pytest.fixture
def api(world: World) -> Api:
    return Api(world.user)


def make_agent(world: World, handle: str, **settings: Any) -> Agent:
    given = {"name": handle.title(), "handle": handle, "model": "demo/guide", **settings}
    return agents.create(world.project, role=world.role("agent"), by=world.owner, **given)


def path(world: World, query: str = "") -> str:
    return f"/projects/{world.project.pk}/agents/{query}"


def found(api: Api, world: World, query: str) -> str:
    answer = api.get(path(world, query))
    assert answer.status_code == 200, answer.content
    return " ".join(each["handle"] for each in answer.json()["results"])


@pytest.mark.parametrize(
    ("query", "handles"),
    [
        ("", "ana bo cy di rosa"),
        ("&type=developer&type=ba", "ana bo"),
        ("&type=nobody", ""),
        ("&category=engineering", "ana"),
        ("&category=custom&category=data", "di rosa"),
        ("&tag=GO", "ana"),
        ("&tag=go&tag=%23golang", "ana bo"),
        ("&tag=nightly%20runs", "di"),
        ("&tag=%25", ""),
        ("&tag=api|go", ""),
        ("&tag=api&status=active", "ana"),
        ("&priority=critical&priority=low", "ana bo"),
        ("&status=paused&status=inactive", "bo di"),
        ("&search=%40bo", "bo"),
        ("&search=100%25", "cy"),
        ("&search=bugs_in", "cy"),
        ("&search=develop", "ana"),
        ("&search=nightly-runs", "di"),
        ("&status=", "ana bo cy di rosa"),
    ],
)
def test_list_of_agents_has_those_that_match_every_filter(
    query: str, handles: str, world: World, api: Api
) -> None:
    assert found(api, world, f"?ordering=name{query}") == handles


@pytest.mark.parametrize(
    ("ordering", "handles"),
    [
        ("name", "ana bo cy di rosa"),
        ("-name", "rosa di cy bo ana"),
        ("created_at", "rosa ana bo cy di"),
        ("status", "ana cy rosa di bo"),
    ],
)
def test_list_of_agents_comes_in_the_order_asked_for(
    ordering: str, handles: str, world: World, api: Api
) -> None:
    listed = found(api, world, f"?ordering={ordering}").split()
    if ordering == "status":
        assert listed[3:] == ["di", "bo"]
        assert set(listed[:3]) == {"ana", "cy", "rosa"}
    else:
        assert listed == handles.split()


@pytest.mark.parametrize("ordering", ["priority", "-priority", "category", "name", "-created_at"])
def test_every_agent_comes_once_on_pages_of_two(ordering: str, world: World, api: Api) -> None:
    listed, url = [], path(world, f"?ordering={ordering}&limit=2")
    while url:
        answer = api.get(url.partition("/api/v1")[2] or url).json()
        listed += [each["handle"] for each in answer["results"]]
        back, url = answer["previous"], answer["next"]
    assert sorted(listed) == ["ana", "bo", "cy", "di", "rosa"]
    before = api.get(back.partition("/api/v1")[2]).json()["results"]
    assert [each["handle"] for each in before] == listed[2:4]


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("category=pirates", "category"),
        ("priority=3", "priority"),
        ("status=running", "status"),
        ("ordering=color", "ordering"),
        ("search=%00", "search"),
        ("search=" + "x" * 60_000, "search"),
        ("tag=" + "x" * 201, "tag"),
        ("tag=" + "&tag=".join("abcdefghijklmnopqrstu"), "tag"),
        ("cursor=bm9uZQ", "cursor"),
        ("ordering=name&cursor=WyJuYW1lIixmYWxzZSwiYSIsM10", "cursor"),
    ],
)
def test_bad_filter_of_agents_is_refused(query: str, field: str, world: World, api: Api) -> None:
    answer = api.get(path(world, f"?{query}"))
    assert (answer.status_code, list(answer.json()["fields"])) == (400, [field])


def test_list_of_agents_takes_the_same_number_of_queries_for_3_and_30(
    world: World, api: Api
) -> None:
    counts = []
    for n in range(2):
        if n:
            for number in range(25):
                make_agent(world, f"more{number}", tags=[f"t{number}", "go"])
        with CaptureQueriesContext(
            connection,
        ) as seen:
            api.get(path(world, "?limit=30&ordering=name&tag=go"))
        counts.append(len(seen))
    assert counts[0] == counts[1]


def test_type_chooses_the_category_and_a_category_keeps_the_type(world: World, api: Api) -> None:
    ana = path(world, f"{Agent.objects.get(handle='ana').pk}/")
    assert api.get(ana).json()["category"] == "engineering"
    moved = api.patch(ana, {"category": "operations"}).json()
    assert (moved["agent_type"], moved["category"]) == ("developer", "operations")
    special = api.patch(ana, {"agent_type": "security-reviewer", "category": "quality"}).json()
    assert (special["agent_type"], special["category"]) == ("security-reviewer", "quality")
    prompt = special["prompts"]["system"]
    again = api.patch(ana, {"agent_type": "manual-tester"}).json()
    assert (again["category"], again["prompts"]["system"]) == ("quality", prompt)
    # The same type once more is no change, so the category stays where a person has put it.
    api.patch(ana, {"category": "support"})
    assert api.patch(ana, {"agent_type": "manual-tester"}).json()["category"] == "support"


def test_types_are_listed_with_their_category(world: World, api: Api) -> None:
    listed = {each["slug"]: each["category"] for each in api.get("/agent-types/").json()["results"]}
    assert (listed["ba"], listed["own"]) == ("product", "custom")


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (["Go", " go ", "#GO"], ["go"]),
        (["Nightly  Runs", "api"], ["api", "nightly-runs"]),
        (["Straße", "ＡＰＩ"], ["api", "strasse"]),
        (["", "  ", "#"], []),
    ],
)
def test_tags_are_normalized(given: list[str], kept: list[str], world: World, api: Api) -> None:
    assert normalize_tags(given) == kept
    rosa = path(world, f"{world.agent.pk}/")
    assert api.patch(rosa, {"tags": given}).json()["tags"] == kept
    assert Agent.objects.get(pk=world.agent.pk).tags == kept


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"tags": ["a|b"]}, "tags"),
        ({"tags": ["x" * 31]}, "tags"),
        ({"tags": [f"t{n}" for n in range(21)]}, "tags"),
        ({"tags": "go"}, "tags"),
        ({"tags": [3, []]}, "tags.1"),
        ({"category": "pirates"}, "category"),
        ({"priority": 3}, "priority"),
        ({"priority": "urgent"}, "priority"),
        ({"agent_type": "Pirate King"}, "agent_type"),
        ({"agent_type": "x" * 41}, "agent_type"),
    ],
)
def test_bad_place_in_the_catalogue_is_refused(
    body: dict[str, Any], field: str, world: World, api: Api
) -> None:
    answer = api.patch(path(world, f"{world.agent.pk}/"), body)
    assert (answer.status_code, list(answer.json()["fields"])) == (400, [field])


def test_database_refuses_a_priority_or_category_that_does_not_exist(world: World) -> None:
    for wrong in ({"priority": 9}, {"category": "pirates"}):
        with pytest.raises(IntegrityError), transaction.atomic():
            Agent.objects.filter(pk=world.agent.pk).update(**wrong)
