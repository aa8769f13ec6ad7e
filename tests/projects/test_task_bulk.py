"""Changes of many tasks at once."""

from typing import Any

import pytest

from paca.common.errors import Invalid
from paca.projects.models import Activity, Task
from paca.projects.services import task_bulk, tasks
from tests.support.world import World, make_world

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    return make_world()


def make(world: World, **fields: Any) -> Task:
    return tasks.create(world.project, title="Paint", by=world.owner, **fields)


def test_bulk_change_keeps_the_other_labels_and_assignees_of_each_task(world: World) -> None:
    one = make(world, labels=["red"], assignees=[world.owner])
    two = make(world, labels=["Blue"])
    task_bulk.change(
        world.project,
        [2, 1, 2],
        by=world.owner,
        priority="low",
        add_labels=["blue", "new"],
        remove_labels=["RED"],
        add_assignees=[world.agent.member],
        remove_assignees=[world.owner],
    )
    for task, labels in ((one, ["blue", "new"]), (two, ["Blue", "new"])):
        names = [each.name.lower() for each in task.labels.all()]
        assert sorted(names) == [each.lower() for each in labels]
        assert list(task.assignees.all()) == [world.agent.member]


def test_refused_bulk_change_changes_nothing_and_names_each_problem(world: World) -> None:
    top = make(world)
    child = make(world, parent=top)
    done = make(world)
    tasks.delete(done, by=world.owner)
    before = Activity.objects.count()
    with pytest.raises(Invalid) as refused:
        task_bulk.change(world.project, [1, 2, 3, 9], by=world.owner, parent=child, priority="low")
    assert sorted(refused.value.fields) == ["HARB-1.parent", "HARB-2.parent", "HARB-3", "HARB-9"]
    assert Activity.objects.count() == before
    assert not Task.objects.exclude(priority=0).exists()


@pytest.mark.parametrize("numbers", [[], list(range(1, 202))])
def test_bulk_change_of_none_or_too_many_is_refused(numbers: list[int], world: World) -> None:
    with pytest.raises(Invalid):
        task_bulk.change(world.project, numbers, by=world.owner, priority="low")
