"""Timelines: what happened to a task or a doc, and the comments on it, in one order."""

from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from paca.projects.models import Activity, Comment, Task
from paca.projects.services import comments, docs, tasks
from tests.support.api import Api
from tests.support.world import World, make_world

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    return make_world()


@pytest.fixture
def task(world: World) -> Task:
    return tasks.create(world.project, title="Paint", by=world.owner)


def words(entry: dict[str, Any]) -> str:
    """The kind of what happened, or the text of the comment."""
    return entry["comment"]["text"] if entry["type"] == "comment" else entry["activity"]["kind"]


def pages(api: Api, path: str) -> list[str]:
    found, page = [], api.get(path).json()
    while True:
        found += [words(entry) for entry in page["results"]]
        if page["next"] is None:
            return found
        page = api.client.get(page["next"]).json()


def test_timeline_has_changes_and_comments_in_one_order_on_any_page(
    world: World, task: Task
) -> None:
    comments.add(task, text="First", by=world.owner)
    tasks.change(task, by=world.owner, priority="low")
    comments.add(task, text="Second", by=world.owner)
    comments.add(task, text="Third", by=world.owner)
    path = f"/projects/{world.project.pk}/tasks/1/timeline/"
    expected = ["Third", "Second", "task.updated", "First", "task.created"]
    for limit in (1, 2, 3, 50):
        assert pages(Api(world.user), f"{path}?limit={limit}") == expected


def test_entries_of_one_moment_come_once(
    world: World, task: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    moment = timezone.now()
    monkeypatch.setattr(timezone, "now", lambda: moment)
    for number in range(4):
        comments.add(task, text=str(number), by=world.owner)
        tasks.change(task, by=world.owner, title=f"Paint {number}")
    monkeypatch.undo()
    assert Comment.objects.filter(created_at=moment).count() == 4
    found = pages(Api(world.user), f"/projects/{world.project.pk}/tasks/1/timeline/?limit=2")
    assert sorted(found) == ["0", "1", "2", "3", "task.created", *["task.updated"] * 4]


def test_timeline_of_a_doc_has_its_comments(world: World) -> None:
    doc = docs.create(world.project, title="Plan", by=world.owner)
    comments.add(doc, text="Good", by=world.owner)
    path = f"/projects/{world.project.pk}/docs/{doc.pk}/"
    assert pages(Api(world.user), f"{path}timeline/") == ["Good", "doc.created"]
    (entry,) = Api(world.user).get(f"{path}activity/").json()["results"]
    assert entry["kind"] == "doc.created"


def test_timeline_costs_the_same_queries_for_3_and_30_entries(world: World, task: Task) -> None:
    api, counts = Api(world.user), []
    for wanted in (3, 27):
        for number in range(wanted):
            comments.add(task, text=f"@rosa {number}", by=world.owner)
            tasks.change(task, by=world.owner, title=f"Paint {wanted} {number}")
        with CaptureQueriesContext(connection) as queries:
            assert api.get(f"/projects/{world.project.pk}/tasks/1/timeline/").status_code == 200
        counts.append(len(queries))
    assert counts[0] == counts[1]


@pytest.mark.parametrize("cursor", ["nonsense", "W10", "WzEsMl0", "WyJ4IiwieSJd", "e30"])
def test_wrong_cursor_is_refused(cursor: str, world: World, task: Task) -> None:
    path = f"/projects/{world.project.pk}/tasks/1/timeline/?cursor={cursor}"
    answer = Api(world.user).get(path)
    assert (answer.status_code, list(answer.json()["fields"])) == (400, ["cursor"])


def test_database_refuses_to_change_what_happened(task: Task) -> None:
    entries = Activity.objects.filter(task=task)
    with pytest.raises(IntegrityError, match="never_changes"), transaction.atomic():
        entries.update(kind="task.deleted")
    assert [entry.kind for entry in entries] == ["task.created"]
