"""API views of plugins: those of a project, and those that are on for an agent."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Count, Q, QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from paca.accounts.api.idempotency import idempotent
from paca.agents import plugin_catalogue, selectors
from paca.agents.models import Agent, Plugin
from paca.agents.plugin_catalogue import PluginContent
from paca.agents.services import plugins
from paca.common.api.preconditions import require_unchanged
from paca.common.api.serializers import InputSerializer
from paca.common.errors import NotFound
from paca.projects.api.base import ProjectView
from paca.projects.models import Project
from paca.projects.services import tasks

REQUIRED_PERMISSIONS = {
    "GET": "agents:read",
    "POST": "projects:write",
    "PATCH": "projects:write",
    "DELETE": "projects:write",
}


class PluginSkillSerializer(serializers.Serializer[Any]):
    """A skill of a plugin."""

    name = serializers.CharField()
    description = serializers.CharField()
    content = serializers.CharField()
    triggers = serializers.ListField(child=serializers.CharField())
    always_on = serializers.BooleanField()


class PluginSerializer(serializers.Serializer[Any]):
    """A plugin. Its ``id`` is the slug of a built-in one, else a UUID."""

    id = serializers.CharField()
    built_in = serializers.BooleanField()
    enabled = serializers.BooleanField(help_text="Whether agents of the project may have it.")
    name = serializers.CharField()
    description = serializers.CharField()
    skills = PluginSkillSerializer(many=True)
    mcp_servers = serializers.DictField(
        help_text="By name, as `mcpServers` in JSON; without secrets."
    )
    settings = serializers.DictField(
        help_text="hint, approval and verification: the stricter of the agent's and the plugin's holds."
    )
    prompt_tokens = serializers.IntegerField(
        help_text="An estimate of what each request gets more, without tools of its MCP servers."
    )
    skill_tokens = serializers.IntegerField(
        help_text="An estimate of its skills when all are opened."
    )
    agents = serializers.IntegerField(help_text="How many agents have it.")
    servers = serializers.IntegerField(
        help_text="How many MCP servers of those agents it has brought."
    )
    updated_at = serializers.DateTimeField(allow_null=True)


class PluginInput(InputSerializer):
    """The content of a plugin of the project's own."""

    name = serializers.CharField(max_length=100)
    description = serializers.CharField(required=False, allow_blank=True, max_length=2000)
    skills = serializers.ListField(child=serializers.JSONField(), required=False, max_length=100)
    mcp_servers = serializers.JSONField(
        required=False,
        help_text="By name, as `mcpServers` in JSON. Values of env and headers are empty.",
    )
    settings = serializers.JSONField(required=False)


class PluginSwitchInput(InputSerializer):
    """Whether agents may lose the plugin."""

    confirm = serializers.BooleanField(default=False, help_text="Needed if agents have the plugin.")


class AgentPluginsInput(InputSerializer):
    """All plugins that the agent shall have."""

    plugins = serializers.ListField(child=serializers.CharField(max_length=40), max_length=100)


class AgentPluginsSerializer(serializers.Serializer[Any]):
    """The plugins of an agent, with the estimates of all of them together."""

    plugins = PluginSerializer(many=True)
    prompt_tokens = serializers.IntegerField()
    skill_tokens = serializers.IntegerField()


def rows_of(project: Project) -> QuerySet[Plugin]:
    """The plugins of a project with ``users`` and ``brought``: the numbers of agents and of their servers."""
    return project.plugins.annotate(
        users=Count("links", filter=Q(links__agent__deleted_at=None), distinct=True),
        brought=Count("servers", distinct=True),
    )


def all_of(project: Project) -> list[dict[str, Any]]:
    """The built-in plugins and those of the project as the API shows them, in one query."""
    rows = list(rows_of(project))
    by_slug = {row.slug: row for row in rows if row.slug}
    found = [
        _shown(content, by_slug.get(slug), slug)
        for slug, content in plugin_catalogue.built_in().items()
    ]
    return found + [_shown(plugin_catalogue.content_of(row), row) for row in rows if not row.slug]


def _shown(content: PluginContent, row: Plugin | None, slug: str = "") -> dict[str, Any]:
    shown = {
        "id": slug or str(row and row.pk),
        "built_in": bool(slug),
        "enabled": row is not None and row.enabled,
        "name": content.name,
        "description": content.description,
        "skills": content.skills,
        "mcp_servers": content.mcp_servers,
        "settings": content.settings,
        "prompt_tokens": content.prompt_tokens,
        "skill_tokens": content.skill_tokens,
        "agents": getattr(row, "users", 0),
        "servers": getattr(row, "brought", 0),
        "updated_at": row and row.updated_at,
    }
    return dict(PluginSerializer(shown).data)


class PluginList(ProjectView):
    """Lists plugins and adds own ones."""

    required_permission = REQUIRED_PERMISSIONS

    @extend_schema(responses=PluginSerializer(many=True), tags=["agents"])
    def get(self, request: Request) -> Response:
        """List the built-in plugins and those of the project, on one page; a project has at most 50 of its own."""
        return Response({"results": all_of(self.project), "next": None, "previous": None})

    @extend_schema(request=PluginInput, responses={201: PluginSerializer}, tags=["agents"])
    @idempotent
    def post(self, request: Request) -> Response:
        """Add a plugin of the project's own, enabled."""
        made = plugins.create(self.project, by=self.member, **PluginInput.read(request))
        return Response(_described(made), status=201)


def _find(project: Project, plugin_id: str) -> Plugin | None:
    """The row of a plugin; None for a built-in one that was never enabled. Raises ``NotFound``."""
    rows = rows_of(project)
    if plugin_id in plugin_catalogue.built_in():
        return rows.filter(slug=plugin_id).first()
    try:
        found = rows.filter(pk=UUID(plugin_id), slug="").first()
    except ValueError:
        found = None
    if found is None:
        raise NotFound
    return found


def _described(plugin: Plugin) -> dict[str, Any]:
    row = rows_of(plugin.project).get(pk=plugin.pk)
    return _shown(plugin_catalogue.content_of(row), row, row.slug)


class PluginDetail(ProjectView):
    """Shows, changes and deletes a plugin."""

    required_permission = REQUIRED_PERMISSIONS

    @extend_schema(responses=PluginSerializer, tags=["agents"])
    def get(self, request: Request, plugin_id: str) -> Response:
        """Show a plugin, with the number of agents that have it."""
        found = _find(self.project, plugin_id)
        if found is None:
            return Response(_shown(plugin_catalogue.built_in()[plugin_id], None, plugin_id))
        return Response(_described(found))

    @extend_schema(request=PluginInput, responses=PluginSerializer, tags=["agents"])
    def patch(self, request: Request, plugin_id: str) -> Response:
        """Change an own plugin, also for the agents that have it."""
        given = PluginInput.read(request, partial=True)
        with transaction.atomic():
            tasks.lock_project(self.project.pk)
            plugin = self._own(plugin_id)
            require_unchanged(request, plugin, present=lambda: _described(plugin))
            plugins.change(plugin, by=self.member, **given)
        return Response(_described(plugin))

    @extend_schema(responses={204: None}, tags=["agents"])
    def delete(self, request: Request, plugin_id: str) -> Response:
        """Delete an own plugin that is disabled."""
        with transaction.atomic():
            tasks.lock_project(self.project.pk)
            plugins.delete(self._own(plugin_id), by=self.member)
        return self.no_content()

    def _own(self, plugin_id: str) -> Plugin:
        found = _find(self.project, plugin_id)
        if found is None or found.slug:
            raise NotFound("A built-in plugin is not changed. Write one of your own.")
        return found


class EnablePlugin(ProjectView):
    """Enables a plugin in the project."""

    required_permission = "projects:write"

    @extend_schema(request=None, responses=PluginSerializer, tags=["agents"])
    @idempotent
    def post(self, request: Request, plugin_id: str) -> Response:
        """Let agents of the project have the plugin."""
        InputSerializer.read(request)
        with transaction.atomic():
            tasks.lock_project(self.project.pk)
            found = _find(self.project, plugin_id)
            enabled = (
                plugins.enable(self.project, plugin_id, by=self.member)
                if found is None
                else plugins.switch_on(found, by=self.member)
            )
        return Response(_described(enabled))


class DisablePlugin(ProjectView):
    """Disables a plugin in the project."""

    required_permission = "projects:write"

    @extend_schema(request=PluginSwitchInput, responses=PluginSerializer, tags=["agents"])
    @idempotent
    def post(self, request: Request, plugin_id: str) -> Response:
        """Take the plugin from its agents, and let none have it. 409 `plugin_in_use` counts them without confirm."""
        confirmed = PluginSwitchInput.read(request)["confirm"]
        with transaction.atomic():
            tasks.lock_project(self.project.pk)
            found = _find(self.project, plugin_id)
            if found is None:
                return Response(_shown(plugin_catalogue.built_in()[plugin_id], None, plugin_id))
            plugins.disable(found, by=self.member, confirmed=confirmed)
        return Response(_described(found))


class AgentPlugins(ProjectView):
    """The plugins of an agent."""

    required_permission = {"GET": "agents:read", "PUT": "agents:write"}

    @extend_schema(responses=AgentPluginsSerializer, tags=["agents"])
    def get(self, request: Request, agent_id: UUID) -> Response:
        """Show the plugins that the agent has, with estimates of their tokens."""
        return Response(of_agent(selectors.get(self.project, agent_id)))

    @extend_schema(request=AgentPluginsInput, responses=AgentPluginsSerializer, tags=["agents"])
    def put(self, request: Request, agent_id: UUID) -> Response:
        """Let the agent have these plugins and no others; 409 `plugin_not_enabled` names one that may not be had."""
        wanted = AgentPluginsInput.read(request)["plugins"]
        with transaction.atomic():
            # guard: plugins-lock-the-project-first
            tasks.lock_project(self.project.pk)
            agent = selectors.get(self.project, agent_id, for_update=True)
            rows = {row.slug or str(row.pk): row for row in self.project.plugins.all()}
            if missing := [each for each in wanted if each not in rows]:
                if missing[0] in plugin_catalogue.built_in():
                    raise plugins.PluginNotEnabled
                raise NotFound("There is no such plugin in this project.")
            chosen = [rows[each] for each in dict.fromkeys(wanted)]
            plugins.set_of_agent(agent, chosen, by=self.member)
        return Response(of_agent(agent))


def of_agent(agent: Agent) -> dict[str, Any]:
    """The plugins of an agent as the API shows them."""
    mine = set(agent.plugin_links.values_list("plugin", flat=True))
    found = [
        _shown(plugin_catalogue.content_of(row), row, row.slug)
        for row in rows_of(agent.project)
        if row.pk in mine
    ]
    return {
        "plugins": found,
        "prompt_tokens": sum(each["prompt_tokens"] for each in found),
        "skill_tokens": sum(each["skill_tokens"] for each in found),
    }
