"""Reads of skills for runs: which a message calls for, and the text and files of one."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from django.db.models import UUIDField

from paca.agents import plugin_reading
from paca.agents.models import Skill, SkillFile
from paca.agents.plugin_catalogue import PluginSkill
from paca.common.prepared_queries import Parameter, Select
from paca.engine.context.skills import SkillMatch, find_matches


@dataclass(frozen=True, slots=True)
class OpenedSkill:
    """A skill with its text, and the paths of its files."""

    name: str
    content: str
    files: tuple[str, ...]


# Prepared: each message to an agent asks.
_TRIGGERS = Select(
    lambda: (
        Skill.objects.enabled()
        .filter(agent=Parameter("agent", UUIDField()), always_on=False)
        .order_by("name")
        .values_list("name", "triggers")
    )
)


def called_for_by(text: str, agent_id: UUID) -> list[SkillMatch]:
    """The enabled skills of the agent that a message calls for, without those of every prompt."""
    rows = list(_TRIGGERS.rows(agent=agent_id))
    brought = _brought(agent_id)
    rows += [(each.name, list(each.triggers)) for each in brought if not each.always_on]
    return find_matches(text, sorted(rows))


def _brought(agent_id: UUID) -> list[PluginSkill]:
    """The skills that plugins have brought. Own ones of the same name come first, also if they are off."""
    contents = plugin_reading.contents_of(agent_id)
    if not contents:
        return []
    own = Skill.objects.filter(agent=agent_id).values_list("name", flat=True)
    return plugin_reading.skills_of(contents, own)


def open_skill(agent_id: UUID, name: str) -> OpenedSkill | None:
    """An enabled skill of the agent; None if it has none of this name."""
    skill = Skill.objects.enabled().filter(agent=agent_id, name=name).first()
    if skill is None:
        found = (each for each in _brought(agent_id) if each.name == name)
        return next((OpenedSkill(name, each.content, ()) for each in found), None)
    return OpenedSkill(name, skill.content, tuple(skill.files.values_list("path", flat=True)))


def files_for_sandbox(agent_id: UUID) -> list[tuple[str, bytes]]:
    """The files of all enabled skills of the agent: path below the folder of skills, and data."""
    files = SkillFile.objects.filter(skill__agent=agent_id, skill__enabled=True)
    rows = files.order_by("skill__name", "path").values_list("skill__name", "path", "data")
    return [(f"{name}/{path}", bytes(data)) for name, path, data in rows]


def read_file(agent_id: UUID, name: str, path: str) -> bytes | None:
    """The data of a file of an enabled skill; None if there is no such file."""
    files = SkillFile.objects.filter(skill__agent=agent_id, skill__enabled=True, skill__name=name)
    found = files.filter(path=path).values_list("data", flat=True).first()
    return None if found is None else bytes(found)
