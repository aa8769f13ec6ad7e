"""Which repositories of its project an agent may use."""

from __future__ import annotations

from django.db import models

from paca.agents.models import Agent
from paca.repositories.models.repository import Repository


class RepositoryAccess(models.TextChoices):
    """How the repositories of an agent are chosen."""

    ALL = "all", "All of the project"
    NONE = "none", "None"
    CHOSEN = "chosen", "Chosen ones"


class AgentRepositories(models.Model):
    """The setting of one agent. An agent without a row may use all repositories of its project."""

    agent = models.OneToOneField(
        Agent, on_delete=models.CASCADE, primary_key=True, related_name="repository_setting"
    )
    access = models.CharField(max_length=10, choices=RepositoryAccess, default=RepositoryAccess.ALL)
    chosen = models.ManyToManyField(Repository, blank=True, related_name="chosen_by")

    class Meta:
        constraints = [
            models.CheckConstraint(
                name="repository_access_is_known",
                condition=models.Q(access__in=RepositoryAccess.values),
            )
        ]

    def __str__(self) -> str:
        return f"repositories of {self.agent_id}"
