"""The API of notifications: the list over all projects, what is unread, and who sees what."""

from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from paca.projects import search_entries
from paca.projects.models import Member, NotificationKind
from paca.projects.services import comments, docs, members, notifications, roles, tasks
from tests.projects.support import make_member
from tests.support.api import Api
from tests.support.world import World, make_world

pytestmark = pytest.mark.django_db
PATH = "/notifications/"


@pytest.fixture
def world() -> World:
    return make_world()


@pytest.fixture
def bob(world: World) -> Member:
    return make_member(world, "bob")


@pytest.fixture
def api(bob: Member) -> Api:
    return Api(bob.user)


def mention(world: World, bob: Member) -> None:
    doc = docs.create(world.project, title="Plan", by=world.owner)
    comments.add(doc, text="@bob look", by=world.owner)


def test_notification_names_its_subject_and_the_page_that_shows_it(
    world: World, bob: Member, api: Api
) -> None:
    task = tasks.create(world.project, title="Paint", assignees=[bob], by=world.owner)
    doc = docs.create(world.project, title="Plan", by=world.owner)
    comment = comments.add(doc, text="@bob look", by=world.owner)
    talk = uuid4()
    search_entries.put_conversation(world.project.pk, talk, title="Colors")
    notifications.tell(bob, NotificationKind.FINISHED, key="f", conversation_id=talk)
    pages = f"/projects/{world.project.pk}"
    answer = api.get(PATH).json()
    assert [(row["kind"], row["subject"], row["url"]) for row in answer["results"]] == [
        ("finished", "Colors", f"{pages}/conversations/{talk}/"),
        ("mentioned", "Plan", f"{pages}/docs/{doc.pk}/#comment-{comment.pk}"),
        ("assigned", f"{task.key} Paint", f"{pages}/tasks/{task.number}/"),
    ]
    first = answer["results"][-1]
    assert set(first) == {
        "id", "kind", "project", "actor", "subject", "url", "read_at", "at"
    }  # fmt: skip
    assert first["actor"]["handle"] == world.user.username
    assert answer["unread"] == 3


def test_notifications_are_read_one_by_one_and_all(world: World, bob: Member, api: Api) -> None:
    for _ in range(3):
        mention(world, bob)
    first = api.get(PATH).json()["results"][0]["id"]
    assert api.post(f"{PATH}{first}/read/").json() == {"unread": 2}
    assert api.post(f"{PATH}{first}/read/").json() == {"unread": 2}
    unread = api.get(f"{PATH}?unread=true").json()
    assert first not in [row["id"] for row in unread["results"]]
    assert Api(world.user).post(f"{PATH}{first}/read/").status_code == 404
    assert api.post(f"{PATH}read/").json() == {"unread": 0}


def test_notifications_of_a_project_end_with_the_membership(
    world: World, bob: Member, api: Api
) -> None:
    other = make_world("Elsewhere")
    assert bob.user is not None
    there = members.add_person(
        other.project, user=bob.user, role=other.role("member"), by=other.owner
    )
    mention(world, bob)
    mention(other, there)
    assert api.get(PATH).json()["unread"] == 2
    members.remove(bob, by=world.owner)
    left = api.get(PATH).json()
    assert [row["project"]["name"] for row in left["results"]] == ["Elsewhere"]
    assert left["unread"] == 1


def test_notifications_of_what_a_role_no_longer_reads_are_not_shown(
    world: World, bob: Member, api: Api
) -> None:
    mention(world, bob)
    reader = roles.create(world.project, name="Tasks", permissions=["tasks:read"], by=world.owner)
    members.change_role(bob, role=reader, by=world.owner)
    assert api.get(PATH).json()["results"] == []


def test_list_takes_the_same_queries_for_few_and_many_notifications(
    world: World, bob: Member, api: Api
) -> None:
    counts = []
    for wanted in (3, 30):
        while api.get(PATH).json()["unread"] < wanted:
            mention(world, bob)
        with CaptureQueriesContext(connection) as queries:
            assert len(api.get(PATH).json()["results"]) == wanted
        counts.append(len(queries))
    assert counts[0] == counts[1]
