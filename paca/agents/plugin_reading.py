"""What the plugins of an agent bring to its runs: skills beside its own, and settings that make it stricter."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from django.db.models import UUIDField

from paca.agents import plugin_catalogue
from paca.agents.models import Agent, AgentApproval, AgentVerification, Plugin
from paca.agents.plugin_catalogue import PluginContent, PluginSkill
from paca.common.prepared_queries import Parameter, Select

APPROVALS = tuple(AgentApproval.values)
VERIFICATIONS = tuple(AgentVerification.values)

_COLUMNS = ("slug", "name", "description", "skills", "mcp_servers", "settings")
# Prepared: each turn and each message asks.
_PLUGINS = Select(
    lambda: (
        Plugin.objects.enabled()
        .filter(links__agent=Parameter("agent", UUIDField()))
        .order_by("created_at", "id")
        .values_list(*_COLUMNS)
    )
)


def contents_of(agent_id: UUID) -> tuple[PluginContent, ...]:
    """What each plugin of the agent brings, in one query."""
    rows = _PLUGINS.rows(agent=agent_id)
    return tuple(
        plugin_catalogue.content_of(Plugin(**dict(zip(_COLUMNS, row, strict=True)))) for row in rows
    )


def skills_of(contents: Iterable[PluginContent], own: Iterable[str] = ()) -> list[PluginSkill]:
    """The skills of plugins, without names that the agent has itself or an earlier plugin has brought."""
    taken, found = set(own), list[PluginSkill]()
    for skill in (skill for content in contents for skill in content.skills):
        # guard: own-skill-comes-before-that-of-a-plugin
        if skill.name not in taken:
            taken.add(skill.name)
            found.append(skill)
    return found


def apply_settings(agent: Agent, contents: Iterable[PluginContent]) -> None:
    """Set on the object, which is not saved, what the plugins add: the stricter setting holds, hints are joined."""
    for content in contents:
        given = content.settings
        agent.approval = _stricter(agent.approval, given.get("approval"), APPROVALS)
        agent.verification = _stricter(agent.verification, given.get("verification"), VERIFICATIONS)
        agent.hint = "\n".join(filter(None, (agent.hint, given.get("hint", ""))))


def _stricter(own: str, given: str | None, order: tuple[str, ...]) -> str:
    return max(own, given or own, key=order.index)
