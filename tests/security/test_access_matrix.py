"""Sends requests to every route as every principal, and compares with ``access_table.py``."""

import copy
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.cache import cache
from django.db import transaction

from tests.security import access_routes, two_projects
from tests.security.access_table import PRINCIPALS, ROWS, bodies
from tests.security.two_projects import ProjectObjects, TwoProjects
from tests.support.api import Api

# Parameters without an object of another project. Requests to project B are those of the stranger.
WITHOUT_FOREIGN_OBJECT = {"project", "rest", "secret", "event_seq"}

pytestmark = pytest.mark.django_db


@pytest.fixture
def projects(settings: Any) -> Iterator[TwoProjects]:
    cache.clear()
    yield two_projects.make_two_projects()
    cache.clear()


def request_line(row: str, target: ProjectObjects, **others: Any) -> tuple[str, str]:
    """The method of a row, and its path with ids of the project's objects."""
    method, _, path = row.partition(" ")
    return method, path.format(**{"rest": "nothing/", "secret": "guess", **target.ids, **others})


def send(principal: Api, method: str, path: str, body: Any = None) -> int:
    """The status of the answer. The request's changes are rolled back."""
    cookies = copy.deepcopy(principal.client.cookies)
    with transaction.atomic():
        answer = principal.send(method, path, body)
        transaction.set_rollback(True)
    principal.client.cookies = cookies
    return answer.status_code


def test_access_table_has_a_row_for_every_route_and_no_other() -> None:
    routes = access_routes.all_routes()
    assert sorted(routes - set(ROWS)) == [], "no row in tests/security/access_table.py"
    assert sorted(set(ROWS) - routes) == [], "rows without a route"


def test_access_of_each_principal_is_as_the_table_says(projects: TwoProjects) -> None:
    wrong: list[str] = []
    for row, expected in ROWS.items():
        method, path = request_line(row, projects.a)
        body = bodies(projects.a).get(row)
        for name, status in zip(PRINCIPALS, expected, strict=True):
            if (answered := send(projects.principals[name], method, path, body)) != status:
                wrong.append(f"{row}: {name} is answered {answered}, the table says {status}")
    assert not wrong, "\n".join(wrong)


def test_id_of_another_project_in_the_path_is_not_found(projects: TwoProjects) -> None:
    requests = {
        f"{row} with {name} of B": request_line(row, projects.a, **{name: projects.b.ids[name]})
        for row in ROWS
        # A git server belongs to no project.
        if "/webhooks/" not in row
        for name in access_routes.parameters(row)
        if name not in WITHOUT_FOREIGN_OBJECT
    }
    answers = {
        request: send(
            projects.principals["owner"],
            method,
            path,
            bodies(projects.a).get(request.split(" with ")[0]),
        )
        for request, (method, path) in requests.items()
    }
    assert len(answers) > 20
    assert {request: status for request, status in answers.items() if status != 404} == {}


def test_id_of_another_project_in_the_body_is_not_found(projects: TwoProjects) -> None:
    answers = {
        f"{row} with {name} of B": send(
            projects.principals["owner"],
            *request_line(row, projects.a),
            {**body, name: str(projects.b.ids[name])},
        )
        for row, body in bodies(projects.a).items()
        for name in set(body) & set(projects.b.ids)
    }
    assert len(answers) >= 5
    assert {request: status for request, status in answers.items() if status != 404} == {}


def test_removed_member_is_refused_with_the_next_request(projects: TwoProjects) -> None:
    path = f"/api/v1/projects/{projects.a.project.pk}/"
    manager = projects.principals["manager"]
    assert manager.send("GET", path).status_code == 200
    projects.a.project.members.filter(user__username="manager").update(
        deleted_at="2026-01-01T00:00Z"
    )
    assert manager.send("GET", path).status_code == 404
