"""Reads of repositories and connections."""

from __future__ import annotations

from typing import Any
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


def access_of(agent: Agent) -> dict[str, Any]:
    """The setting of an agent as ``access`` and the ids of ``chosen`` repositories."""
    setting = AgentRepositories.objects.filter(agent=agent).first()
    if setting is None:
        return {"access": RepositoryAccess.ALL, "chosen": []}
    chosen = [*setting.chosen.order_by("name").values_list("pk", flat=True)]
    return {"access": setting.access, "chosen": chosen}


def connections_of(project: Project) -> QuerySet[GitConnection]:
    """The connections of a project."""
    return GitConnection.objects.for_project(project)


def repositories_of(project: Project) -> QuerySet[Repository]:
    """The repositories of a project, with their connections."""
    return Repository.objects.for_project(project).select_related("connection")


def get_repository(
    project: Project, repository_id: UUID, *, for_update: bool = False
) -> Repository:
    """A repository of the project with its connection. ``for_update`` locks it until the commit.

    Raises ``NotFound`` if the project has none of this id.
    """
    found = repositories_of(project)
    if for_update:
        found = found.select_for_update(of=("self",), no_key=True)
    repository = found.filter(pk=repository_id).first()
    if repository is None:
        raise NotFound("The project has no repository of this id.")
    return repository


def lock_linked(repository_id: UUID | str) -> bool:
    """Whether the repository is still linked. Then nobody unlinks it before the commit of the caller.

    Conversations are locked before repositories.
    """
    # guard: unlink-waits-for-rows-of-a-repository
    rows = Repository.objects.select_for_update(no_key=True).filter(pk=repository_id)
    return rows.values_list("pk", flat=True).first() is not None


def get_connection(
    project: Project, connection_id: UUID, *, for_update: bool = False
) -> GitConnection:
    """A connection of the project. ``for_update`` locks it until the commit.

    Raises ``NotFound`` if the project has none of this id.
    """
    found = connections_of(project)
    if for_update:
        found = found.select_for_update(no_key=True)
    connection = found.filter(pk=connection_id).first()
    if connection is None:
        raise NotFound("The project has no connection of this id.")
    return connection
