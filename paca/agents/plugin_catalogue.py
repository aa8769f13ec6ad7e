"""The content of plugins, and the built-in ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from paca.agents import catalogue
from paca.agents.models import Plugin
from paca.engine.context.measuring import CHARACTERS_PER_TOKEN


@dataclass(frozen=True, slots=True)
class PluginSkill:
    """A skill of a plugin. It has no files."""

    name: str
    description: str
    content: str
    triggers: tuple[str, ...] = ()
    always_on: bool = False


@dataclass(frozen=True, slots=True)
class PluginContent:
    """What a plugin brings. ``mcp_servers`` are settings by name, as ``mcpServers`` in JSON has them, without secrets.

    ``settings`` are any of ``hint``, ``approval`` and ``verification``: the stricter of the plugin's and the agent's
    holds, and a hint is added.
    """

    name: str
    description: str
    skills: tuple[PluginSkill, ...] = ()
    mcp_servers: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def prompt_tokens(self) -> int:
        """An estimate of what each request gets more: names of skills, texts of every prompt, the hint."""
        texts = [
            each.content if each.always_on else f"- {each.name}: {each.description}"
            for each in self.skills
        ]
        texts.append(str(self.settings.get("hint", "")))
        return sum(-(-len(text) // CHARACTERS_PER_TOKEN) for text in texts)

    @property
    def skill_tokens(self) -> int:
        """An estimate of what its skills take when all of them are opened."""
        opened = [each.content for each in self.skills if not each.always_on]
        return sum(-(-len(text) // CHARACTERS_PER_TOKEN) for text in opened)


@cache
def built_in() -> Mapping[str, PluginContent]:
    """The built-in plugins by their slugs."""
    return {
        "product-work": PluginContent(
            "Product work",
            "Requirements, acceptance criteria and backlog: the skills of a product owner and a business analyst.",
            (_template("po-assistant"), _template("ba")),
        ),
        "testing": PluginContent(
            "Testing",
            "Test cases, plans and reports of defects; work that nobody watches is checked before it ends.",
            (_template("manual-tester"),),
            settings={"verification": "unattended"},
        ),
        "careful-work": PluginContent(
            "Careful work",
            "Asks before calls that may do harm, and checks its work before a turn ends.",
            settings={
                "approval": "unsafe",
                "verification": "always",
                "hint": "Prefer the smallest change that can be undone. Say what you did not check.",
            },
        ),
        "library-docs": PluginContent(
            "Library documentation",
            "Current documentation of libraries from the public server Context7, which sees what is looked up.",
            (
                PluginSkill(
                    "library-docs",
                    "Look the documentation of a library up before using an API that is new or has changed.",
                    "Find the library first, then ask for the one topic that you need. Name the version that the project "
                    "uses. Trust the code of the project more than a page, and quote the page that you followed.",
                ),
            ),
            {"context7": {"type": "http", "url": "https://mcp.context7.com/mcp"}},
        ),
        "github": PluginContent(
            "GitHub",
            "Issues, pull requests and code on GitHub. Write a token into the header of its server on each agent's page.",
            mcp_servers={
                "github": {
                    "type": "http",
                    "url": "https://api.githubcopilot.com/mcp/",
                    "headers": {"Authorization": ""},
                }
            },
            settings={"approval": "unsafe"},
        ),
    }


def _template(slug: str) -> PluginSkill:
    found = catalogue.skill_template(slug)
    return PluginSkill(found.name, found.description, found.content, tuple(found.triggers))


def content_of(plugin: Plugin) -> PluginContent:
    """What the plugin brings; nothing if it is a built-in one that this version does not have."""
    if plugin.slug:
        return built_in().get(plugin.slug, PluginContent(plugin.slug, ""))
    skills = [
        PluginSkill(**{**each, "triggers": tuple(each.get("triggers", ()))})
        for each in plugin.skills
    ]
    return PluginContent(
        plugin.name, plugin.description, tuple(skills), plugin.mcp_servers, plugin.settings
    )
