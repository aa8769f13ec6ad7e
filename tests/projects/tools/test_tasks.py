"""The tools that list, read, create and change tasks."""

from typing import Any

import pytest

from paca.projects.models import Activity, Comment, Task
from paca.projects.services import attachments, comments, sprints, tasks
from tests.projects.tools.conftest import AgentAtWork
from tests.support.world import World, make_world


@pytest.fixture
def task(world: World) -> Task:
    return tasks.create(
        world.project, title="Fix the login", description="It fails.\nAlways.", by=world.owner
    )


def test_agent_creates_a_task_with_every_field(agent: AgentAtWork, task: Task) -> None:
    sprints.create(agent.world.project, name="Autumn", by=agent.world.owner)
    text = agent.does(
        "create_task",
        title="Write the guide",
        description="# Guide",
        status="in progress",
        type="feature",
        priority="high",
        assignees=["@rosa", agent.world.owner.handle],
        labels=["docs"],
        sprint="autumn",
        parent=task.key,
        blocked_by=[task.number],
        story_points=3,
        start_date="2026-11-01",
        due_date="2026-11-30",
    )
    assert text == "Created HARB-2, status In progress: Write the guide"
    made = Task.objects.get(number=2)
    assert (made.reporter, made.parent, made.sprint.name) == (agent.member, task, "Autumn")
    assert (made.priority, made.type.name, made.story_points) == (3, "Feature", 3)
    assert [str(made.start_date), str(made.due_date)] == ["2026-11-01", "2026-11-30"]
    assert {member.handle for member in made.assignees.all()} == {"rosa", "ada-harbor"}
    assert [label.name for label in made.labels.all()] == ["docs"]
    assert [each.blocked_by for each in made.dependencies.all()] == [task]


def test_agent_reads_a_task_with_comments_attachments_and_changes(
    agent: AgentAtWork, task: Task
) -> None:
    owner = agent.world.owner
    first = comments.add(task, text="Since Monday.", by=owner)
    comments.add(task, text="I look.", by=agent.member, parent=first)
    attachments.add(task, name="log.txt", content_type="text/plain", data=[b"abc"], by=owner)
    tasks.change(task, by=owner, priority="urgent", assignees=[agent.member], labels=["auth"])
    text = agent.does("read_task", task="harb-1")
    for part in (
        "HARB-1: Fix the login\nStatus: Backlog (backlog)\nType: Task\nPriority: urgent\n"
        "Assignees: @rosa\nReporter: @ada-harbor\nLabels: auth",
        "Description:\nIt fails.\nAlways.",
        "Attachments:\nlog.txt (3 bytes)",
        f"({str(first.pk)[:8]}) @ada-harbor, ",
        "priority: none -> urgent",
    ):
        assert part in text
    assert text.index("Since Monday.") < text.index("I look.")


def test_agent_reads_long_tasks_in_parts(agent: AgentAtWork, task: Task) -> None:
    tasks.change(task, by=agent.world.owner, description="\n".join(f"row {i}" for i in range(5000)))
    for number in range(40):
        comments.add(task, text=f"word {number}", by=agent.world.owner)
    text = agent.does("read_task", task="1")
    assert len(text.encode()) < 30 * 1024
    assert "row 0\n" in text
    assert "word 39" in text
    assert "word 9\n" not in text
    (_, _, rest) = text.partition("go on with first_line=")
    line = int(rest.partition("]")[0])
    assert f"Description:\nrow {line - 1}\n" in agent.does("read_task", task="1", first_line=line)
    oldest = text.partition("before_comment=")[2].partition("]")[0]
    older = agent.does("read_task", task="1", before_comment=oldest)
    assert older.endswith("word 9")
    assert older.count("word ") == 10


def test_task_with_the_longest_texts_of_any_script_keeps_the_notes_on_what_is_left_out(
    agent: AgentAtWork, task: Task
) -> None:
    world, wide = agent.world, "\U00020000"
    tasks.change(task, by=world.owner, description="\n".join([wide * 999] * 90), title=wide * 200)
    for _ in range(3):
        comments.add(task, text=wide * 50_000, by=world.owner)
    for number in range(25):
        name = f"{wide * 190}{number}"
        attachments.add(task, name=name, content_type="text/plain", data=[b"a"], by=world.owner)
    output = agent.calls("read_task", task=1)
    assert not output.truncated
    for note in (
        "first_line=",
        "before_comment=",
        "characters of this comment left out",
        "[and 22 older ones]",
    ):
        assert note in output.output


def test_reading_a_task_takes_as_many_queries_for_many_comments(
    agent: AgentAtWork, task: Task, django_assert_num_queries: Any
) -> None:
    for number in range(20):
        comments.add(task, text=f"word {number}", by=agent.world.owner)
        tasks.change(task, by=agent.world.owner, title=f"t{number}", labels=[f"l{number}"])
        if number in (2, 19):
            with django_assert_num_queries(11):
                agent.does("read_task", task=1)


def test_agent_lists_tasks_by_filters_and_goes_on(agent: AgentAtWork, task: Task) -> None:
    world = agent.world
    done = tasks.create(
        world.project, title="Old", by=world.owner, status=world.project.statuses.last()
    )
    mine = tasks.create(
        world.project, title="Mine", by=world.owner, assignees=[agent.member], labels=["ui"]
    )
    tasks.create(world.project, title="Below", by=world.owner, parent=task)
    assert agent.does("list_tasks").splitlines() == [
        "HARB-4 [Backlog] Below",
        "HARB-3 [Backlog, @rosa, #ui] Mine",
        "HARB-1 [Backlog] Fix the login",
    ]
    assert agent.does("list_tasks", state="done") == f"{done.key} [Done] Old"
    for filters in ({"assignee": "me"}, {"assignee": "@Rosa"}, {"label": "UI"}):
        assert agent.does("list_tasks", **filters) == f"{mine.key} [Backlog, @rosa, #ui] Mine"
    assert agent.does("list_tasks", parent="HARB-1") == "HARB-4 [Backlog] Below"
    assert agent.does("list_tasks", assignee="none", before=4) == "HARB-1 [Backlog] Fix the login"
    part = agent.does("list_tasks", state="all", limit=2)
    assert part.endswith("HARB-3 [Backlog, @rosa, #ui] Mine\n[more; go on with before=3]")
    assert agent.does("list_tasks", before=1) == "No further task fits."


def test_list_of_tasks_takes_as_many_queries_for_many_tasks(
    agent: AgentAtWork, django_assert_num_queries: Any
) -> None:
    world = agent.world
    for number in range(20):
        tasks.create(world.project, title=f"t{number}", by=world.owner, assignees=[world.owner])
        if number in (2, 19):
            with django_assert_num_queries(5):
                agent.does("list_tasks")


def test_agent_changes_a_task_and_is_told_each_change(agent: AgentAtWork, task: Task) -> None:
    text = agent.does(
        "update_task", task=1, status="Done", assignees=["rosa"], due_date="2026-12-24"
    )
    assert text == (
        "Changed HARB-1. status: Backlog -> Done; due_date: none -> 2026-12-24; assignees: none -> Rosa"
    )
    assert agent.does("update_task", task=1, status="done") == (
        "HARB-1 is so already: nothing was changed."
    )
    agent.does("update_task", task=1, assignees=[], due_date="")
    task.refresh_from_db()
    assert (task.due_date, task.assignees.count()) == (None, 0)
    written = Activity.objects.filter(task=task, actor=agent.member)
    assert {entry.conversation_id for entry in written} == {agent.access.agent.conversation_id}


@pytest.mark.parametrize("none", ["", -1])
def test_agent_takes_every_optional_field_of_a_task_away(
    agent: AgentAtWork, task: Task, none: Any
) -> None:
    sprints.create(agent.world.project, name="Autumn", by=agent.world.owner)
    agent.does(
        "create_task",
        title="Write",
        sprint="Autumn",
        parent=task.key,
        story_points=3,
        start_date="2026-11-01",
        due_date="2026-11-30",
        blocked_by=[1],
        labels=["docs"],
        assignees=["ada-harbor"],
    )
    empty: dict[str, Any] = dict.fromkeys(("sprint", "parent", "start_date", "due_date"), "")
    empty |= {"story_points": none, "blocked_by": [], "labels": [], "assignees": []}
    text = agent.does("update_task", task=2, **empty)
    made = Task.objects.get(number=2)
    assert (made.sprint, made.parent, made.story_points) == (None, None, None)
    assert (made.start_date, made.due_date) == (None, None)
    assert "story_points: 3 -> none" in text
    assert not made.assignees.exists()
    assert not made.labels.exists()
    assert not made.dependencies.exists()
    agent.does("update_task", task=2, story_points=0)
    made.refresh_from_db()
    assert made.story_points == 0
    unchanged = agent.does("update_task", task=2, story_points=None, title="Read")
    assert unchanged == "Changed HARB-2. title: Write -> Read"


@pytest.mark.parametrize("text", ["\n".join(f"row {i}" for i in range(5000)), "sea " * 12_000])
def test_agent_reads_a_long_comment_in_parts(agent: AgentAtWork, task: Task, text: str) -> None:
    long_comment = comments.add(task, text=text, by=agent.world.owner)
    comments.add(task, text="Short.", by=agent.world.owner)
    hint = agent.does("read_task", task=1).partition("left out; ")[2]
    assert hint.startswith(f"comment={str(long_comment.pk)[:8]} reads all]")
    found, line = "", 1
    while line:
        part = agent.does("read_task", task=1, comment=str(long_comment.pk)[:8], first_line=line)
        assert len(part.encode()) < 30 * 1024
        head, _, body = part.partition("\n")
        assert head.startswith(f"({str(long_comment.pk)[:8]}) @ada-harbor, ")
        lines, _, remark = body.rpartition("\n[lines ")
        found += lines + "\n"
        line = int(remark.partition("first_line=")[2].rstrip("]") or 0)
    assert found.replace("\n", "") == long_comment.text.replace("\n", "")
    assert "Short." not in part


@pytest.mark.parametrize(
    ("field", "given", "told"),
    [
        ("status", "in_progress", "status: Backlog -> In progress"),
        ("status", "TODO", "status: Backlog -> To do"),
        ("assignees", "@rosa", "assignees: none -> Rosa"),
        ("labels", "ui, auth", "labels: none -> auth, ui"),
        ("labels", '["ui", "auth"]', "labels: none -> auth, ui"),
        ("blocked_by", 2, "blocked_by: none -> HARB-2"),
        ("blocked_by", "HARB-2", "blocked_by: none -> HARB-2"),
        ("story_points", "3", "story_points: none -> 3"),
    ],
)
def test_values_are_taken_as_models_write_them(
    agent: AgentAtWork, task: Task, field: str, given: Any, told: str
) -> None:
    tasks.create(agent.world.project, title="Before", by=agent.world.owner)
    assert told in agent.does("update_task", task=task.key, **{field: given})


def test_description_that_changed_since_the_agent_read_it_is_not_overwritten(
    agent: AgentAtWork, task: Task
) -> None:
    unread = agent.is_refused("update_task", task=1, description="Mine.")
    assert "is not the one that you have read" in unread
    agent.does("read_task", task=1)
    tasks.change(task, by=agent.world.owner, description="Hers.")
    agent.is_refused("update_task", task=1, description="Mine.", title="Other")
    task.refresh_from_db()
    assert (task.description, task.title) == ("Hers.", "Fix the login")
    agent.does("read_task", task=1)
    agent.does("update_task", task=1, description="Mine.")
    agent.does("update_task", task=1, description="Mine, again.")


BAD: list[tuple[str, dict[str, Any], str]] = [
    ("read_task", {"task": "HARB-9"}, "There is no task 'HARB-9' in this project. Keys look like HARB-4"),
    ("read_task", {"task": "ELSE-1"}, "There is no task 'ELSE-1'"),
    ("read_task", {"task": "the login"}, "There is no task 'the login'"),
    ("read_task", {"task": "9" * 10}, "There is no task"),
    ("read_task", {"task": "1\0"}, "text without NUL"),
    ("read_task", {"task": "\ud800"}, "task: expected text"),
    ("read_task", {}, "task: is missing"),
    ("read_task", {"task": 1, "before_comment": "abc"}, "There is no comment 'abc' there."),
    ("read_task", {"task": 1, "first_line": 0}, "first_line: expected a whole number of at least 1"),
    ("list_tasks", {"status": "Doing"}, "The project has no status 'Doing'. They are: Backlog, To do, In progress"),
    ("list_tasks", {"state": "closed"}, "state: expected one of open, done, all"),
    ("list_tasks", {"assignee": "@bob"}, "No member has the handle '@bob'. Handles: "),
    ("list_tasks", {"label": "ui"}, "The project has no label 'ui'. There are none."),
    ("list_tasks", {"sprint": "x"}, "The project has no sprint 'x'. There are none."),
    ("list_tasks", {"limit": 51}, "limit: expected a whole number from 1 to 50; got 51."),
    ("create_task", {"title": ""}, "title: expected text that is not empty"),
    ("create_task", {"title": "   "}, "title"),
    ("create_task", {"title": "x" * 201}, "of at most 200 characters"),
    ("create_task", {"title": "x", "priority": "highest"}, "one of none, low, medium, high, urgent"),
    ("create_task", {"title": "x", "type": "Epic"}, "no task type 'Epic'. They are: Task, Bug, Feature."),
    ("create_task", {"title": "x", "parent": "HARB-7"}, "There is no task 'HARB-7'"),
    ("create_task", {"title": "x", "assignees": {"handle": "rosa"}}, "assignees: expected a list"),
    ("create_task", {"title": "x", "assignees": ["rosa", 5]}, "assignees: expected a list"),
    ("create_task", {"title": "x", "labels": True}, "labels: expected a list"),
    ("create_task", {"title": "x", "assignees": ["ros"]}, "No member has the handle 'ros'. Handles: ada-harbor, rosa."),
    ("create_task", {"title": "x", "due_date": "tomorrow"}, "due_date: expected a day as YYYY-MM-DD"),
    ("create_task", {"title": "x", "due_date": "2026-02-30"}, "- due_date: 2026-02-30 is no day"),
    ("create_task", {"title": "x", "start_date": "2026-03-02", "due_date": "2026-03-01"}, "- due_date: This is before the start date."),
    ("create_task", {"title": "x", "story_points": 1001}, "from -1 to 1000"),
    ("create_task", {"title": "x", "labels": [""]}, "labels"),
    ("create_task", {"title": "x", "labels": ["y" * 60]}, "labels"),
    ("create_task", {"title": "x", "description": "y" * 100_001}, "of at most 100000 characters"),
    ("create_task", {"title": "x", "description": "\ud800"}, "description: expected text"),
    ("update_task", {"task": 1}, "name at least one field of HARB-1 to change"),
    ("update_task", {"task": 1, "parent": "HARB-1"}, "parent"),
    ("update_task", {"task": 1, "blocked_by": [1]}, "blocked_by"),
    ("update_task", {"task": 1, "blocked_by": ["HARB-8"]}, "There is no task 'HARB-8'"),
    ("update_task", {"task": 1, "status": ""}, "The project has no status ''."),
]  # fmt: skip


@pytest.mark.parametrize(("tool", "arguments", "told"), BAD)
def test_wrong_arguments_get_a_text_that_helps_and_change_nothing(
    agent: AgentAtWork, task: Task, tool: str, arguments: dict[str, Any], told: str
) -> None:
    before = task.updated_at
    assert told in agent.is_refused(tool, **arguments)
    assert Task.objects.count() == 1
    task.refresh_from_db()
    assert task.updated_at == before
    assert Comment.objects.count() == 0


def test_tasks_of_other_projects_are_not_found(agent: AgentAtWork) -> None:
    other = make_world("Elsewhere")
    foreign = tasks.create(other.project, title="Secret", by=other.owner)
    comment = comments.add(foreign, text="Secret too", by=other.owner)
    tasks.create(agent.world.project, title="Here", by=agent.world.owner)
    assert "no task" in agent.is_refused("read_task", task=foreign.key)
    assert "Here" in agent.does("read_task", task=foreign.number)
    assert "There is no comment" in agent.is_refused(
        "add_comment", task=1, text="Hi", answer_to=str(comment.pk)
    )
    assert "No member" in agent.is_refused("update_task", task=1, assignees=[other.owner.handle])
