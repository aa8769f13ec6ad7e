"""The API of comments: objects, threads, edits, deletion and conflicts."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from paca.projects.services import comments
from tests.projects.support import make_doc, make_member, make_task
from tests.support.api import Api
from tests.support.world import World, make_world

pytestmark = pytest.mark.django_db

FIELDS = {
    "id", "author", "text", "parent", "mentions", "conversation_id", "edited_at", "versions",
    "deleted", "created_at", "updated_at",
}  # fmt: skip


@pytest.fixture
def world() -> World:
    return make_world()


@pytest.fixture
def api(world: World) -> Api:
    return Api(world.user)


@pytest.fixture
def path(world: World) -> str:
    return f"/projects/{world.project.pk}/tasks/{make_task(world).number}/comments/"


def test_comment_is_written_answered_and_listed(world: World, api: Api, path: str) -> None:
    first = api.post(path, {"text": "Look, @rosa."}).json()
    assert set(first) == FIELDS
    assert first["author"]["handle"] == world.user.username
    member = str(world.agent.member.pk)
    assert first["mentions"] == [{"handle": "rosa", "member_id": member}]
    answer = api.post(path, {"text": "Done.", "parent": first["id"]})
    assert (answer.status_code, answer.json()["parent"]) == (201, first["id"])
    assert [row["text"] for row in api.get(path).json()["results"]] == ["Done.", "Look, @rosa."]


def test_comments_of_a_doc_are_its_own(world: World, api: Api, path: str) -> None:
    on_docs = f"/projects/{world.project.pk}/docs/{make_doc(world).pk}/comments/"
    made = api.post(on_docs, {"text": "here"}).json()
    assert [row["id"] for row in api.get(on_docs).json()["results"]] == [made["id"]]
    assert api.get(path).json()["results"] == []
    assert api.get(f"{on_docs}{made['id']}/").json() == made
    assert api.get(f"{path}{made['id']}/").status_code == 404
    assert api.post(path, {"text": "there", "parent": made["id"]}).status_code == 404


def test_same_key_writes_one_comment(api: Api, path: str) -> None:
    answers = [api.post(path, {"text": "once"}, Idempotency_Key="k") for _ in range(2)]
    assert answers[0].json() == answers[1].json()
    assert len(api.get(path).json()["results"]) == 1


def test_edit_shows_the_earlier_text_and_conflicts_show_the_present_one(
    api: Api, path: str
) -> None:
    made = api.post(path, {"text": "one"}).json()
    one = f"{path}{made['id']}/"
    edited = api.patch(one, {"text": "two"}, If_Match=made["updated_at"]).json()
    assert [version["text"] for version in edited["versions"]] == ["one"]
    assert edited["edited_at"] is not None
    late = api.patch(one, {"text": "three"}, If_Match=made["updated_at"])
    assert (late.status_code, late.json()["code"]) == (412, "changed_meanwhile")
    assert late.json()["present"] == edited


def test_only_the_author_edits_and_deletes_and_who_changes_the_project_deletes_too(
    world: World, path: str
) -> None:
    bob, eve, manager = (
        Api(make_member(world, name, role).user)
        for name, role in (("bob", "member"), ("eve", "member"), ("max", "manager"))
    )
    one = f"{path}{bob.post(path, {'text': 'mine'}).json()['id']}/"
    assert eve.patch(one, {"text": "yours"}).status_code == 403
    assert eve.delete(one).status_code == 403
    assert manager.patch(one, {"text": "yours"}).status_code == 403
    assert manager.delete(one).status_code == 204
    assert bob.get(one).status_code == 404


def test_deleted_comment_with_answers_is_shown_without_its_text(api: Api, path: str) -> None:
    first = api.post(path, {"text": "a secret"}).json()
    answer = api.post(path, {"text": "answer", "parent": first["id"]}).json()
    assert api.delete(f"{path}{first['id']}/").status_code == 204
    shown = {row["id"]: row for row in api.get(path).json()["results"]}
    assert (shown[first["id"]]["deleted"], shown[first["id"]]["text"]) == (True, "")
    assert api.delete(f"{path}{answer['id']}/").status_code == 204
    assert api.get(path).json()["results"] == []


def test_list_takes_the_same_queries_for_few_and_many_comments(
    world: World, api: Api, path: str
) -> None:
    task = make_task(world)
    path = path.replace("/1/", f"/{task.number}/")
    counts = []
    for wanted in (3, 30):
        while task.comments.count() < wanted:
            added = comments.add(task, text="@rosa look", by=world.owner)
            comments.edit(added, text="@rosa, look", by=world.owner)
        with CaptureQueriesContext(connection) as queries:
            assert len(api.get(path).json()["results"]) == wanted
        counts.append(len(queries))
    assert counts[0] == counts[1]
