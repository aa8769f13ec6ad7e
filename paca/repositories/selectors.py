"""Reads of repositories and connections."""

from __future__ import annotations

from uuid import UUID

from django.db.models import QuerySet

from paca.agents.models import Agent
from paca.common.errors import NotFound
from paca.projects.models import Project
from paca.repositories.models import (
    AgentRepositories,
    GitConnection,
    Repository,
    RepositoryAccess,
)


def for_agent(agent: Agent) -> QuerySet[Repository]:
    """The repositories that the agent may use, with their connections, by name."""
    found = Repository.objects.filter(project=agent.project_id).select_related("connection")
    setting = AgentRepositories.objects.filter(agent=agent).first()
    if setting is None or setting.access == RepositoryAccess.ALL:
        return found
    # guard: agent-uses-chosen-repositories-only
    return (
        found.filter(chosen_by=setting)
        if setting.access == RepositoryAccess.CHOSEN
        else found.none()
    )


def get_repository(project: Project, repository_id: UUID) -> Repository:
    """A repository of the project with its connection. Raises ``NotFound`` if it has none of this id."""
    found = Repository.objects.for_project(project).select_related("connection")
    repository = found.filter(pk=repository_id).first()
    if repository is None:
        raise NotFound("The project has no repository of this id.")
    return repository


def get_connection(project: Project, connection_id: UUID) -> GitConnection:
    """A connection of the project. Raises ``NotFound`` if it has none of this id."""
    connection = GitConnection.objects.for_project(project).filter(pk=connection_id).first()
    if connection is None:
        raise NotFound("The project has no connection of this id.")
    return connection
