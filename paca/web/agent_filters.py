"""The filters, the order and the pages of the list of agents, as links of its page."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from django.db.models import QuerySet
from django.db.models.functions import Lower
from django.http import QueryDict

from paca.agents import agent_lists, catalogue
from paca.agents.models import Agent, AgentCategory, AgentPriority
from paca.common.errors import Invalid
from paca.projects.models import Project

PAGE_SIZE = 50
MAX_TAGS_SHOWN = 30
SORTS = {
    "name": "Name",
    "-priority": "Priority",
    "-created_at": "Newest",
    "-updated_at": "Last changed",
}
STATUSES = {"": "All", "active": "Active", "paused": "Paused", "inactive": "Inactive"}
TYPES = {each.slug: each.name for each in catalogue.AGENT_TYPES}
CATEGORIES = dict(AgentCategory.choices)
PRIORITIES = {each.name.lower(): str(each.label) for each in AgentPriority}


@dataclass(frozen=True, slots=True)
class Choice:
    """A value that the list can be filtered or sorted by: a link that chooses it, or gives it up if it is chosen."""

    label: str
    url: str
    chosen: bool = False
    count: int | None = None


@dataclass(frozen=True, slots=True)
class Group:
    """The values of one filter that occur in the project."""

    name: str
    choices: list[Choice]


@dataclass(frozen=True, slots=True)
class Desk:
    """The agents of a page of the list, and the links around it."""

    agents: QuerySet[Agent]
    total: int
    search: str
    statuses: list[Choice]
    groups: list[Group]
    sorts: list[Choice]
    chosen: list[Choice]
    hidden: list[tuple[str, str]] = field(default_factory=list)
    newer: str = ""
    older: str = ""
    problem: str = ""

    @property
    def is_filtered(self) -> bool:
        """Whether the address leaves some agents out."""
        return bool(self.chosen or self.search)


def read(project: Project, query: QueryDict) -> Desk:
    """The part of the list that an address asks for. A value that does not exist is told, and all agents are shown."""
    given = {name: [each for each in query.getlist(name) if each] for name in agent_lists.FILTERS}
    given["search"] = [each.strip()[:100] for each in given["search"] if each.strip()][:1]
    problem = ""
    try:
        found = agent_lists.select(project, given)
    except Invalid as invalid:
        problem = " ".join(text for texts in invalid.fields.values() for text in texts)
        given = {name: [] for name in given}
        found = agent_lists.select(project, {})
    sort = query.get("sort", "")
    address = _Address(given, sort if sort in SORTS else "name", _page(query.get("page", "")))
    shown, has_more = _page_of(found, address)
    counts = agent_lists.choices(project)
    groups = [
        _group(address, "Category", "category", counts.categories, CATEGORIES),
        _group(address, "Type", "type", counts.types, TYPES),
        _group(address, "Priority", "priority", counts.priorities, PRIORITIES),
        _group(address, "Tag", "tag", counts.tags, {}),
    ]
    return Desk(
        agents=shown,
        total=counts.total,
        search=(given["search"] or [""])[0],
        statuses=_statuses(address, counts),
        groups=[group for group in groups if len(group.choices) > 1 or _is_chosen(group)],
        sorts=[
            Choice(label, address.with_sort(name), name == address.sort)
            for name, label in SORTS.items()
        ],
        chosen=_chosen(address),
        hidden=address.pairs(without="search"),
        newer=address.with_page(address.page - 1) if address.page > 1 else "",
        older=address.with_page(address.page + 1) if has_more else "",
        problem=problem,
    )


@dataclass(frozen=True, slots=True)
class _Address:
    given: Mapping[str, list[str]]
    sort: str
    page: int

    def pairs(self, *, without: str = "") -> list[tuple[str, str]]:
        filters = [
            (name, each)
            for name, values in self.given.items()
            for each in values
            if name != without
        ]
        return [*filters, ("sort", self.sort)] if self.sort != "name" else filters

    def toggled(self, name: str, value: str) -> str:
        """The address with this value if it is not chosen, and without it if it is."""
        pair = (name, value)
        pairs = self.pairs()
        return _url([each for each in pairs if each != pair] if pair in pairs else [*pairs, pair])

    def with_only(self, name: str, value: str) -> str:
        pairs = [each for each in self.pairs() if each[0] != name]
        return _url([*pairs, (name, value)] if value else pairs)

    def with_sort(self, sort: str) -> str:
        return _url(_Address(self.given, sort, 1).pairs())

    def with_page(self, page: int) -> str:
        return _url([*self.pairs(), ("page", str(page))])


def _url(pairs: Iterable[tuple[str, str]]) -> str:
    query = QueryDict(mutable=True)
    for name, value in pairs:
        query.appendlist(name, value)
    return f"?{query.urlencode()}" if query else "?"


def _page(text: str) -> int:
    return int(text) if re.fullmatch("[1-9][0-9]{0,4}", text) else 1


def _page_of(found: QuerySet[Agent], address: _Address) -> tuple[QuerySet[Agent], bool]:
    """The agents of the page, and whether others follow."""
    sign = "-" if address.sort.startswith("-") else ""
    order = agent_lists.ORDERS[address.sort.removeprefix("-")].field
    first = (address.page - 1) * PAGE_SIZE
    ordered = found.order_by(f"{sign}{order}", Lower("name"), "id")
    ids = list(ordered.values_list("pk", flat=True)[first : first + PAGE_SIZE + 1])
    return ordered.filter(pk__in=ids[:PAGE_SIZE]), len(ids) > PAGE_SIZE


def _group(
    address: _Address, title: str, name: str, counts: dict[str, int], labels: Mapping[str, str]
) -> Group:
    most = sorted(counts, key=lambda value: -counts[value])[:MAX_TAGS_SHOWN]
    shown = [value for value in counts if value in most or value in address.given[name]]
    choices = [
        Choice(
            labels.get(value, value),
            address.toggled(name, value),
            value in address.given[name],
            counts[value],
        )
        for value in shown
    ]
    return Group(title, choices)


def _is_chosen(group: Group) -> bool:
    return any(choice.chosen for choice in group.choices)


def _statuses(address: _Address, counts: agent_lists.Choices) -> list[Choice]:
    chosen = address.given["status"]
    return [
        Choice(
            label,
            address.with_only("status", status),
            chosen == [status] if status else not chosen,
            counts.statuses.get(status, 0) if status else counts.total,
        )
        for status, label in STATUSES.items()
    ]


def _chosen(address: _Address) -> list[Choice]:
    """Each chosen filter, as a link that gives it up."""
    labels = {"category": CATEGORIES, "type": TYPES, "priority": PRIORITIES, "status": STATUSES}
    names = {"priority": " priority", "tag": ""}
    return [
        Choice(
            f"{'#' if name == 'tag' else ''}{labels.get(name, {}).get(value, value)}{names.get(name, '')}",
            address.toggled(name, value),
            True,
        )
        for name, values in address.given.items()
        if name != "search"
        for value in values
    ]
