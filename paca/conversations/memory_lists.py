"""Reads of the memory of agents and projects: for people, and for the prompt of a turn."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import DateTimeField, Q, QuerySet, Sum, UUIDField
from django.db.models.functions import Length

from paca.agents import selectors as agents
from paca.agents.models import Agent
from paca.common.errors import NotFound
from paca.common.prepared_queries import Parameter, Select
from paca.conversations.models import MemoryEntry, MemoryState
from paca.conversations.models.memory import MemoryQuerySet
from paca.engine.context.memory import MemoryLine
from paca.projects.models import MemoryPolicy, Project

NO_PROJECT = UUID(int=0)


@dataclass(frozen=True, slots=True)
class MemoryOwner:
    """Whose memory it is: an agent's, or without an ``agent`` the project's."""

    project: Project
    agent: Agent | None = None

    @property
    def about(self) -> str:
        """``agent`` or ``project``, as events and the API call it."""
        return "project" if self.agent is None else "agent"

    @property
    def entries(self) -> MemoryQuerySet:
        """All entries of this memory, and none of another one."""
        # guard: memory-of-its-owner-only
        return MemoryEntry.objects.filter(**self.columns)

    @property
    def columns(self) -> dict[str, Any]:
        """The columns by which an entry belongs to it."""
        return {"project": self.project} if self.agent is None else {"agent": self.agent}

    @property
    def subject(self) -> Project | Agent:
        """The agent or the project."""
        return self.project if self.agent is None else self.agent


def owner(project: Project, agent_id: UUID | None) -> MemoryOwner:
    """The memory of an agent of the project, or that of the project. Raises ``NotFound`` if it has no such agent."""
    return MemoryOwner(project, None if agent_id is None else agents.get(project, agent_id))


def entries(of: MemoryOwner) -> QuerySet[MemoryEntry]:
    """The entries that people see, with the names that they show, in one query."""
    return of.entries.shown().select_related(
        *("author__user", "author__agent", "checked_by__user", "checked_by__agent"),
        *("conversation", "replaces"),
    )


def get(of: MemoryOwner, entry_id: UUID) -> MemoryEntry:
    """An entry of this memory. Raises ``NotFound`` if it has no such entry."""
    found = entries(of).filter(pk=entry_id).first()
    if found is None:
        raise NotFound
    return found


def characters(of: MemoryOwner, *, pinned_only: bool = False) -> int:
    """The size of the accepted entries."""
    found = of.entries.accepted()
    if pinned_only:
        found = found.filter(pinned=True)
    total: int | None = found.aggregate(total=Sum(Length("text")))["total"]
    return total or 0


def undecided(project: Project, *, of_project: bool, of_agents: bool) -> int:
    """How many entries wait in the memory of the project and in those of its agents, as wanted."""
    wanted = Q()
    if of_project:
        wanted |= Q(project=project)
    if of_agents:
        wanted |= Q(agent__project=project)
    return MemoryEntry.objects.waiting().filter(wanted).count() if wanted else 0


_FOR_PROMPT = Select(
    lambda: (
        MemoryEntry.objects.filter(
            Q(agent=Parameter("agent", UUIDField())) | Q(project=Parameter("project", UUIDField())),
            state=MemoryState.ACCEPTED.value,
            accepted_at__lte=Parameter("until", DateTimeField()),
        )
        .order_by("accepted_at", "pk")
        .values_list(
            "pk",
            "text",
            "author__agent__name",
            "author__user__username",
            "accepted_at",
            "project_id",
            "pinned",
        )
    )
)


def for_prompt(agent: Agent, project: Project, *, until: datetime) -> tuple[MemoryLine, ...]:
    """What the agent reads in a turn: entries that were accepted up to ``until``, the oldest first.

    A change takes effect with the next turn, so that the requests of one turn begin with the same bytes.
    """
    # guard: memory-is-switched-off
    if agent.memory == MemoryPolicy.OFF:
        return ()
    # guard: memory-of-the-project-is-switched-off
    of_project = NO_PROJECT if project.memory == MemoryPolicy.OFF else project.pk
    rows = _FOR_PROMPT.rows(agent=agent.pk, project=of_project, until=until)
    return tuple(
        MemoryLine(
            id=str(pk),
            text=text,
            author=name or username or "",
            noted_on=accepted_at.date(),
            of_project=project_id is not None,
            pinned=bool(pinned),
        )
        for pk, text, name, username, accepted_at, project_id, pinned in rows
    )
