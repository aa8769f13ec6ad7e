"""Statuses, task types and sprints."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from paca.common.errors import Invalid
from paca.projects.models import Activity, Task
from paca.projects.services import sprints, statuses, tasks
from paca.projects.services.sprints import SprintNotActive, SprintNotPlanned
from paca.projects.services.statuses import InUse, LastOne
from tests.support.world import World, make_world

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    return make_world()


def make(world: World, **fields: Any) -> Task:
    return tasks.create(world.project, title="Paint", by=world.owner, **fields)


def names(world: World) -> list[str]:
    return list(world.project.statuses.values_list("name", flat=True))


def test_statuses_are_added_renamed_and_reordered(world: World) -> None:
    added = statuses.add_status(world.project, name="Blocked", category="todo", by=world.owner)
    statuses.change(added, name="On hold", category="backlog", by=world.owner)
    rows = list(world.project.statuses.all())
    statuses.reorder(world.project, [rows[-1], *rows[:-1]], by=world.owner)
    assert names(world)[:2] == ["On hold", "Backlog"]
    assert make(world).status == added
    for wrong in (rows[:-1], [*rows, rows[0]], [rows[0]] * len(rows), []):
        with pytest.raises(Invalid):
            statuses.reorder(world.project, wrong, by=world.owner)


def test_status_name_is_unique_and_its_category_known(world: World) -> None:
    for name, category in (("Done", "done"), ("", "todo"), ("New", "someday")):
        with pytest.raises(Invalid):
            statuses.add_status(world.project, name=name, category=category, by=world.owner)


def test_used_status_is_deleted_only_with_a_replacement(world: World) -> None:
    backlog, to_do = world.project.statuses.all()[:2]
    task, gone = make(world), make(world)
    tasks.delete(gone, by=world.owner)
    foreign = make_world("Elsewhere").project.statuses.first()
    with pytest.raises(InUse):
        statuses.delete(backlog, by=world.owner)
    for wrong in (backlog, foreign):
        with pytest.raises(Invalid):
            statuses.delete(backlog, replacement=wrong, by=world.owner)
    statuses.delete(backlog, replacement=to_do, by=world.owner)
    assert {each.status for each in Task.objects.all()} == {to_do}
    assert task.activities.last().changes == [{"field": "status", "old": "Backlog", "new": "To do"}]


def test_last_task_type_cannot_be_deleted(world: World) -> None:
    *others, last = world.project.task_types.all()
    make(world)
    for each in others:
        statuses.delete(each, replacement=last, by=world.owner)
    with pytest.raises(LastOne):
        statuses.delete(last, by=world.owner)


def test_completed_sprint_gives_its_open_tasks_to_another(world: World) -> None:
    june = sprints.create(world.project, name="June", goal="Paint", by=world.owner)
    july = sprints.create(world.project, name="July", by=world.owner)
    open_task, done = make(world, sprint=june), make(world, sprint=june)
    tasks.change(done, by=world.owner, status=world.project.statuses.get(name="Done"))
    with pytest.raises(SprintNotActive):
        sprints.complete(june, by=world.owner)
    sprints.start(june, by=world.owner)
    with pytest.raises(SprintNotPlanned):
        sprints.start(june, by=world.owner)
    assert sprints.complete(june, move_to=july, by=world.owner) == 1
    assert list(july.tasks.all()) == [open_task]
    assert list(june.tasks.all()) == [done]
    assert open_task.activities.last().changes == [
        {"field": "sprint", "old": "June", "new": "July"}
    ]
    assert (june.status, june.start_date) == ("completed", timezone.localdate())
    with pytest.raises(Invalid):
        make(world, sprint=june)
    tasks.change(done, by=world.owner, sprint=june, title="Painted")


def test_open_tasks_of_a_sprint_do_not_go_to_itself_a_completed_or_a_foreign_one(
    world: World,
) -> None:
    june = sprints.create(world.project, name="June", by=world.owner)
    may = sprints.create(world.project, name="May", by=world.owner)
    sprints.start(may, by=world.owner)
    sprints.complete(may, by=world.owner)
    sprints.start(june, by=world.owner)
    other = make_world("Elsewhere")
    for target in (june, may, sprints.create(other.project, name="June", by=other.owner)):
        with pytest.raises(Invalid):
            sprints.complete(june, move_to=target, by=world.owner)
    june.refresh_from_db()
    assert june.status == "active"


def test_deleted_sprint_leaves_its_tasks(world: World) -> None:
    june = sprints.create(world.project, name="June", by=world.owner)
    task = make(world, sprint=june)
    sprints.delete(june, by=world.owner)
    task.refresh_from_db()
    assert task.sprint is None
    assert Activity.objects.filter(task=task).last().changes[0]["old"] == "June"


def test_sprint_that_ends_before_it_starts_is_refused(world: World) -> None:
    today = timezone.localdate()
    sprint = sprints.create(world.project, name="Short", end_date=today, by=world.owner)
    with pytest.raises(Invalid):
        sprints.change(sprint, start_date=today + timedelta(days=1), by=world.owner)
    with pytest.raises(Invalid):
        sprints.create(world.project, name="Short", by=world.owner)
