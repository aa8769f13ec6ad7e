"""The page with the list of agents: its filters are links, and each of its states leads somewhere."""

import re
from html import unescape
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from paca.agents import services as agents
from tests.support.world import World


@pytest.fixture
def crew(harbor: World) -> World:
    hire(harbor, "Ana", agent_type="developer", tags=["go", "api"], priority=3)
    hire(harbor, "Bo", agent_type="ba", status="paused")
    return harbor


def hire(harbor: World, name: str, **settings: Any) -> None:
    given = {"name": name, "handle": name.lower(), "model": "demo/guide", **settings}
    agents.create(harbor.project, role=harbor.role("agent"), by=harbor.owner, **given)


def body(client: Client, harbor: World, query: str = "") -> str:
    answer = client.get(f"/projects/{harbor.project.pk}/agents/{query}")
    assert answer.status_code == 200
    return unescape(answer.content.decode())


def shown(text: str) -> list[str]:
    return re.findall(r"<small>@([a-z0-9]+) ", text)


@pytest.mark.parametrize(
    ("query", "handles"),
    [
        ("", ["ana", "bo", "rosa"]),
        ("?sort=-priority", ["ana", "bo", "rosa"]),
        ("?status=paused", ["bo"]),
        ("?category=engineering&category=custom", ["ana", "rosa"]),
        ("?tag=go&search=api", ["ana"]),
        ("?search=%40bo", ["bo"]),
        ("?page=2", []),
        ("?page=" + "1" * 5000, ["ana", "bo", "rosa"]),
        ("?page=many&sort=color&limit=1", ["ana", "bo", "rosa"]),
    ],
)
def test_page_shows_the_agents_of_its_address(
    query: str, handles: list[str], ada: Client, crew: World
) -> None:
    assert shown(body(ada, crew, query)) == handles


def test_filters_are_links_with_counts_and_are_given_up_one_by_one(
    ada: Client, crew: World
) -> None:
    text = body(ada, crew, "?status=active&tag=go")
    assert 'href="?tag=go&status=active&category=product"' in text
    assert 'href="?status=active" aria-current="true">#go' in text
    assert 'href="?tag=go&status=paused">Paused <span class="muted num">1</span>' in text
    assert '<input type="hidden" name="tag" value="go">' in text


def test_empty_result_says_what_was_sought_and_shows_all(ada: Client, crew: World) -> None:
    text = body(ada, crew, "?search=<b>zebra&status=paused")
    assert "No agent matches" in text
    assert '<a class="btn" href="?">Show all 3</a>' in text
    assert "<b>zebra" not in ada.get("?search=<b>zebra").content.decode()


def test_filter_that_does_not_exist_is_told_and_hides_nobody(ada: Client, crew: World) -> None:
    text = body(ada, crew, "?category=pirates")
    assert "'pirates' is not one of" in text
    assert shown(text) == ["ana", "bo", "rosa"]


def test_page_takes_the_same_number_of_queries_for_3_and_30_agents(
    ada: Client, crew: World
) -> None:
    counts = []
    for number in (0, 27):
        for each in range(number):
            hire(crew, f"More{each}", tags=[f"t{each}"])
        with CaptureQueriesContext(connection) as seen:
            body(ada, crew)
        counts.append(len(seen))
    assert counts[0] == counts[1]


def test_overview_says_that_all_agents_are_inactive_and_not_that_there_are_none(
    ada: Client, harbor: World
) -> None:
    agents.configure(harbor.agent, by=harbor.owner, status="inactive")
    page = ada.get(f"/projects/{harbor.project.pk}/").content.decode()
    assert "No agent takes work now" in page
    assert "No agents yet" not in page
