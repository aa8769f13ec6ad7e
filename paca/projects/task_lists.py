"""Lists of tasks: filters, orders, and the columns of the board."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any
from uuid import UUID

from django.db.models import Count, Exists, F, OuterRef, Q, Window
from django.db.models.functions import Coalesce, RowNumber

from paca.common.api import keyset
from paca.common.errors import Invalid
from paca.common.text import is_storable
from paca.projects import signals
from paca.projects.models import (
    Member,
    Priority,
    Project,
    SprintStatus,
    StatusCategory,
    Task,
    TaskAssignee,
    TaskStatus,
)
from paca.projects.models.task import TaskQuerySet

# Tasks without a due date come after those that have one.
NO_DUE_DATE = date(9999, 12, 31)
ORDERS = {
    "number": keyset.Order("number", keyset.read_integer),
    "created_at": keyset.Order("created_at", keyset.read_moment),
    "updated_at": keyset.Order("updated_at", keyset.read_moment),
    "title": keyset.Order("title", keyset.read_text),
    "priority": keyset.Order("priority", keyset.read_integer),
    "due_date": keyset.Order("due_order", keyset.read_date),
    "position": keyset.Order("position", keyset.read_float),
}
DEFAULT_ORDER = "-number"
NONE = "none"
MAX_VALUES, MAX_SEARCH_CHARACTERS = 50, 200


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the board: its first cards, and the number of all its tasks."""

    status: TaskStatus
    count: int
    tasks: list[Task] = field(default_factory=list)


def select(project: Project, query: Mapping[str, Sequence[str]], *, viewer: Member) -> TaskQuerySet:
    """The project's tasks that match the query, with a field for each order.

    ``query`` has the values of each parameter; one of a parameter's values has to match, and each
    parameter. Raises ``Invalid`` if a value is malformed.
    """
    deleted = query.get("deleted", [""])[-1] in {"true", "1"}
    found = Task.objects.filter(project=project, deleted_at__isnull=not deleted)
    for name, condition in _FILTERS.items():
        values = [value for value in query.get(name, ()) if value]
        if len(values) > MAX_VALUES:
            raise Invalid(fields={name: [f"Give at most {MAX_VALUES} values."]})
        if values:
            found = found.filter(condition(name, values, viewer))
    return found.annotate(due_order=Coalesce("due_date", NO_DUE_DATE))


def board(project: Project, found: TaskQuerySet, *, limit: int) -> list[Column]:
    """The columns of the board with their first ``limit`` cards; two queries and those of the cards."""
    counts = dict(found.values_list("status_id").annotate(count=Count("pk")).order_by())
    place = Window(RowNumber(), partition_by=F("status_id"), order_by=_BOARD_ORDER)
    # The subquery is narrow: with all columns of the cards the database would sort those of all tasks.
    first = found.annotate(place=place).filter(place__lte=limit).values("pk")
    shown = Task.objects.filter(project=project, pk__in=first)
    columns = {
        status.pk: Column(status, counts.get(status.pk, 0)) for status in project.statuses.all()
    }
    for card in shown.with_card_details().order_by(*_BOARD_ORDER):
        if card.status_id in columns:
            columns[card.status_id].tasks.append(card)
    return list(columns.values())


def load_details(ids: Iterable[UUID]) -> dict[UUID, Task]:
    """Tasks with all that the API shows of them, by their ids, in a constant number of queries."""
    return {task.pk: task for task in Task.objects.filter(pk__in=list(ids)).with_details()}


def ask_agent_states(tasks: Iterable[Task]) -> dict[UUID, dict[str, Any]]:
    """The states of agents that work on these tasks, by the task's id; asked once for all of them."""
    ids = [task.pk for task in tasks]
    states: dict[UUID, dict[str, Any]] = {}
    if ids:
        told: Any
        for _, told in signals.agent_states_asked.send(sender=Task, task_ids=ids):
            states |= told or {}
    return states


# The order of the keyset, so that a column goes on with the list.
_BOARD_ORDER = ("position", "number")


def _ids(name: str, values: Sequence[str]) -> list[UUID]:
    try:
        return [UUID(value) for value in values]
    except ValueError:
        raise Invalid(fields={name: ["Give an id."]}) from None


def _among(name: str, values: Sequence[str], names: Iterable[str]) -> Sequence[str]:
    known = list(names)
    if unknown := [value for value in values if value not in known]:
        raise Invalid(fields={name: [f"{unknown[0]!r} is not one of {', '.join(known)}."]})
    return values


def _by_id(column: str) -> Any:
    def condition(name: str, values: Sequence[str], viewer: Member) -> Q:
        return Q(**{f"{column}__in": _ids(name, values)})

    return condition


def _by_category(name: str, values: Sequence[str], viewer: Member) -> Q:
    return Q(status__category__in=_among(name, values, StatusCategory.values))


def _by_priority(name: str, values: Sequence[str], viewer: Member) -> Q:
    names = [each.name.lower() for each in Priority]
    return Q(priority__in=[names.index(value) for value in _among(name, values, names)])


def _by_assignee(name: str, values: Sequence[str], viewer: Member) -> Q:
    """Members by id; ``me`` is the viewer, ``none`` a task without an assignee."""
    ids = _ids(name, [value for value in values if value not in {"me", NONE}])
    if "me" in values:
        ids.append(viewer.pk)
    assigned = TaskAssignee.objects.filter(task=OuterRef("pk"))
    condition = Q(Exists(assigned.filter(member__in=ids)))
    return condition | ~Q(Exists(assigned)) if NONE in values else condition


def _by_label(name: str, values: Sequence[str], viewer: Member) -> Q:
    _require_storable(name, values)
    matches = Q()
    for value in values:
        matches |= Q(labels__name__iexact=value)
    return Q(pk__in=Task.objects.filter(matches, project_id=viewer.project_id).values("pk"))


def _by_sprint(name: str, values: Sequence[str], viewer: Member) -> Q:
    """Sprints by id; ``active`` is any active sprint, ``none`` a task without a sprint."""
    named = Q(sprint__in=_ids(name, [value for value in values if value not in {"active", NONE}]))
    if "active" in values:
        named |= Q(sprint__status=SprintStatus.ACTIVE)
    return named | Q(sprint__isnull=True) if NONE in values else named


def _by_parent(name: str, values: Sequence[str], viewer: Member) -> Q:
    """Parents by number; ``none`` is a task without a parent."""
    numbers = [value for value in values if value != NONE]
    if not all(value.isascii() and value.isdigit() and len(value) < 10 for value in numbers):
        raise Invalid(fields={name: ["Give the number of a task, or none."]})
    condition = Q(parent__number__in=[int(value) for value in numbers])
    return condition | Q(parent__isnull=True) if NONE in values else condition


def _by_words(name: str, values: Sequence[str], viewer: Member) -> Q:
    """Tasks whose title has the words, or whose key or number it is."""
    _require_storable(name, values)
    # SQLite fails with longer patterns of LIKE.
    # guard: task-search-is-short
    if any(len(value) > MAX_SEARCH_CHARACTERS for value in values):
        raise Invalid(fields={name: [f"Give at most {MAX_SEARCH_CHARACTERS} characters."]})
    condition = Q()
    for value in values:
        condition |= Q(title__icontains=value)
        number = value.upper().removeprefix(f"{viewer.project.prefix}-").removeprefix("#")
        if number.isascii() and number.isdigit() and len(number) < 10:
            condition |= Q(number=int(number))
    return condition


def _require_storable(name: str, values: Sequence[str]) -> None:
    if not all(map(is_storable, values)):
        raise Invalid(fields={name: ["This has characters that no text can have."]})


_FILTERS = {
    "status": _by_id("status"),
    "category": _by_category,
    "priority": _by_priority,
    "assignee": _by_assignee,
    "label": _by_label,
    "sprint": _by_sprint,
    "type": _by_id("type"),
    "parent": _by_parent,
    "search": _by_words,
}
