"""Every address is asked by every kind of asker, and answers as ``access.py`` says."""

import copy
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.cache import cache
from django.db import transaction

from tests.security import access_routes, worlds
from tests.security.access import ASKERS, ROWS, bodies
from tests.security.worlds import Side, Worlds
from tests.support.api import Api

# Another project's of these is asked for by the stranger, or they name no object.
OF_THE_ASKED = {"project", "rest", "secret"}

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


def ask(asker: Api, method: str, path: str, body: Any = None) -> int:
    """What the asker is answered; whatever it did is undone."""
    cookies = copy.deepcopy(asker.client.cookies)
    with transaction.atomic():
        answer = asker.send(method, path, body)
        transaction.set_rollback(True)
    asker.client.cookies = cookies
    return answer.status_code


def test_access_table_has_a_row_for_every_route_and_no_other() -> None:
    there = access_routes.all_routes()
    assert sorted(there - set(ROWS)) == [], "no row in tests/security/access.py"
    assert sorted(set(ROWS) - there) == [], "rows for what is not there"


def test_access_of_each_client_is_as_the_table_says(two: Worlds) -> None:
    wrong: list[str] = []
    for row, expected in ROWS.items():
        method, path = address(row, two.a)
        body = bodies(two.a).get(row)
        for name, status in zip(ASKERS, expected, strict=True):
            if (answered := ask(two.askers[name], method, path, body)) != status:
                wrong.append(f"{row}: {name} is answered {answered}, the table says {status}")
    assert not wrong, "\n".join(wrong)


def test_id_of_another_project_in_the_path_is_not_found(two: Worlds) -> None:
    asked = {
        f"{row} with {name} of B": address(row, two.a, **{name: two.b.ids[name]})
        for row in ROWS
        for name in access_routes.parameters(row)
        if name not in OF_THE_ASKED
    }
    answers = {
        what: ask(two.askers["owner"], method, path, bodies(two.a).get(what.split(" with ")[0]))
        for what, (method, path) in asked.items()
    }
    assert len(answers) > 20
    assert {what: status for what, status in answers.items() if status != 404} == {}


def test_id_of_another_project_in_the_body_is_not_found(two: Worlds) -> None:
    answers = {
        f"{row} with {name} of B": ask(
            two.askers["owner"],
            *address(row, two.a),
            {**body, name: str(two.b.ids[name])},
        )
        for row, body in bodies(two.a).items()
        for name in set(body) & set(two.b.ids)
    }
    assert len(answers) >= 5
    assert {what: status for what, status in answers.items() if status != 404} == {}


def test_removed_member_is_refused_with_the_next_request(two: Worlds) -> None:
    path = f"/api/v1/projects/{two.a.project.pk}/"
    manager = two.askers["manager"]
    assert manager.send("GET", path).status_code == 200
    two.a.project.members.filter(user__username="manager").update(deleted_at="2026-01-01T00:00Z")
    assert manager.send("GET", path).status_code == 404
