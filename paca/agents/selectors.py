"""Reads of agents."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db.models import Prefetch, QuerySet

from paca.agents.models import Agent, Skill, SkillFile
from paca.common.errors import NotFound
from paca.projects.models import Project


def get(project: Project, agent_id: UUID, *, for_update: bool = False) -> Agent:
    """An agent of the project; ``for_update`` locks its row until the transaction ends.

    Raises ``NotFound`` if the project has no agent of this id or it is retired.
    """
    found = Agent.objects.for_project(project).select_related("member__role")
    if for_update:
        found = found.select_for_update(of=("self",), no_key=True)
    try:
        return found.get(pk=agent_id)
    except Agent.DoesNotExist:
        raise NotFound from None


def models_in_use() -> set[str]:
    """The models of all agents that are not retired, as ``provider/model``."""
    return set(Agent.objects.live().order_by().values_list("model", flat=True).distinct())


def skills_of(agent: Agent) -> QuerySet[Skill]:
    """The skills of an agent with the paths and sizes of their files, in two queries."""
    return agent.skills.prefetch_related(_files_without_data())


def get_skill(
    project: Project, agent_id: UUID, skill_id: UUID, *, for_update: bool = False
) -> Skill:
    """A skill of an agent of the project; ``for_update`` locks its row until the transaction ends.

    Raises ``NotFound`` if the agent has no such skill, or the project no such agent.
    """
    found = Skill.objects.for_project(project).select_related("agent")
    if for_update:
        found = found.select_for_update(of=("self",), no_key=True)
    try:
        return found.prefetch_related(_files_without_data()).get(agent=agent_id, pk=skill_id)
    except Skill.DoesNotExist:
        raise NotFound from None


def _files_without_data() -> Prefetch[Any]:
    return Prefetch("files", SkillFile.objects.defer("data"))
