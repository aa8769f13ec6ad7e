"""The API of search: objects, filters, and that it shows only what the reader may read."""

import pytest

from paca.projects.services import comments, roles, tasks
from tests.projects.support import make_member
from tests.support.api import Api
from tests.support.world import World, make_world

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    return make_world()


def test_hit_names_its_place_and_shows_the_words(world: World) -> None:
    task = tasks.create(world.project, title="Boat", description="in <b>blue</b>", by=world.owner)
    comment = comments.add(task, text="why blue?", by=world.owner)
    path = f"/projects/{world.project.pk}/search/"
    api = Api(world.user)
    hits = {row["kind"]: row for row in api.get(f"{path}?q=blue").json()["results"]}
    page = f"/projects/{world.project.pk}/tasks/{task.number}/"
    assert hits["task"]["url"] == page
    assert hits["comment"]["url"] == f"{page}#comment-{comment.pk}"
    assert hits["comment"]["title"] == "Boat"
    assert (hits["task"]["task"], hits["task"]["key"]) == (task.number, task.key)
    assert hits["task"]["snippet"] == [
        {"text": "in <b>", "marked": False},
        {"text": "blue", "marked": True},
        {"text": "</b>", "marked": False},
    ]
    assert [row["kind"] for row in api.get(f"{path}?q=blue&kinds=comment").json()["results"]] == [
        "comment"
    ]
    assert api.get(f"{path}?q=%F0%9F%8E%89").json()["results"] == []


def test_search_shows_only_what_role_and_token_may_read(world: World) -> None:
    tasks.create(world.project, title="Boat", by=world.owner)
    path = f"/projects/{world.project.pk}/search/?q=boat"
    reader = roles.create(
        world.project, name="Reader", permissions=["projects:read", "docs:read"], by=world.owner
    )
    limited = make_member(world, "bob", reader.name)
    assert Api(limited.user).get(path).json()["results"] == []
    token = Api.by_token(world.user, "projects:read", "docs:read")
    assert token.get(path).json()["results"] == []
    assert (
        len(Api.by_token(world.user, "projects:read", "tasks:*").get(path).json()["results"]) == 1
    )
