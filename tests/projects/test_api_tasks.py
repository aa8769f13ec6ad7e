"""The API of tasks: objects, lists, the board, changes and the timeline."""

from datetime import date, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from paca.projects import signals
from paca.projects.api.task_serializers import TaskSerializer
from paca.projects.models import Task
from paca.projects.services import sprints, tasks
from tests.support.api import Api
from tests.support.world import World, make_world

pytestmark = pytest.mark.django_db

TASK_FIELDS = {
    "id", "number", "key", "title", "description", "status", "type", "priority", "assignees",
    "reporter", "parent", "blocked_by", "labels", "sprint", "story_points", "start_date",
    "due_date", "position", "agent_state", "created_at", "updated_at",
}  # fmt: skip


@pytest.fixture
def world() -> World:
    return make_world()


@pytest.fixture
def api(world: World) -> Api:
    return Api(world.user)


@pytest.fixture
def path(world: World) -> str:
    return f"/projects/{world.project.pk}/"


def make(world: World, title: str = "Paint", **fields: Any) -> Task:
    return tasks.create(world.project, title=title, by=world.owner, **fields)


def numbers(answer: Any) -> list[int]:
    return [row["number"] for row in answer.json()["results"]]


def test_task_is_made_changed_and_shown_with_all_its_fields(
    world: World, api: Api, path: str
) -> None:
    parent, blocker = make(world), make(world)
    sprint = sprints.create(world.project, name="June", by=world.owner)
    member = world.agent.member
    given = {
        "title": "Paint the pier",
        "description": "  - blue\n",
        "status_id": str(world.project.statuses.get(name="In review").pk),
        "type_id": str(world.project.task_types.get(name="Bug").pk),
        "priority": "urgent",
        "assignee_ids": [str(member.pk)],
        "parent": 1,
        "blocked_by": [2],
        "labels": ["outside"],
        "sprint_id": str(sprint.pk),
        "story_points": 5,
        "start_date": "2026-06-01",
        "due_date": "2026-06-30",
    }
    made = api.post(f"{path}tasks/", given)
    assert made.status_code == 201
    task = made.json()
    assert set(task) == TASK_FIELDS == set(TaskSerializer().fields)
    assert task == api.get(f"{path}tasks/3/").json()
    assert (task["key"], task["description"], task["priority"]) == (
        "HARB-3",
        "  - blue\n",
        "urgent",
    )
    assert task["status"]["category"] == "in_progress"
    assert set(task["status"]) == {"id", "name", "category"}
    assert set(task["type"]) == {"id", "name"}
    assert task["assignees"] == [
        {
            "id": str(member.pk),
            "kind": "agent",
            "name": "Rosa",
            "handle": "rosa",
            "agent_id": str(world.agent.pk),
        }
    ]
    assert (task["reporter"]["id"], task["parent"]) == (str(world.owner.pk), parent.number)
    assert (task["blocked_by"], task["labels"]) == ([blocker.number], ["outside"])
    assert (task["sprint"]["name"], task["story_points"]) == ("June", 5)
    cleared = {
        "parent": None,
        "blocked_by": [],
        "labels": [],
        "sprint_id": None,
        "assignee_ids": [],
    }
    task = api.patch(f"{path}tasks/3/", {**cleared, "due_date": None}).json()
    assert [task[name] for name in ("parent", "sprint", "due_date")] == [None] * 3
    assert [task[name] for name in ("blocked_by", "labels", "assignees")] == [[], [], []]
    assert api.delete(f"{path}tasks/3/").status_code == 204
    assert api.get(f"{path}tasks/3/").status_code == 404
    assert numbers(api.get(f"{path}tasks/?deleted=true")) == [3]
    assert api.post(f"{path}tasks/3/restore/").json()["number"] == 3


def test_key_makes_one_task_of_a_repeated_request(world: World, api: Api, path: str) -> None:
    answers = [api.post(f"{path}tasks/", {"title": "Once"}, Idempotency_Key="k1") for _ in range(2)]
    assert answers[0].json() == answers[1].json()
    assert answers[1].headers["Idempotent-Replay"] == "true"
    assert Task.objects.count() == 1


def test_refused_change_shows_the_task_as_it_is_now(world: World, api: Api, path: str) -> None:
    seen = api.post(f"{path}tasks/", {"title": "Paint", "description": "Blue."}).json()
    mine = api.patch(f"{path}tasks/1/", {"description": "Red."}, If_Match=seen["updated_at"])
    assert mine.status_code == 200
    yours = api.patch(f"{path}tasks/1/", {"description": "Green."}, If_Match=seen["updated_at"])
    assert (yours.status_code, yours.json()["code"]) == (412, "changed_meanwhile")
    assert yours.json()["present"] == mine.json()
    again = api.patch(
        f"{path}tasks/1/", {"description": "Green."}, If_Match=yours.json()["present"]["updated_at"]
    )
    assert again.json()["description"] == "Green."


def test_move_of_a_card_does_not_refuse_a_save_of_its_text(
    world: World, api: Api, path: str
) -> None:
    seen = api.post(f"{path}tasks/", {"title": "Paint"}).json()
    make(world)
    assert api.patch(f"{path}tasks/1/", {"before": 2}).status_code == 200
    saved = api.patch(f"{path}tasks/1/", {"title": "Repaint"}, If_Match=seen["updated_at"])
    assert saved.status_code == 200


FILTERS = [
    ("status={todo}", {2}),
    ("status={todo}&status={done}", {2, 3}),
    ("category=done", {3}),
    ("category=done&category=todo", {2, 3}),
    ("priority=high&category=todo", {2}),
    ("assignee={rosa}", {2, 3}),
    ("assignee=me", {2}),
    ("assignee=none", {1, 4}),
    ("assignee=none&assignee=me", {1, 2, 4}),
    ("label=PIER", {2}),
    ("label=pier&label=sea", {2, 3}),
    ("label=nothing", set()),
    ("sprint={june}", {3}),
    ("sprint=active", {3}),
    ("sprint=none", {1, 2, 4}),
    ("type={bug}", {4}),
    ("parent=1", {2}),
    ("parent=none", {1, 3, 4}),
    ("search=FIRST", {1}),
    ("search=harb-2", {2}),
    ("search=4", {4}),
    ("search=%25", set()),
    ("status={zero}", set()),
    ("status=", {1, 2, 3, 4}),
]


@pytest.fixture
def names(world: World) -> dict[str, str]:
    """Four tasks, and the ids that the filters name."""
    status = {each.category: each for each in world.project.statuses.all()}
    june = sprints.create(world.project, name="June", by=world.owner)
    sprints.start(june, by=world.owner)
    rosa, bug = world.agent.member, world.project.task_types.get(name="Bug")
    first = make(world, "First of all")
    make(world, parent=first, status=status["todo"], priority="high", labels=["Pier"],
         assignees=[rosa, world.owner])  # fmt: skip
    make(world, sprint=june, status=status["done"], labels=["sea"], assignees=[rosa])
    make(world, type=bug)
    tasks.delete(make(world, "First, but deleted", type=bug), by=world.owner)
    found = {"todo": status["todo"], "done": status["done"], "rosa": rosa, "june": june, "bug": bug}
    return {name: str(row.pk) for name, row in found.items()} | {"zero": str(first.pk)}


def test_list_and_board_show_the_tasks_that_match_the_filters(
    names: dict[str, str], api: Api, path: str
) -> None:
    for query, expected in FILTERS:
        asked = query.format(**names)
        listed = numbers(api.get(f"{path}tasks/?{asked}"))
        assert (sorted(listed), query) == (sorted(expected), query)
        columns = api.get(f"{path}tasks/board/?{asked}").json()["columns"]
        cards = [card["number"] for column in columns for card in column["tasks"]]
        assert (sorted(cards), query) == (sorted(expected), query)
        assert sum(column["count"] for column in columns) == len(expected)


@pytest.mark.parametrize("ordering", ["number", "created_at", "updated_at", "title", "priority",
                                      "due_date", "position"])  # fmt: skip
@pytest.mark.parametrize("sign", ["", "-"])
def test_pages_have_each_task_once_in_both_directions(
    sign: str, ordering: str, world: World, api: Api, path: str
) -> None:
    status = world.project.statuses.first()
    Task.objects.bulk_create(
        Task(
            project=world.project,
            number=number,
            title="same" if number < 5 else f"Paint {number}",
            status=status,
            type=world.project.task_types.first(),
            priority=number % 3,
            position=number % 2,
            due_date=date(2026, 1, 1) + timedelta(number // 2) if number % 3 else None,
        )
        for number in range(1, 8)
    )
    whole = numbers(api.get(f"{path}tasks/?ordering={sign}{ordering}"))
    page = api.get(f"{path}tasks/?ordering={sign}{ordering}&limit=3").json()
    pages = [page]
    while page["next"]:
        page = api.client.get(page["next"]).json()
        pages.append(page)
    assert [row["number"] for each in pages for row in each["results"]] == whole
    back = [page]
    while page["previous"]:
        page = api.client.get(page["previous"]).json()
        back.append(page)
    assert [each["results"] for each in reversed(back)] == [each["results"] for each in pages]


def test_order_is_by_due_date_with_those_without_at_the_end(
    world: World, api: Api, path: str
) -> None:
    make(world)
    make(world, due_date=date(2026, 3, 2))
    make(world, due_date=date(2026, 3, 1))
    assert numbers(api.get(f"{path}tasks/?ordering=due_date")) == [3, 2, 1]


def fill(world: World, count: int) -> None:
    status = list(world.project.statuses.all())
    for number in range(count):
        make(
            world,
            assignees=[world.owner, world.agent.member],
            labels=[f"label{number % 3}", "all"],
            status=status[number % 3],
            blocked_by=list(Task.objects.filter(number=1)),
            parent=Task.objects.filter(number=1).first(),
        )


def test_lists_and_board_cost_the_same_queries_for_3_and_30_tasks(
    world: World, api: Api, path: str
) -> None:
    asked: list[int] = []

    def answer(task_ids: Any, **_: Any) -> None:
        asked.append(len(task_ids))

    signals.agent_states_asked.connect(answer)
    counts = []
    for wanted in (3, 27):
        fill(world, wanted)
        for address in ("tasks/", "tasks/board/", "tasks/1/activity/", "statuses/"):
            with CaptureQueriesContext(
                connection,
            ) as queries:
                assert api.get(f"{path}{address}").status_code == 200
            counts.append((address, len(queries)))
    signals.agent_states_asked.disconnect(answer)
    assert counts[:4] == counts[4:]
    assert asked == [3, 3, 30, 30]
    assert dict(counts)["tasks/board/"] <= 20


def test_board_shows_the_first_cards_of_a_column_and_the_list_goes_on(
    world: World, api: Api, path: str
) -> None:
    for _ in range(5):
        make(world)
    make(world, status=world.project.statuses.get(name="Done"))
    columns = api.get(f"{path}tasks/board/?limit=2&assignee=none").json()["columns"]
    assert [each["status"]["name"] for each in columns] == [
        "Backlog", "To do", "In progress", "In review", "Done",
    ]  # fmt: skip
    assert [each["count"] for each in columns] == [5, 0, 0, 0, 1]
    backlog = columns[0]
    assert [card["number"] for card in backlog["tasks"]] == [5, 4]
    assert set(backlog["tasks"][0]) == TASK_FIELDS - {"description"}
    assert columns[1]["next"] is None
    rest = api.client.get(backlog["next"]).json()
    assert [row["number"] for row in rest["results"]] == [3, 2]
    assert [row["number"] for row in api.client.get(rest["next"]).json()["results"]] == [1]


def test_agent_state_is_that_of_the_receiver(world: World, api: Api, path: str) -> None:
    task = make(world)
    state = {
        "conversation": str(task.pk),
        "agent": {"id": str(world.agent.pk), "name": "Rosa", "handle": "rosa"},
        "status": "running",
        "activity": "thinking",
    }

    def answer(task_ids: Any, **_: Any) -> dict[Any, Any]:
        return {task.pk: state}

    signals.agent_states_asked.connect(answer)
    try:
        assert api.get(f"{path}tasks/1/").json()["agent_state"] == state
    finally:
        signals.agent_states_asked.disconnect(answer)


def test_bulk_change_answers_with_the_tasks_or_with_each_problem(
    names: dict[str, str], world: World, api: Api, path: str
) -> None:
    changes = {
        "status_id": names["done"],
        "add_labels": ["swept"],
        "add_assignee_ids": [names["rosa"]],
    }
    done = api.patch(f"{path}tasks/bulk/", {"numbers": [2, 1], "changes": changes})
    assert numbers(done) == [2, 1]
    assert {row["status"]["name"] for row in done.json()["results"]} == {"Done"}
    refused = api.patch(f"{path}tasks/bulk/", {"numbers": [1, 3, 77], "changes": {"parent": 2}})
    assert refused.status_code == 400
    assert sorted(refused.json()["fields"]) == ["HARB-1.parent", "HARB-77"]
    assert Task.objects.get(number=3).parent is None


def test_timeline_has_the_newest_entry_first(world: World, api: Api, path: str) -> None:
    api.post(f"{path}tasks/", {"title": "Paint"})
    api.patch(f"{path}tasks/1/", {"priority": "low"})
    newest, oldest = api.get(f"{path}tasks/1/activity/").json()["results"]
    assert set(newest) == {"id", "kind", "actor", "at", "changes", "conversation"}
    assert newest["changes"] == [{"field": "priority", "old": "none", "new": "low"}]
    assert (newest["actor"]["id"], oldest["kind"]) == (str(world.owner.pk), "task.created")


def test_statuses_and_types_are_ordered_and_replaced(world: World, api: Api, path: str) -> None:
    make(world)
    for noun, name in (("statuses", "Backlog"), ("task-types", "Task")):
        rows = api.get(f"{path}{noun}/").json()["results"]
        ids = [row["id"] for row in rows]
        ordered = api.patch(f"{path}{noun}/", {"ids": ids[::-1]}).json()["results"]
        assert [row["id"] for row in ordered] == ids[::-1]
        used = next(row["id"] for row in rows if row["name"] == name)
        assert api.delete(f"{path}{noun}/{used}/").json()["code"] == "in_use"
        address = f"{path}{noun}/{used}/?replacement_id={ids[-1]}"
        assert api.delete(address).status_code == 204
    task = api.get(f"{path}tasks/1/").json()
    assert (task["status"]["name"], task["type"]["name"]) == ("Done", "Feature")


def test_sprint_is_planned_started_and_completed(world: World, api: Api, path: str) -> None:
    june = api.post(f"{path}sprints/", {"name": "June"}).json()
    july = api.post(f"{path}sprints/", {"name": "July"}).json()
    api.post(f"{path}tasks/", {"title": "Paint", "sprint_id": june["id"]})
    one = f"{path}sprints/{june['id']}/"
    assert api.post(f"{one}complete/").json()["code"] == "sprint_not_active"
    assert api.post(f"{one}start/").json()["status"] == "active"
    ended = api.post(f"{one}complete/", {"move_to_id": july["id"]}).json()
    assert (ended["sprint"]["status"], ended["moved"]) == ("completed", 1)
    assert api.get(f"{path}tasks/1/").json()["sprint"]["name"] == "July"
    assert api.delete(f"{path}sprints/{july['id']}/").status_code == 204
    assert api.get(f"{path}tasks/1/").json()["sprint"] is None
