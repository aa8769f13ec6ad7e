"""Concurrent writers of tasks: each number once, no circle, and no place twice."""

from collections.abc import Callable
from contextlib import suppress
from functools import partial

import pytest

from paca.common.errors import Invalid
from paca.projects.models import Project, Task, TaskDependency
from paca.projects.services import task_bulk, tasks
from tests.database.concurrency import run_concurrently
from tests.support.world import World, make_world

pytestmark = pytest.mark.django_db(transaction=True)


def make(here: World) -> Task:
    return tasks.create(here.project, title="Paint", by=here.owner)


def test_concurrent_tasks_have_each_number_and_place_once() -> None:
    here = make_world()
    project = here.project.pk

    def create() -> None:
        for _ in range(5):
            tasks.create(Project.objects.get(pk=project), title="Paint", by=here.owner)

    run_concurrently([create] * 4)
    rows = list(Task.objects.order_by("number").values_list("number", "position"))
    assert [number for number, _ in rows] == [*range(1, 21)]
    assert len({position for _, position in rows}) == 20


def test_concurrent_dependencies_and_parents_make_no_circle() -> None:
    here = make_world()
    one, other = make(here), make(here)

    def link(first: int, second: int, field: str) -> None:
        task, named = (Task.objects.get(number=number) for number in (first, second))
        with suppress(Invalid):
            value = [named] if field == "blocked_by" else named
            tasks.change(task, by=here.owner, **{field: value})

    for field in ("blocked_by", "parent"):
        run_concurrently([partial(link, 1, 2, field), partial(link, 2, 1, field)])
    assert TaskDependency.objects.count() == 1
    parents = [Task.objects.get(pk=task.pk).parent_id for task in (one, other)]
    assert parents.count(None) == 1


def test_concurrent_changes_of_many_tasks_do_not_deadlock() -> None:
    here = make_world()
    for _ in range(6):
        make(here)
    last = here.project.statuses.last()

    def change_all(order: list[int]) -> None:
        for points in range(3):
            task_bulk.change(here.project, order, by=here.owner, story_points=points)

    def move() -> None:
        for number in (1, 2, 3):
            tasks.change(Task.objects.get(number=number), by=here.owner, status=last)

    work: list[Callable[[], None]] = [
        partial(change_all, [1, 2, 3, 4, 5, 6]),
        partial(change_all, [6, 5, 4, 3, 2, 1]),
        move,
    ]
    run_concurrently(work)
    assert set(Task.objects.values_list("story_points", flat=True)) == {2}
