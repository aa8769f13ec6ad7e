"""The API of docs: objects, versions, folders, deletion and conflicts."""

import threading
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.projects.support import make_doc
from tests.support.api import Api
from tests.support.world import World, make_world

pytestmark = pytest.mark.django_db

FIELDS = {
    "id", "title", "text", "folder", "position", "version", "updated_by", "created_at",
    "updated_at",
}  # fmt: skip


@pytest.fixture
def world() -> World:
    return make_world()


@pytest.fixture
def api(world: World) -> Api:
    return Api(world.user)


@pytest.fixture
def path(world: World) -> str:
    return f"/projects/{world.project.pk}/docs/"


@pytest.fixture
def folders(world: World) -> str:
    return f"/projects/{world.project.pk}/doc-folders/"


def test_doc_is_made_changed_and_shown_with_all_its_fields(
    world: World, api: Api, path: str, folders: str
) -> None:
    folder = api.post(folders, {"name": "Guides"}).json()
    made = api.post(path, {"title": "Plan", "text": " one\n", "folder": folder["id"]})
    assert (made.status_code, set(made.json())) == (201, FIELDS)
    one = f"{path}{made.json()['id']}/"
    changed = api.patch(one, {"text": "two", "folder": None}).json()
    assert (changed["text"], changed["folder"], changed["version"]) == ("two", None, 2)
    assert changed["updated_by"]["handle"] == world.user.username
    assert api.get(one).json() == changed


def test_list_of_docs_is_limited_to_a_folder_and_can_leave_out_texts(
    api: Api, path: str, folders: str
) -> None:
    folder = api.post(folders, {"name": "Guides"}).json()["id"]
    api.post(path, {"title": "inside", "folder": folder})
    api.post(path, {"title": "outside"})

    def titles(query: str) -> list[str]:
        return [row["title"] for row in api.get(path + query).json()["results"]]

    assert titles("") == ["outside", "inside"]
    assert titles(f"?folder={folder}") == ["inside"]
    assert titles("?folder=none") == ["outside"]
    assert set(api.get(f"{path}?text=false").json()["results"][0]) == FIELDS - {"text"}


def test_conflict_of_two_edits_shows_the_present_doc(api: Api, path: str) -> None:
    made = api.post(path, {"title": "Plan"}).json()
    one = f"{path}{made['id']}/"
    first = api.patch(one, {"text": "mine"}, If_Match=made["updated_at"])
    late = api.patch(one, {"text": "yours"}, If_Match=made["updated_at"])
    assert (late.status_code, late.json()["code"]) == (412, "changed_meanwhile")
    assert late.json()["present"] == first.json()
    assert api.get(one).json()["text"] == "mine"


def test_earlier_version_is_shown_and_restored(api: Api, path: str) -> None:
    one = f"{path}{api.post(path, {'title': 'Plan', 'text': 'one'}).json()['id']}/"
    api.patch(one, {"text": "two"})
    rows = api.get(f"{one}versions/").json()["results"]
    assert [(row["number"], "text" in row) for row in rows] == [(2, False), (1, False)]
    assert api.get(f"{one}versions/1/").json()["text"] == "one"
    restored = api.post(f"{one}versions/1/restore/").json()
    assert (restored["text"], restored["version"]) == ("one", 3)


def test_timeline_of_a_doc_names_who_changed_what(world: World, api: Api, path: str) -> None:
    one = f"{path}{api.post(path, {'title': 'Plan'}).json()['id']}/"
    api.patch(one, {"title": "Plan B"})
    changed, made = api.get(f"{one}activity/").json()["results"]
    assert (made["kind"], changed["kind"]) == ("doc.created", "doc.updated")
    assert changed["changes"] == [{"field": "title", "old": "Plan", "new": "Plan B"}]
    assert changed["actor"]["handle"] == world.user.username


def test_deleted_doc_is_listed_as_deleted_and_comes_back(api: Api, path: str) -> None:
    one = f"{path}{api.post(path, {'title': 'Plan'}).json()['id']}/"
    assert api.delete(one).status_code == 204
    for gone in (one, f"{one}versions/", f"{one}comments/"):
        assert api.get(gone).status_code == 404
    assert api.get(path).json()["results"] == []
    assert [row["title"] for row in api.get(f"{path}?deleted=true").json()["results"]] == ["Plan"]
    assert api.post(f"{one}restore/").json()["title"] == "Plan"
    assert api.get(one).status_code == 200


def test_folders_are_nested_moved_and_deleted(api: Api, path: str, folders: str) -> None:
    top = api.post(folders, {"name": "a"}).json()
    inner = api.post(folders, {"name": "b", "parent": top["id"]}).json()
    doc = api.post(path, {"title": "Plan", "folder": inner["id"]}).json()
    circle = api.patch(f"{folders}{top['id']}/", {"parent": inner["id"]})
    assert circle.json()["fields"] == {"parent": ["A folder cannot be in itself."]}
    late = api.patch(f"{folders}{top['id']}/", {"name": "c"}, If_Match="2020-01-01T00:00:00Z")
    assert (late.status_code, late.json()["present"]) == (412, top)
    assert api.delete(f"{folders}{inner['id']}/").status_code == 204
    assert api.get(f"{path}{doc['id']}/").json()["folder"] == top["id"]


def test_lists_take_the_same_queries_for_few_and_many_docs(
    world: World, api: Api, path: str
) -> None:
    counts = []
    for wanted in (3, 30):
        while world.project.docs.count() < wanted:
            make_doc(world)
        with CaptureQueriesContext(connection) as queries:
            assert len(api.get(path).json()["results"]) == wanted
        counts.append(len(queries))
    assert counts[0] == counts[1]


@pytest.mark.django_db(transaction=True)
def test_of_two_edits_of_the_same_version_at_once_one_wins(
    world: World, api: Api, path: str
) -> None:
    made = api.post(path, {"title": "Plan"}).json()
    one, start = f"{path}{made['id']}/", threading.Barrier(4)
    answers: list[Any] = []

    def edit(text: str) -> None:
        mine = Api(world.user)
        start.wait()
        try:
            answers.append(mine.patch(one, {"text": text}, If_Match=made["updated_at"]))
        finally:
            connection.close()

    threads = [threading.Thread(target=edit, args=(f"text {n}",)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answer.status_code for answer in answers) == [200, 412, 412, 412]
    (won,) = [answer.json() for answer in answers if answer.status_code == 200]
    assert api.get(one).json() == won
    assert [row["number"] for row in api.get(f"{one}versions/").json()["results"]] == [2, 1]
