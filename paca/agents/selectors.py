"""Reads of agents."""

from uuid import UUID

from paca.agents.models import Agent
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
