"""Services that enable, write and delete the plugins of a project, and that give them to agents."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from django.db import transaction

from paca.accounts import audit
from paca.agents import mcp_json, plugin_catalogue
from paca.agents.models import Agent, AgentPlugin, McpServer, Plugin, Skill
from paca.agents.plugin_reading import APPROVALS, VERIFICATIONS
from paca.agents.services import mcp_servers
from paca.common import validation
from paca.common.errors import Conflict, Invalid, NotFound
from paca.common.text import is_storable
from paca.projects.models import Project
from paca.projects.signals import project_changed

CONTENT = frozenset({"name", "description", "skills", "mcp_servers", "settings"})
SKILL_FIELDS = frozenset({"name", "description", "content", "triggers", "always_on"})
MAX_PLUGINS, MAX_SKILLS, MAX_HINT_CHARACTERS = 50, 20, 1000
Errors = dict[str, list[str]]


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
    _lock(project)
    plugin, _ = Plugin.objects.get_or_create(
        project=project, slug=slug, defaults={"enabled": False}
    )
    return switch_on(plugin, by=by)


@transaction.atomic
def switch_on(plugin: Plugin, *, by: audit.HasActor | None) -> Plugin:
    """Let agents of the project have the plugin."""
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
    _lock(plugin.project)
    agents = Agent.objects.live().filter(plugin_links__plugin=plugin).order_by("name")
    users = list(agents.distinct())
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
    _lock(project)
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
    _lock(plugin.project)
    before = {name: getattr(plugin, name) for name in CONTENT}
    _apply(plugin, content)
    changed = sorted(name for name in CONTENT if before[name] != getattr(plugin, name))
    if not changed:
        return plugin
    plugin.save()
    if "mcp_servers" in changed:
        for agent in Agent.objects.live().filter(plugin_links__plugin=plugin):
            _bring_servers(agent, plugin, by=by)
    _record("plugin.changed", plugin, by=by, fields=changed)
    return plugin


@transaction.atomic
def delete(plugin: Plugin, *, by: audit.HasActor | None) -> None:
    """Delete an own plugin that is disabled. Raises ``Conflict`` for others."""
    if plugin.slug or plugin.enabled:
        raise Conflict("Only a plugin of your own that is disabled is deleted. Disable it first.")
    _record("plugin.deleted", plugin, by=by)
    plugin.delete()


@transaction.atomic
def set_of_agent(agent: Agent, plugins: Sequence[Plugin], *, by: audit.HasActor | None) -> None:
    """Let the agent have these plugins and no others. What people have added to the agent stays.

    MCP servers of a plugin that is taken away go, those of a new one come without secrets, and their tools wait for
    acceptance. Raises ``PluginNotEnabled``, and ``Invalid`` if the agent cannot have one of the servers.
    """
    _lock(agent.project)
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
    errors: Errors = {}
    _check_skills(plugin.skills, errors)
    _check_servers(plugin.mcp_servers, errors)
    _check_settings(plugin.settings, errors)
    if errors:
        raise Invalid(fields=errors)
    validation.check(plugin)


def _check_skills(skills: Any, errors: Errors) -> None:
    if not isinstance(skills, list) or len(skills) > MAX_SKILLS:
        errors["skills"] = [f"Write a list of at most {MAX_SKILLS} skills."]
        return
    names = set[str]()
    for at, skill in enumerate(skills):
        if (
            not isinstance(skill, dict)
            or not {"name", "description", "content"} <= set(skill) <= SKILL_FIELDS
        ):
            errors[f"skills.{at}"] = [
                "A skill has name, description and content, and may have triggers and always_on."
            ]
            continue
        try:
            validation.check_fields(Skill(**skill), exclude=("agent",))
        except Invalid as invalid:
            errors |= {f"skills.{at}.{field}": texts for field, texts in invalid.fields.items()}
            continue
        if skill["name"] in names:
            errors[f"skills.{at}.name"] = ["Another skill of the plugin has this name."]
        names.add(skill["name"])


def _check_servers(servers: Any, errors: Errors) -> None:
    """Each is one that an agent could import, and has no secret in it."""
    if not servers:
        return
    try:
        found = mcp_json.read({"mcpServers": servers})
    except Invalid as invalid:
        errors |= {
            name.replace("mcpServers", "mcp_servers", 1): texts
            for name, texts in invalid.fields.items()
        }
        return
    # guard: plugin-has-no-secrets
    for server in found:
        for field in ("env", "headers"):
            if any(server.get(field, {}).values()):
                errors[f"mcp_servers.{server['name']}.{field}"] = [
                    "Leave the values empty: each agent has its own, which are typed on its page."
                ]


def _check_settings(settings: Any, errors: Errors) -> None:
    if not isinstance(settings, dict):
        errors["settings"] = ["Write an object with any of hint, approval and verification."]
        return
    for name, value in settings.items():
        known = {"approval": APPROVALS, "verification": VERIFICATIONS}.get(name)
        if name == "hint":
            if (
                not isinstance(value, str)
                or len(value) > MAX_HINT_CHARACTERS
                or not is_storable(value)
            ):
                errors["settings.hint"] = [
                    f"A hint is a text of at most {MAX_HINT_CHARACTERS} characters."
                ]
        elif known is None:
            errors[f"settings.{name[:40]}"] = [
                "A plugin sets hint, approval and verification only."
            ]
        elif value not in known:
            errors[f"settings.{name}"] = [f"This is one of {', '.join(known)}."]


def _lock(project: Project) -> None:
    """One change of a project's plugins and of those of its agents at a time."""
    Project.objects.select_for_update(no_key=True).only("pk").get(pk=project.pk)


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
