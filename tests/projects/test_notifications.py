"""Notifications: who is told what, once, and only of what they may read."""

from typing import Any

import pytest
from django.utils import timezone

from paca.bus import get_bus
from paca.projects.models import Member, Notification, NotificationKind, Task, TaskAssignee
from paca.projects.services import comments, notifications, tasks
from tests.projects.support import make_member, make_task
from tests.support.world import World, make_world

pytestmark = pytest.mark.django_db
ASSIGNED = NotificationKind.ASSIGNED


@pytest.fixture
def world() -> World:
    return make_world()


@pytest.fixture
def bob(world: World) -> Member:
    return make_member(world, "bob")


@pytest.fixture
def task(world: World) -> Task:
    return make_task(world)


def test_person_is_told_once_a_key(world: World, bob: Member, task: Task) -> None:
    told = [
        notifications.tell(bob, ASSIGNED, key=key, actor=world.owner, task=task)
        for key in ("a", "a", "b")
    ]
    assert [notification is not None for notification in told] == [True, False, True]


def test_agent_is_told_nothing(world: World, task: Task) -> None:
    assert notifications.tell(world.agent.member, ASSIGNED, key="a", task=task) is None


def test_person_is_not_told_of_their_own_act(bob: Member, task: Task) -> None:
    assert notifications.tell(bob, ASSIGNED, key="a", actor=bob, task=task) is None


@pytest.mark.parametrize(
    ("patterns", "is_told"),
    [(["tasks:read"], True), (["*"], True), (["docs:read"], False), ([], False)],
)
def test_person_is_told_only_of_what_they_may_read(
    patterns: list[str], is_told: bool, world: World, bob: Member, task: Task
) -> None:
    bob.role.permissions = patterns
    told = notifications.tell(bob, ASSIGNED, key="a", actor=world.owner, task=task)
    assert (told is not None) is is_told


@pytest.mark.parametrize("gone", ["removed", "inactive"])
def test_person_who_is_gone_is_told_nothing(gone: str, bob: Member, task: Task) -> None:
    assert bob.user is not None
    if gone == "removed":
        bob.deleted_at = timezone.now()
    else:
        bob.user.is_active = False
    assert notifications.tell(bob, ASSIGNED, key="a", task=task) is None


def test_each_assignment_is_told_once(world: World, bob: Member, task: Task) -> None:
    for _ in range(2):
        assignment = TaskAssignee.objects.create(task=task, member=bob)
        notifications.tell_assigned(task, member=bob, by=world.owner)
        notifications.tell_assigned(task, member=bob, by=world.owner)
        assignment.delete()
    assert Notification.objects.filter(kind="assigned", task=task).count() == 2


def test_assignment_by_a_service_notifies_people_and_not_agents(
    world: World, bob: Member, task: Task
) -> None:
    tasks.change(task, assignees=[bob, world.agent.member, world.owner], by=world.owner)
    assert [row.recipient for row in Notification.objects.all()] == [bob.user]


def test_mention_notifies_the_person(world: World, bob: Member, task: Task) -> None:
    comment = comments.add(task, text="@bob look", by=world.owner)
    row = Notification.objects.get()
    assert (row.recipient, row.kind, row.comment, row.task, row.actor) == (
        bob.user,
        "mentioned",
        comment,
        task,
        world.owner,
    )


def test_notifications_are_read_one_by_one_or_all_at_once_by_their_person_only(
    world: World, bob: Member, task: Task
) -> None:
    rows = [notifications.tell(bob, ASSIGNED, key=key, task=task) for key in "abc"]
    assert bob.user is not None
    one = [row for row in rows[:1] if row]
    assert notifications.mark_read(one, by=world.user) == 0
    assert [notifications.mark_read(one, by=bob.user) for _ in range(2)] == [1, 0]
    assert notifications.mark_all_read(by=world.user) == 0
    assert notifications.mark_all_read(by=bob.user) == 2


def test_pages_of_the_person_and_of_nobody_else_hear_of_a_notification(
    bob: Member,
    task: Task,
    monkeypatch: pytest.MonkeyPatch,
    django_capture_on_commit_callbacks: Any,
) -> None:
    heard: list[tuple[str, dict[str, Any]]] = []
    monkeypatch.setattr(get_bus(), "live", lambda topic, frame: heard.append((topic, frame)))
    with django_capture_on_commit_callbacks(execute=True):
        told = notifications.tell(bob, ASSIGNED, key="a", task=task)
    assert told is not None
    frame = {"type": "notification.changed", "id": str(told.pk), "version": 0}
    assert heard == [(f"person:{bob.user_id}", frame)]
