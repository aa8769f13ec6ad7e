"""Places of tasks in the columns of the board: numbers with gaps, made even again when a gap closes."""

from uuid import UUID

from django.db import connection
from django.db.models import Max, Min

from paca.common.errors import Invalid
from paca.projects.models import Task

GAP = 1024.0
# Half of it is still far above the smallest step of a float at the position of the millionth task.
SMALLEST_GAP = 0.001

# One statement, because a column may have thousands of tasks. Both databases understand it.
MAKE_EVEN = """
    UPDATE projects_task SET position = ranked.place * %s
    FROM (
        SELECT id, ROW_NUMBER() OVER (ORDER BY position, number) AS place
        FROM projects_task WHERE project_id = %s AND status_id = %s
    ) AS ranked
    WHERE projects_task.id = ranked.id"""


def at_the_top(project_id: UUID, status_id: UUID) -> float:
    """The place above all tasks of a column."""
    column = Task.objects.filter(project_id=project_id, status_id=status_id)
    lowest: float | None = column.aggregate(lowest=Min("position"))["lowest"]
    return 0.0 if lowest is None else lowest - GAP


def beside(task: Task, *, before: Task | None = None, after: Task | None = None) -> float:
    """The place directly above ``before`` or below ``after``, in the column of the task's status.

    The caller holds the lock of the project. Raises ``Invalid`` if the named task is the task itself
    or stands in another column.
    """
    neighbour, field = (before, "before") if before is not None else (after, "after")
    assert neighbour is not None
    if neighbour.pk == task.pk or neighbour.deleted_at is not None:
        raise Invalid(fields={field: ["Name another task that is on the board."]})
    if (neighbour.project_id, neighbour.status_id) != (task.project_id, task.status_id):
        raise Invalid(fields={field: [f"{neighbour.key} stands in another column."]})
    place = _between(task, neighbour, above=before is not None)
    if place is None:
        _make_even(task.project_id, task.status_id)
        place = _between(task, neighbour, above=before is not None)
    assert place is not None
    return place


def _between(task: Task, neighbour: Task, *, above: bool) -> float | None:
    """A place between the neighbour and the next task; None if there is no room."""
    column = Task.objects.filter(project_id=task.project_id, status_id=task.status_id)
    here: float = column.values_list("position", flat=True).get(pk=neighbour.pk)
    others = column.exclude(pk__in=[task.pk, neighbour.pk])
    if others.filter(position=here).exists():
        return None
    if above:
        nearest = others.filter(position__lt=here).aggregate(place=Max("position"))["place"]
        beyond: float = here - 2 * GAP if nearest is None else nearest
    else:
        nearest = others.filter(position__gt=here).aggregate(place=Min("position"))["place"]
        beyond = here + 2 * GAP if nearest is None else nearest
    return None if abs(here - beyond) < SMALLEST_GAP else (here + beyond) / 2


def _make_even(project_id: UUID, status_id: UUID) -> None:
    to_column = Task._meta.pk.get_db_prep_value
    with connection.cursor() as cursor:
        cursor.execute(
            MAKE_EVEN, [GAP, to_column(project_id, connection), to_column(status_id, connection)]
        )
