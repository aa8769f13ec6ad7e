"""Environment variables that an agent, or all agents of a project, have in the commands of their sandboxes."""

from typing import Self

from django.db import models
from django.db.models import Q

from paca.agents.models.agent import Agent
from paca.common.models import BaseModel
from paca.projects.models import Project

MAX_NAME_CHARACTERS = 100


class EnvVarQuerySet(models.QuerySet["EnvVar"]):
    """Queries of variables by their owner."""

    def of(self, owner: Agent | Project) -> Self:
        """Those of one agent, or those that a project gives to all of its agents."""
        return self.filter(agent=owner) if isinstance(owner, Agent) else self.filter(project=owner)


class EnvVar(BaseModel):
    """A variable of one agent or of one project. An agent's own wins over that of its project.

    ``secret``: its value is never shown again, and masked in what commands print.
    """

    agent = models.ForeignKey(
        Agent, on_delete=models.CASCADE, null=True, blank=True, related_name="variables"
    )
    project = models.ForeignKey(
        Project, on_delete=models.CASCADE, null=True, blank=True, related_name="variables"
    )
    name = models.CharField(max_length=MAX_NAME_CHARACTERS)
    encrypted_value = models.TextField(editable=False, blank=True)
    secret = models.BooleanField(default=True)

    objects = EnvVarQuerySet.as_manager()

    class Meta:
        ordering = ["name", "id"]
        verbose_name = "environment variable"
        constraints = [
            models.CheckConstraint(
                name="variable_belongs_to_an_agent_or_a_project",
                condition=Q(agent=None, project__isnull=False)
                | Q(agent__isnull=False, project=None),
            ),
            models.UniqueConstraint(
                fields=["agent", "name"],
                condition=Q(agent__isnull=False),
                name="agent_has_a_variable_once",
            ),
            models.UniqueConstraint(
                fields=["project", "name"],
                condition=Q(project__isnull=False),
                name="project_has_a_variable_once",
            ),
        ]

    def __str__(self) -> str:
        return self.name
