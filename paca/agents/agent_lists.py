"""Lists of agents: filters and orders, the same for the API and the page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import Count, Q
from django.db.models.functions import Lower

from paca.agents.models import Agent, AgentCategory, AgentPriority, AgentStatus
from paca.agents.models.agent import AgentQuerySet
from paca.agents.models.tags import has_tag
from paca.common.api import keyset
from paca.common.errors import Invalid
from paca.common.text import is_storable
from paca.projects.models import Project

ORDERS = {
    "created_at": keyset.Order("created_at", keyset.read_moment),
    "updated_at": keyset.Order("updated_at", keyset.read_moment),
    "name": keyset.Order("name_order", keyset.read_text),
    "priority": keyset.Order("priority", keyset.read_integer),
    "status": keyset.Order("status", keyset.read_text),
    "type": keyset.Order("agent_type", keyset.read_text),
    "category": keyset.Order("category", keyset.read_text),
}
DEFAULT_ORDER = "-created_at"
MAX_VALUES, MAX_VALUE_CHARACTERS = 20, 200
PRIORITY_NAMES = tuple(each.name.lower() for each in AgentPriority)


def select(project: Project, query: Mapping[str, Sequence[str]]) -> AgentQuerySet:
    """The project's agents that match the query, with a field for each order.

    ``query`` has the values of each parameter; one of a parameter's values has to match, and each parameter.
    Raises ``Invalid`` if a value is malformed.
    """
    found = Agent.objects.for_project(project)
    for name, condition in FILTERS.items():
        values = [value for value in query.get(name, ()) if value]
        if len(values) > MAX_VALUES:
            raise Invalid(fields={name: [f"Give at most {MAX_VALUES} values."]})
        # SQLite fails with longer patterns of LIKE.
        # guard: agent-filters-are-short
        if any(len(value) > MAX_VALUE_CHARACTERS for value in values):
            raise Invalid(fields={name: [f"Give at most {MAX_VALUE_CHARACTERS} characters."]})
        if not all(map(is_storable, values)):
            raise Invalid(fields={name: ["This has characters that no text can have."]})
        if values:
            found = found.filter(condition(name, values))
    return found.annotate(name_order=Lower("name"))


def load(ids: Iterable[UUID]) -> dict[UUID, Agent]:
    """Agents as the API shows them, by their ids, in one query."""
    found = Agent.objects.filter(pk__in=list(ids)).select_related("member")
    return {agent.pk: agent for agent in found}


@dataclass(frozen=True, slots=True)
class Choices:
    """What the agents of a project can be filtered by, each with the number of its agents."""

    types: dict[str, int]
    categories: dict[str, int]
    tags: dict[str, int]
    priorities: dict[str, int]
    statuses: dict[str, int]
    total: int


def choices(project: Project) -> Choices:
    """What occurs among all agents of the project, in one query."""
    rows = list(
        Agent.objects.for_project(project)
        .order_by()
        .values_list("agent_type", "category", "tags", "priority", "status")
        .annotate(n=Count("pk"))
    )
    return Choices(
        types=_counted((kind, n) for kind, _, _, _, _, n in rows if kind),
        categories=_counted((category, n) for _, category, _, _, _, n in rows),
        tags=_counted((tag, n) for _, _, tags, _, _, n in rows for tag in tags),
        priorities=_counted((PRIORITY_NAMES[priority], n) for _, _, _, priority, _, n in rows),
        statuses=_counted((status, n) for _, _, _, _, status, n in rows),
        total=sum(row[-1] for row in rows),
    )


def _counted(pairs: Iterable[tuple[str, int]]) -> dict[str, int]:
    sums: dict[str, int] = {}
    for value, n in pairs:
        sums[value] = sums.get(value, 0) + n
    return dict(sorted(sums.items()))


def _among(names: Iterable[str]) -> Callable[[str, Sequence[str]], Sequence[str]]:
    known = list(names)

    def check(field: str, values: Sequence[str]) -> Sequence[str]:
        if unknown := [value for value in values if value not in known]:
            raise Invalid(fields={field: [f"{unknown[0]!r} is not one of {', '.join(known)}."]})
        return values

    return check


_categories, _priorities, _statuses = map(
    _among, (AgentCategory.values, PRIORITY_NAMES, AgentStatus.values)
)


def _by_type(name: str, values: Sequence[str]) -> Q:
    return Q(agent_type__in=values)


def _by_category(name: str, values: Sequence[str]) -> Q:
    return Q(category__in=_categories(name, values))


def _by_priority(name: str, values: Sequence[str]) -> Q:
    return Q(priority__in=[PRIORITY_NAMES.index(each) for each in _priorities(name, values)])


def _by_status(name: str, values: Sequence[str]) -> Q:
    return Q(status__in=_statuses(name, values))


def _by_tag(name: str, values: Sequence[str]) -> Q:
    found = Q()
    for value in values:
        found |= has_tag(value)
    return found


def _by_text(name: str, values: Sequence[str]) -> Q:
    """Agents whose name, handle, description, type or tags have the words."""
    found = Q()
    for value in values:
        for column in ("name", "handle", "description", "agent_type"):
            found |= Q(**{f"{column}__icontains": value.removeprefix("@")})
        found |= has_tag(value)
    return found


FILTERS: dict[str, Callable[[str, Sequence[str]], Any]] = {
    "type": _by_type,
    "category": _by_category,
    "tag": _by_tag,
    "priority": _by_priority,
    "status": _by_status,
    "search": _by_text,
}
