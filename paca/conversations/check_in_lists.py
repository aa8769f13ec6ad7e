"""Reads of check-ins, each with what became of its last slot."""

from __future__ import annotations

from uuid import UUID

from django.db.models import Prefetch, QuerySet

from paca.agents import selectors as agents
from paca.agents.models import Agent
from paca.common.errors import NotFound
from paca.conversations.models import CheckIn, CheckInRun
from paca.projects.models import Project

SHOWN_RUNS = 10


def of_agent(agent: Agent, *, runs: int = 1) -> QuerySet[CheckIn]:
    """The check-ins of an agent in two queries, each with its newest ``runs`` as ``newest_runs``."""
    return _with_runs(agent.check_ins.all(), runs)


def get(
    project: Project, agent_id: UUID, check_in_id: UUID, *, for_update: bool = False
) -> CheckIn:
    """A check-in of an agent of the project. ``for_update`` locks the agent's row until the commit.

    Raises ``NotFound`` if the agent has no such check-in, or the project no such agent.
    """
    if for_update:
        agents.get(project, agent_id, for_update=True)
    found = CheckIn.objects.for_project(project).filter(agent=agent_id, pk=check_in_id)
    check_in = _with_runs(found, 1).first()
    if check_in is None:
        raise NotFound
    return check_in


def _with_runs(rows: QuerySet[CheckIn], runs: int) -> QuerySet[CheckIn]:
    newest = CheckInRun.objects.select_related("conversation")[:runs]
    related = ("agent__project", "agent__member__role", "task__project", "doc__project")
    return rows.select_related(*related).prefetch_related(  # type: ignore[no-redef] # declared for readers
        Prefetch("runs", newest, to_attr="newest_runs")
    )
