"""Plugins: bundles of skills, MCP servers and settings that a project has enabled, and the agents that have them."""

from __future__ import annotations

from typing import Self

from django.core.validators import MaxLengthValidator
from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower

from paca.agents.models.agent import Agent
from paca.common.models import BaseModel
from paca.projects.models import Project

MAX_PLUGIN_DESCRIPTION_CHARACTERS = 2000


class PluginQuerySet(models.QuerySet["Plugin"]):
    """Queries of plugins."""

    def enabled(self) -> Self:
        """Those that agents of the project may have."""
        return self.filter(enabled=True)


class Plugin(BaseModel):
    """A plugin in a project. A built-in one has only its ``slug``: its content stands in ``plugin_catalogue``.

    Agents read skills and settings through this row, so that a change reaches all of them. Its MCP servers are rows of
    each agent, because secrets and decisions on tools are theirs.
    """

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="plugins")
    slug = models.CharField(max_length=40, blank=True)
    name = models.CharField(max_length=100, blank=True)
    description = models.TextField(
        blank=True, validators=[MaxLengthValidator(MAX_PLUGIN_DESCRIPTION_CHARACTERS)]
    )
    skills = models.JSONField(default=list, blank=True)
    mcp_servers = models.JSONField(default=dict, blank=True)
    settings = models.JSONField(default=dict, blank=True)
    enabled = models.BooleanField(default=True)
    agents = models.ManyToManyField(Agent, through="AgentPlugin", related_name="plugins")

    objects = PluginQuerySet.as_manager()

    class Meta:
        ordering = ["created_at", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["project", "slug"],
                condition=~Q(slug=""),
                name="built_in_plugin_is_once_in_a_project",
            ),
            models.UniqueConstraint(
                "project",
                Lower("name"),
                condition=Q(slug=""),
                name="plugin_name_is_unique_in_its_project",
                violation_error_message="The project has a plugin of this name.",
            ),
            models.CheckConstraint(
                name="plugin_has_a_slug_or_a_name",
                condition=(Q(slug="") & ~Q(name="")) | (~Q(slug="") & Q(name="")),
            ),
        ]

    def __str__(self) -> str:
        return self.name or self.slug


class AgentPlugin(models.Model):
    """A plugin that is on for an agent."""

    id = models.BigAutoField(primary_key=True)
    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, related_name="plugin_links")
    plugin = models.ForeignKey(
        Plugin, on_delete=models.CASCADE, related_name="links", db_index=False
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["plugin", "agent"], name="agent_has_a_plugin_once")
        ]

    def __str__(self) -> str:
        return f"{self.agent_id} {self.plugin_id}"
