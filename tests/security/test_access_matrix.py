"""Every address is asked by every kind of asker, and answers as ``access.py`` says."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.core.cache import cache
from django.db import transaction

from tests.security import access_routes, worlds
from tests.security.access import ASKERS, ROWS, bodies
from tests.security.worlds import Side, Worlds
from tests.support.api import Api

pytestmark = pytest.mark.django_db


@pytest.fixture
def two(settings: Any) -> Iterator[Worlds]:
    cache.clear()
    yield worlds.make()
    cache.clear()


def address(row: str, side: Side, **others: Any) -> tuple[str, str]:
    """The method, and the path with the ids of one project."""
    method, _, path = row.partition(" ")
    return method, path.format(**{"rest": "nothing/", "secret": "guess", **side.ids, **others})


def status(asker: Api, method: str, path: str, body: Any = None) -> int:
    """What the asker is answered; whatever it did is undone."""
    with transaction.atomic():
        answer = asker.send(method, path, body)
        transaction.set_rollback(True)
    return answer.status_code


def test_every_address_has_its_row_and_every_row_its_address() -> None:
    there = access_routes.everything()
    assert sorted(there - set(ROWS)) == [], "no row in tests/security/access.py"
    assert sorted(set(ROWS) - there) == [], "rows for what is not there"


@pytest.mark.parametrize("row", ROWS)
def test_each_asker_is_answered_as_the_table_says(row: str, two: Worlds) -> None:
    method, path = address(row, two.a)
    body = bodies(two.a).get(row)
    answers = {name: status(two.askers[name], method, path, body) for name in ASKERS}
    assert answers == dict(zip(ASKERS, ROWS[row], strict=True))


@pytest.mark.parametrize(
    ("row", "name"),
    [
        (row, name)
        for row in ROWS
        for name in access_routes.parameters(row)
        if name not in {"project", "rest", "secret"}
    ],
)
def test_an_id_of_another_project_in_the_address_is_unknown(
    row: str, name: str, two: Worlds
) -> None:
    method, path = address(row, two.a, **{name: two.b.ids[name]})
    assert status(two.askers["owner"], method, path, bodies(two.a).get(row)) == 404


@pytest.mark.parametrize(
    ("row", "name"),
    [
        (row, name)
        for row in ROWS
        for name in ("role_id", "agent_id", "workspace_id", "member_id")
        if f"'{name}'" in str(bodies(Side(None, None, dict.fromkeys(worlds.NAMES, 0))).get(row))
    ],
)
def test_an_id_of_another_project_in_the_body_is_unknown(row: str, name: str, two: Worlds) -> None:
    method, path = address(row, two.a)
    body = {**bodies(two.a)[row], name: str(two.b.ids[name])}
    assert status(two.askers["owner"], method, path, body) == 404


def test_a_right_taken_away_is_gone_with_the_next_request(two: Worlds) -> None:
    path = f"/api/v1/projects/{two.a.project.pk}/"
    manager = two.askers["manager"]
    assert manager.send("GET", path).status_code == 200
    two.a.project.members.filter(user__username="manager").update(deleted_at="2026-01-01T00:00Z")
    assert manager.send("GET", path).status_code == 404
