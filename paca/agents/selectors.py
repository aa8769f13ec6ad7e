"""Reads of agents."""

from uuid import UUID

from paca.agents.models import Agent
from paca.common.errors import NotFound
from paca.projects.models import Project


def get(project: Project, agent_id: UUID) -> Agent:
    """An agent of the project that is not retired."""
    try:
        return Agent.objects.of_project(project).select_related("member").get(pk=agent_id)
    except Agent.DoesNotExist:
        raise NotFound from None
