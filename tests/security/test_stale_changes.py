"""A page that was idle while others worked overwrites nothing, and still takes part."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.core.cache import cache
from django.db import transaction

from tests.security import two_projects
from tests.security.access_table import ROWS, C, bodies
from tests.security.two_projects import TwoProjects

pytestmark = pytest.mark.django_db

LONG_AGO = {"If_Match": "2020-01-01T00:00:00Z"}


@pytest.fixture
def projects() -> Iterator[TwoProjects]:
    cache.clear()
    yield two_projects.make_two_projects()
    cache.clear()


def send(projects: TwoProjects, row: str, body: Any, **headers: str) -> Any:
    method, _, path = row.partition(" ")
    with transaction.atomic():
        answer = projects.principals["owner"].send(
            method, path.format(**projects.a.ids), body, **headers
        )
        transaction.set_rollback(True)
    return answer


def guarded_rows(projects: TwoProjects) -> set[str]:
    """The rows of the access table whose operation documents ``If-Match``."""
    schema = projects.principals["owner"].get("/schema/?format=json").json()
    return {
        f"{method.upper()} {path}"
        for path, methods in schema["paths"].items()
        for method, operation in methods.items()
        if any(each["name"] == "If-Match" for each in operation.get("parameters", []))
    }


def test_every_change_of_what_has_changed_meanwhile_is_refused(projects: TwoProjects) -> None:
    rows = guarded_rows(projects)
    assert rows <= set(ROWS)
    assert len(rows) >= 10
    answers = {row: send(projects, row, bodies(projects.a)[row], **LONG_AGO) for row in rows}
    codes = {row: (each.status_code, each.json().get("code")) for row, each in answers.items()}
    assert {row: code for row, code in codes.items() if code != (412, "changed_meanwhile")} == {}


def test_message_of_a_page_that_is_out_of_date_is_accepted(projects: TwoProjects) -> None:
    assert send(projects, f"PATCH {C}", {"title": "Mine"}, **LONG_AGO).status_code == 412
    assert send(projects, f"POST {C}messages/", {"text": "Hello"}, **LONG_AGO).status_code == 202
