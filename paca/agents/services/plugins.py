"""Services that enable, write and delete the plugins of a project, and that give them to agents.

Each locks the project first, then the agents that it changes, by id: so two of them never wait for one another.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from django.db import transaction

from paca.accounts import audit
from paca.agents import mcp_json, plugin_catalogue
from paca.agents.models import Agent, AgentPlugin, McpServer, Plugin
from paca.agents.services import mcp_servers, plugin_checks
from paca.common import validation
from paca.common.errors import Conflict, Invalid, NotFound
from paca.projects.models import Project
from paca.projects.services import tasks
from paca.projects.signals import project_changed

CONTENT = frozenset({"name", "description", "skills", "mcp_servers", "settings"})
MAX_PLUGINS = 50


class PluginNotEnabled(Conflict):
    """This plugin is not enabled in the project. Enable it in the project's settings first."""

    code = "plugin_not_enabled"


class PluginInUse(Conflict):
    """Agents have this plugin. Send ``confirm`` to take it from them."""

    code = "plugin_in_use"


class TooManyPlugins(Conflict):
    """This project has as many plugins as a project can have. Delete one of them."""

    code = "too_many_plugins"


@transaction.atomic
def enable(project: Project, slug: str, *, by: audit.HasActor | None) -> Plugin:
    """Let agents of the project have the built-in plugin. Raises ``NotFound`` if there is none of this slug."""
    if slug not in plugin_catalogue.built_in():
        raise NotFound
    tasks.lock_project(project.pk)
    plugin, _ = Plugin.objects.get_or_create(
        project=project, slug=slug, defaults={"enabled": False}
    )
    return switch_on(plugin, by=by)


@transaction.atomic
def switch_on(plugin: Plugin, *, by: audit.HasActor | None) -> Plugin:
    """Let agents of the project have the plugin."""
    tasks.lock_project(plugin.project_id)
    if not plugin.enabled:
        plugin.enabled = True
        plugin.save(update_fields=["enabled", "updated_at"])
        _record("plugin.enabled", plugin, by=by)
    return plugin


@transaction.atomic
def disable(plugin: Plugin, *, by: audit.HasActor | None, confirmed: bool = False) -> None:
    """Take the plugin from its agents, with the MCP servers that it has brought, and let none have it.

    Raises ``PluginInUse`` with the numbers, unless it is ``confirmed`` or no agent has it.
    """
    users = sorted(_lock_users(plugin), key=lambda agent: agent.name)
    servers = McpServer.objects.filter(plugin=plugin).count()
    # guard: plugin-in-use-is-confirmed
    if users and not confirmed:
        names = ", ".join(each.name for each in users[:10])
        raise PluginInUse(
            f"Agents that have it: {len(users)} ({names}). MCP servers that go with it: {servers}. "
            "Send confirm to take it from them."
        )
    for agent in users:
        _take(agent, [plugin], by=by)
        _record_agent(agent, [], [plugin], by=by)
    if plugin.enabled:
        plugin.enabled = False
        plugin.save(update_fields=["enabled", "updated_at"])
        _record("plugin.disabled", plugin, by=by, agents=len(users), mcp_servers=servers)


@transaction.atomic
def create(project: Project, *, by: audit.HasActor | None, **content: Any) -> Plugin:
    """Add a plugin of the project's own, enabled. Raises ``Invalid`` with its errors, and ``TooManyPlugins``."""
    tasks.lock_project(project.pk)
    if project.plugins.filter(slug="").count() >= MAX_PLUGINS:
        raise TooManyPlugins
    plugin = Plugin(project=project)
    _apply(plugin, content)
    plugin.save(force_insert=True)
    _record("plugin.created", plugin, by=by)
    return plugin


@transaction.atomic
def change(plugin: Plugin, *, by: audit.HasActor | None, **content: Any) -> Plugin:
    """Change an own plugin, also for the agents that have it: their servers of it are added, changed and deleted.

    Raises ``Conflict`` for a built-in plugin, and ``Invalid`` with the errors, also of an agent that cannot have one
    of the servers.
    """
    if plugin.slug:
        raise Conflict("A built-in plugin is not changed. Write one of your own.")
    users = _lock_users(plugin)
    before = {name: getattr(plugin, name) for name in CONTENT}
    _apply(plugin, content)
    changed = sorted(name for name in CONTENT if before[name] != getattr(plugin, name))
    if not changed:
        return plugin
    plugin.save()
    if "mcp_servers" in changed:
        for agent in users:
            _bring_servers(agent, plugin, by=by)
    _record("plugin.changed", plugin, by=by, fields=changed)
    return plugin


@transaction.atomic
def delete(plugin: Plugin, *, by: audit.HasActor | None) -> None:
    """Delete an own plugin that is disabled. Raises ``Conflict`` for others."""
    tasks.lock_project(plugin.project_id)
    if plugin.slug or plugin.enabled:
        raise Conflict("Only a plugin of your own that is disabled is deleted. Disable it first.")
    _record("plugin.deleted", plugin, by=by)
    plugin.delete()


@transaction.atomic
def set_of_agent(agent: Agent, plugins: Sequence[Plugin], *, by: audit.HasActor | None) -> None:
    """Let the agent have these plugins and no others. What people have added to the agent stays.

    MCP servers of a plugin that is taken away go, those of a new one come without secrets, and their tools wait for
    acceptance. The caller has locked the project and the agent. Raises ``PluginNotEnabled``, and ``Invalid`` if the
    agent cannot have one of the servers.
    """
    tasks.lock_project(agent.project_id)
    enabled = set(
        Plugin.objects.enabled().filter(project=agent.project_id).values_list("pk", flat=True)
    )
    # guard: plugin-is-enabled-in-the-project
    if missing := [each for each in plugins if each.pk not in enabled]:
        raise PluginNotEnabled(f"{content_name(missing[0])} is not enabled in this project.")
    had = list(Plugin.objects.filter(links__agent=agent))
    gone = [each for each in had if each not in plugins]
    new = [each for each in plugins if each not in had]
    _take(agent, gone, by=by)
    for plugin in new:
        AgentPlugin.objects.create(agent=agent, plugin=plugin)
        _bring_servers(agent, plugin, by=by)
    if gone or new:
        _record_agent(agent, new, gone, by=by)


def forget(agent: Agent) -> None:
    """Let an agent that retires have no plugins. Its MCP servers are deleted by themselves."""
    AgentPlugin.objects.filter(agent=agent).delete()


def content_name(plugin: Plugin) -> str:
    """The name of a plugin, built-in or not."""
    return plugin_catalogue.content_of(plugin).name


def _take(agent: Agent, plugins: Collection[Plugin], *, by: audit.HasActor | None) -> None:
    # guard: servers-of-a-plugin-go-with-it
    for server in agent.mcp_servers.filter(plugin__in=plugins):
        mcp_servers.delete(server, by=by, with_plugin=True)
    AgentPlugin.objects.filter(agent=agent, plugin__in=plugins).delete()


def _bring_servers(agent: Agent, plugin: Plugin, *, by: audit.HasActor | None) -> None:
    """Make the agent's servers of the plugin those that the plugin has now."""
    wanted = plugin_catalogue.content_of(plugin).mcp_servers
    settings = (
        {each.pop("name"): each for each in mcp_json.read({"mcpServers": wanted})} if wanted else {}
    )
    for server in agent.mcp_servers.filter(plugin=plugin):
        given = settings.pop(server.name, None)
        if given is None:
            mcp_servers.delete(server, by=by, with_plugin=True)
            continue
        # What was typed was meant for this command or address.
        is_same = all(
            getattr(server, name) == given.get(name, empty)
            for name, empty in (("command", ""), ("args", []), ("url", ""))
        )
        for name, stored in (("env", server.env_names), ("headers", server.header_names)):
            wanted_values = given.get(name, {})
            kept = {key: "***" for key in wanted_values if is_same and key in stored}
            given[name] = {**wanted_values, **kept}
        given = {"args": [], **given} if server.is_stdio else given
        mcp_servers.change(server, by=by, with_plugin=True, **given)
    for name, given in settings.items():
        try:
            mcp_servers.create(agent, name=name, plugin=plugin, by=by, **given)
        except Invalid as invalid:
            why = " ".join(text for texts in invalid.fields.values() for text in texts)
            raise Invalid(
                fields={
                    "plugins": [
                        f"{agent.name} cannot have the MCP server {name} of {content_name(plugin)}: {why}"
                    ]
                }
            ) from None


def _apply(plugin: Plugin, content: Mapping[str, Any]) -> None:
    for name, value in content.items():
        if name not in CONTENT:
            raise TypeError(f"a plugin has no {name!r}")
        setattr(plugin, name, value)
    plugin.name = " ".join(plugin.name.split())
    if errors := plugin_checks.find_errors(plugin):
        raise Invalid(fields=errors)
    validation.check(plugin)


def _lock_users(plugin: Plugin) -> list[Agent]:
    """The agents that have the plugin, locked after their project: no other agent gets it until the commit."""
    tasks.lock_project(plugin.project_id)
    users = Agent.objects.live().filter(plugin_links__plugin=plugin).order_by("pk")
    return list(users.select_for_update(of=("self",), no_key=True))


def _record_agent(
    agent: Agent, new: Sequence[Plugin], gone: Sequence[Plugin], *, by: audit.HasActor | None
) -> None:
    facts = {
        "added": [content_name(each) for each in new],
        "removed": [content_name(each) for each in gone],
    }
    audit.record("agent.plugins_changed", agent, by=by, project_id=agent.project_id, **facts)
    project_changed.send(sender=Agent, project_id=agent.project_id, noun="agent", id=agent.pk)


def _record(action: str, plugin: Plugin, *, by: audit.HasActor | None, **facts: Any) -> None:
    audit.record(
        action, plugin, by=by, project_id=plugin.project_id, name=content_name(plugin), **facts
    )
    project_changed.send(sender=Plugin, project_id=plugin.project_id, noun="plugin", id=plugin.pk)
