"""Time of the reads of a project with 10,000 tasks and 200,000 entries of timelines."""

from __future__ import annotations

import time
from functools import cache
from pathlib import Path

from django.db import connection
from django.test import override_settings
from django.test.utils import CaptureQueriesContext

from paca.projects import search_entries
from paca.projects.models import Project, Task, TaskAssignee
from tests.bench.figures import Figure, percentile
from tests.support.api import Api
from tests.support.world import World, make_world

TASKS, FEW_TASKS, ENTRIES, TIMELINE = 10_000, 10, 200_000, 2_000
REQUESTS = 40
AT_MOST_MS = 150
TIMELINES = """
    INSERT INTO projects_activity
        (id, created_at, updated_at, project_id, task_id, kind, actor_id, changes)
    SELECT gen_random_uuid(), now() - n * interval '1 second', now(), task.project_id, task.id,
        'task.updated', task.reporter_id, '[{"field": "title", "old": "a", "new": "b"}]'
    FROM generate_series(1, %s) AS n
    JOIN projects_task AS task
        ON task.project_id = %s AND task.number = CASE WHEN n <= %s THEN 1 ELSE 1 + n %% %s END"""


def task_list(_folder: Path) -> Figure:
    """The first page of the list, ordered by priority."""
    return _figure("tasks/?ordering=-priority", "a page of the list by priority")


def board(_folder: Path) -> Figure:
    """The board with the first fifty cards of each column."""
    return _figure("tasks/board/", "the board, fifty cards a column")


def search_words(_folder: Path) -> Figure:
    """A search for two words."""
    return _figure("search/?q=paint%20harbor", "a search for two words")


def timeline(_folder: Path) -> Figure:
    """The newest page of a long timeline."""
    return _figure("tasks/1/timeline/", f"a page of a timeline of {TIMELINE} entries")


def _figure(path: str, what: str) -> Figure:
    large, small = _filled("Large", TASKS), _filled("Small", FEW_TASKS)
    with override_settings(ALLOWED_HOSTS=["testserver"]):
        ours, queries = _p95(large, path)
        baseline, few_queries = _p95(small, path)
    assert queries == few_queries, f"{queries} queries, and {few_queries} for {FEW_TASKS} tasks"
    return Figure(
        "project-reads",
        ours,
        baseline,
        "ms",
        f"p95 of {what}: {TASKS} tasks, {ENTRIES} entries / {FEW_TASKS} tasks, PostgreSQL",
        at_most=AT_MOST_MS,
    )


def _p95(world: World, path: str) -> tuple[float, int]:
    """Milliseconds of the slowest requests but one in twenty, and the queries of one."""
    api, address = Api(world.user), f"/projects/{world.project.pk}/{path}"
    with CaptureQueriesContext(connection) as queries:
        answer = api.get(address)
        assert answer.status_code == 200, answer.content
    seconds = []
    for _ in range(REQUESTS):
        began = time.perf_counter()
        api.get(address)
        seconds.append(time.perf_counter() - began)
    return percentile(seconds, 0.95) * 1000, len(queries)


@cache
def _filled(name: str, count: int) -> World:
    world = make_world(name)
    project = world.project
    statuses, kinds = list(project.statuses.all()), list(project.task_types.all())
    rows = [
        Task(
            project=project,
            number=number,
            title=f"Paint pier {number} of the harbor",
            description="It needs two coats of the blue that we bought in June. " * 10,
            status=statuses[number % len(statuses)],
            type=kinds[number % len(kinds)],
            priority=number % 5,
            position=-1024.0 * number,
            reporter=world.owner,
        )
        for number in range(1, count + 1)
    ]
    Task.objects.bulk_create(rows, batch_size=1000)
    TaskAssignee.objects.bulk_create(
        (TaskAssignee(task=task, member=world.agent.member) for task in rows[::2]), batch_size=1000
    )
    Project.objects.filter(pk=project.pk).update(last_task_number=count)
    entries = ENTRIES * count // TASKS
    with connection.cursor() as cursor:
        cursor.execute(TIMELINES, [entries, project.pk, min(TIMELINE, entries), count])
        search_entries.rebuild()
        cursor.execute("ANALYZE")
    return world
