"""Checks the content of a project's own plugins: what is stored is read by every turn of an agent that has one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from paca.agents import mcp_json
from paca.agents.models import McpServer, Plugin, Skill
from paca.agents.plugin_reading import APPROVALS, VERIFICATIONS
from paca.agents.services.mcp_servers import OF_PLUGIN
from paca.common import validation
from paca.common.errors import Invalid
from paca.common.text import is_storable

# What JSON has for each field of a skill: Django's validators would take a number for a text.
SKILL_FIELDS = {
    "name": (str, "Write a text."),
    "description": (str, "Write a text."),
    "content": (str, "Write a text."),
    "triggers": (list, "Write a list of keywords."),
    "always_on": (bool, "Write true or false."),
}
MAX_SKILLS, MAX_HINT_CHARACTERS = 20, 1000
Errors = dict[str, list[str]]


def find_errors(plugin: Plugin) -> Errors:
    """The errors of its skills, MCP servers and settings, by their places."""
    errors: Errors = {}
    _check_skills(plugin.skills, errors)
    _check_servers(plugin.mcp_servers, errors)
    _check_settings(plugin.settings, errors)
    return errors


def _check_skills(skills: Any, errors: Errors) -> None:
    if not isinstance(skills, list) or len(skills) > MAX_SKILLS:
        errors["skills"] = [f"Write a list of at most {MAX_SKILLS} skills."]
        return
    names = set[str]()
    for at, skill in enumerate(skills):
        if not isinstance(skill, dict) or not {"name", "description", "content"} <= set(
            skill
        ) <= set(SKILL_FIELDS):
            errors[f"skills.{at}"] = [
                "A skill has name, description and content, and may have triggers and always_on."
            ]
            continue
        if found := _errors_of_skill(skill):
            errors |= {f"skills.{at}.{field}": texts for field, texts in found.items()}
            continue
        if skill["name"] in names:
            errors[f"skills.{at}.name"] = ["Another skill of the plugin has this name."]
        names.add(skill["name"])


def _errors_of_skill(skill: Mapping[str, Any]) -> Errors:
    wrong = {
        field: [said]
        for field, (kind, said) in SKILL_FIELDS.items()
        if field in skill and not isinstance(skill[field], kind)
    }
    # guard: skill-of-a-plugin-has-the-types-of-a-skill
    if wrong:
        return wrong
    try:
        validation.check_fields(Skill(**skill), exclude=("agent",))
    except Invalid as invalid:
        return dict(invalid.fields)
    return {}


def _check_servers(servers: Any, errors: Errors) -> None:
    """Each is one that an agent could import, and has no secret in it."""
    if servers == {}:
        return
    try:
        found = mcp_json.read({"mcpServers": servers})
    except Invalid as invalid:
        errors |= {
            name.replace("mcpServers", "mcp_servers", 1): texts
            for name, texts in invalid.fields.items()
        }
        return
    for server in found:
        row = McpServer(**{key: server[key] for key in ("name", *OF_PLUGIN) if key in server})
        try:
            validation.check_fields(row, exclude=("agent", "plugin"))
        except Invalid as invalid:
            place = f"mcp_servers.{server['name']}"
            errors |= {f"{place}.{field}": texts for field, texts in invalid.fields.items()}
        # guard: plugin-has-no-secrets
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
