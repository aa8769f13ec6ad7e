"""Tasks: numbers, changes and their timeline, assignees, parents, dependencies and places."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from typing import Any

import pytest

from paca.accounts.models import User
from paca.common.errors import Invalid, NotFound
from paca.projects import signals
from paca.projects.models import Activity, Member, Task
from paca.projects.services import members, sprints, task_positions, tasks, workspaces
from tests.support.world import World, make_world

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    return make_world()


@pytest.fixture
def bob(world: World) -> Member:
    user = User.objects.create_user("bob", name="Bob")
    workspaces.add_person(world.project.workspace, user=user)
    return members.add_person(world.project, user=user, role=world.role("member"), by=world.owner)


def make(world: World, title: str = "Paint the pier", **fields: Any) -> Task:
    return tasks.create(world.project, title=title, by=world.owner, **fields)


def status(world: World, name: str) -> Any:
    return world.project.statuses.get(name=name)


def told(task: Task) -> list[tuple[str, str | None, str | None]]:
    """The changes of the newest entry of the timeline."""
    newest = Activity.objects.filter(task=task).last()
    return [(each["field"], each["old"], each["new"]) for each in newest.changes]


@contextmanager
def heard(signal: Any) -> Iterator[list[dict[str, Any]]]:
    found: list[dict[str, Any]] = []

    def hear(**facts: Any) -> None:
        found.append(facts)

    signal.connect(hear)
    try:
        yield found
    finally:
        signal.disconnect(hear)


def test_number_of_a_deleted_task_is_never_given_again(world: World) -> None:
    first, second = make(world), make(world)
    tasks.delete(second, by=world.owner)
    assert (first.key, make(world).key) == ("HARB-1", "HARB-3")


def test_new_task_has_the_first_status_and_type_and_its_reporter(world: World) -> None:
    task = make(world)
    assert (task.status.name, task.type.name, task.reporter) == ("Backlog", "Task", world.owner)
    assert [each.kind for each in task.activities.all()] == ["task.created"]


def test_refused_task_takes_no_number(world: World) -> None:
    with pytest.raises(Invalid):
        make(world, "")
    assert make(world).number == 1


def test_change_tells_the_timeline_old_and_new_in_words(world: World, bob: Member) -> None:
    parent, blocker = make(world, "Repair the pier"), make(world, "Buy paint")
    sprint = sprints.create(world.project, name="June", by=world.owner)
    task = make(world)
    tasks.change(
        task,
        by=world.owner,
        title="Paint the whole pier",
        status=status(world, "In review"),
        priority="high",
        parent=parent,
        sprint=sprint,
        due_date=date(2026, 6, 30),
        assignees=[bob, world.agent.member],
        labels=["outside", "Paint"],
        blocked_by=[blocker],
    )
    assert told(task) == [
        ("title", "Paint the pier", "Paint the whole pier"),
        ("status", "Backlog", "In review"),
        ("priority", "none", "high"),
        ("parent", None, "HARB-1"),
        ("sprint", None, "June"),
        ("due_date", None, "2026-06-30"),
        ("assignees", None, "Bob, Rosa"),
        ("labels", None, "Paint, outside"),
        ("blocked_by", None, "HARB-2"),
    ]


def test_change_to_the_same_values_tells_nothing(world: World, bob: Member) -> None:
    task = make(world, assignees=[bob], labels=["paint"])
    before = task.updated_at
    with heard(signals.project_changed) as changed:
        tasks.change(task, by=bob, title=task.title, assignees=[bob], labels=["PAINT"])
    assert (task.activities.count(), task.updated_at, changed) == (1, before, [])


def test_change_is_made_to_the_task_as_it_is_stored(world: World) -> None:
    task = make(world)
    old = Task.objects.get(pk=task.pk)
    tasks.change(task, by=world.owner, title="Second title")
    tasks.change(old, by=world.owner, description="Blue.")
    assert (old.title, old.description) == ("Second title", "Blue.")


def test_each_newly_assigned_member_is_told_once(world: World, bob: Member) -> None:
    task = make(world, assignees=[bob])
    with heard(signals.task_assigned) as assigned:
        tasks.change(task, by=bob, assignees=[bob, world.agent.member])
        tasks.assign(task, to=world.agent.member, by=bob)
        tasks.change(task, by=bob, assignees=[world.agent.member])
    assert [each["member"] for each in assigned] == [world.agent.member]
    assert list(task.assignees.all()) == [world.agent.member]


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"title": " "}, "title"),
        ({"title": "x" * 201}, "title"),
        ({"description": "x" * 100_001}, "description"),
        ({"priority": "extreme"}, "priority"),
        ({"priority": 9}, "priority"),
        ({"story_points": -1}, "story_points"),
        ({"story_points": 1001}, "story_points"),
        ({"labels": [""]}, "labels"),
        ({"labels": ["x" * 51]}, "labels"),
        ({"labels": [str(number) for number in range(21)]}, "labels"),
        ({"start_date": date(2026, 2, 2), "due_date": date(2026, 2, 1)}, "due_date"),
        ({"position": 1.0, "before": Task()}, "before"),
    ],
)
def test_bad_value_is_refused_with_its_field(
    fields: dict[str, Any], field: str, world: World
) -> None:
    task = make(world)
    with pytest.raises(Invalid) as refused:
        tasks.change(task, by=world.owner, **fields)
    assert list(refused.value.fields) == [field]
    assert task.activities.count() == 1


def test_characters_that_no_database_stores_are_replaced(world: World) -> None:
    task = make(world, "a\0b", description="\ud83d", labels=["x\0"])
    assert (task.title, task.description) == ("a␀b", "?")
    assert [label.name for label in task.labels.all()] == ["x␀"]


def test_objects_of_another_project_are_refused(world: World) -> None:
    other = make_world("Elsewhere")
    task, foreign = make(world), make(other)
    sprint = sprints.create(other.project, name="June", by=other.owner)
    for fields in (
        {"status": foreign.status},
        {"type": foreign.type},
        {"parent": foreign},
        {"sprint": sprint},
        {"assignees": [other.owner]},
        {"blocked_by": [foreign]},
        {"before": foreign},
        {"after": foreign},
    ):
        with pytest.raises(Invalid):
            tasks.change(task, by=world.owner, **fields)
    assert task.activities.count() == 1


def test_removed_member_keeps_the_task_but_gets_no_new_one(world: World, bob: Member) -> None:
    task, another = make(world, assignees=[bob]), make(world)
    members.remove(bob, by=world.owner)
    tasks.change(task, by=world.owner, assignees=[bob, world.owner])
    assert task.assignees.count() == 2
    with pytest.raises(Invalid):
        tasks.assign(another, to=bob, by=world.owner)


def test_parents_cannot_be_a_circle(world: World) -> None:
    top, middle = make(world), make(world)
    tasks.change(middle, by=world.owner, parent=top)
    bottom = make(world, parent=middle)
    for parent in (top, middle, bottom):
        with pytest.raises(Invalid, match="not valid"):
            tasks.change(top, by=world.owner, parent=parent)


def test_dependencies_cannot_be_a_circle_even_over_a_deleted_task(world: World) -> None:
    first, second, third = make(world), make(world), make(world)
    tasks.change(second, by=world.owner, blocked_by=[first])
    tasks.change(third, by=world.owner, blocked_by=[second])
    tasks.delete(second, by=world.owner)
    for blocker in (first, third):
        with pytest.raises(Invalid):
            tasks.change(first, by=world.owner, blocked_by=[blocker])


def test_deleted_task_comes_back_with_all_it_had(world: World, bob: Member) -> None:
    blocker = make(world)
    task = make(world, assignees=[bob], labels=["paint"], blocked_by=[blocker])
    tasks.delete(blocker, by=world.owner)
    tasks.change(task, by=world.owner, blocked_by=[])
    with pytest.raises(NotFound):
        tasks.change(blocker, by=world.owner, title="Other")
    with pytest.raises(NotFound):
        tasks.delete(blocker, by=world.owner)
    tasks.restore(blocker, by=world.owner)
    assert [each.blocked_by for each in task.dependencies.all()] == [blocker]
    assert blocker.activities.last().kind == "task.restored"


def column(world: World, name: str = "Backlog") -> list[int]:
    found = Task.objects.for_project(world.project).filter(status__name=name)
    return list(found.order_by("position").values_list("number", flat=True))


def test_task_stands_where_it_is_put(world: World) -> None:
    one, two, three = make(world), make(world), make(world)
    assert column(world) == [3, 2, 1]
    tasks.change(one, by=world.owner, before=three)
    assert column(world) == [1, 3, 2]
    tasks.change(one, by=world.owner, after=three)
    assert column(world) == [3, 1, 2]
    tasks.change(three, by=world.owner, after=two)
    assert column(world) == [1, 2, 3]
    tasks.change(three, by=world.owner, status=status(world, "Done"))
    tasks.change(one, by=world.owner, status=status(world, "Done"), after=three)
    assert (column(world), column(world, "Done")) == ([2], [3, 1])
    tasks.change(two, by=world.owner, status=status(world, "Done"))
    assert column(world, "Done") == [2, 3, 1]


def test_place_beside_a_task_of_another_column_is_refused(world: World) -> None:
    one, two = make(world), make(world, status=status(world, "Done"))
    for neighbour in (two, one):
        with pytest.raises(Invalid):
            tasks.change(one, by=world.owner, before=neighbour)


def test_column_is_made_even_when_there_is_no_room_between_two_tasks(world: World) -> None:
    one, two, three = make(world), make(world), make(world)
    Task.objects.filter(project=world.project).update(position=7.0)
    tasks.change(one, by=world.owner, before=three)
    assert column(world) == [2, 1, 3]
    assert Task.objects.get(pk=two.pk).position == 2 * task_positions.GAP


def test_order_is_kept_through_a_hundred_moves_into_the_same_gap(world: World) -> None:
    top, bottom = make(world), make(world)
    tasks.change(top, by=world.owner, before=bottom)
    moved = [make(world), make(world)]
    for number in range(100):
        tasks.change(moved[number % 2], by=world.owner, after=top)
    assert column(world) == [top.number, moved[1].number, moved[0].number, bottom.number]


def test_move_on_the_board_is_no_change_of_the_text(world: World) -> None:
    one, two = make(world), make(world)
    before = one.updated_at
    with heard(signals.project_changed) as changed:
        tasks.change(one, by=world.owner, before=two)
    one.refresh_from_db()
    assert (one.updated_at, one.activities.count()) == (before, 1)
    assert [(each["noun"], each["id"]) for each in changed] == [("task", 1)]


def test_long_text_is_on_the_timeline_with_its_beginning(world: World) -> None:
    task = make(world)
    tasks.change(task, by=world.owner, description="x" * 1000)
    ((_, _, new),) = told(task)
    assert new == "x" * 299 + "…"


def test_entry_names_the_conversation_in_which_an_agent_acts(world: World) -> None:
    task, rosa = make(world), world.agent.member
    rosa.acting_in = task.pk
    tasks.change(task, by=rosa, title="Paint it blue")
    assert task.activities.last().conversation_id == task.pk


def test_unknown_field_is_an_error_of_the_caller(world: World) -> None:
    with pytest.raises(TypeError):
        make(world, assignee="bob")
