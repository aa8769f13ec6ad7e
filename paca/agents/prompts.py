"""Assembles the system prompt of an agent: for its runs, and for the preview on its page."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from django.db.models import Case, Exists, OuterRef, TextField, UUIDField, Value, When

from paca.agents import persona_catalogue, plugin_reading
from paca.agents.models import Agent, Persona, Skill, SkillFile
from paca.agents.plugin_catalogue import PluginContent
from paca.common.prepared_queries import Parameter, Select
from paca.engine.approvals.allowed_commands import CommandList, describe
from paca.engine.context import trigger_prompts
from paca.engine.context.prompt import (
    WITHOUT_NETWORK,
    AgentIdentity,
    PromptPart,
    assemble_system_prompt,
)
from paca.engine.context.skills import SkillSummary

READ_SKILL = "read_skill"


def assemble(
    agent: Agent,
    *,
    project: str,
    trigger_type: str,
    skills: Sequence[SkillSummary],
    memory: str = "",
    persona: str = "",
    network: str = WITHOUT_NETWORK,
    variables: str = "",
    commands: Sequence[CommandList] = (),
) -> tuple[PromptPart, ...]:
    """The parts of the agent's system prompt in a conversation that was started by ``trigger_type``.

    ``project`` is the project's name, ``skills`` are those of ``read_skills``, ``memory`` is the part with what was
    noted in earlier conversations, ``network`` says what its sandbox reaches, ``variables`` which variables its commands have,
    ``commands`` the lists that they have to match.
    """
    own = agent.prompt_of(trigger_type)
    if agent.tools is not None and READ_SKILL not in agent.tools:
        # The index would tell it to open a skill with a tool that it does not have.
        skills = [skill for skill in skills if skill.content]
    return assemble_system_prompt(
        AgentIdentity(agent.name, agent.handle, project, agent.description),
        system=agent.system_prompt,
        trigger=trigger_prompts.prompt_for(trigger_type, own),
        skills=skills,
        persona=persona,
        memory=memory,
        network=network,
        variables=variables,
        commands=describe(commands),
    )


# Prepared: each turn of each conversation asks.
_ENABLED_SKILLS = Select(
    lambda: (
        Skill.objects.enabled()
        .filter(agent=Parameter("agent", UUIDField()))
        .order_by("name")
        .values_list(
            "name",
            "description",
            Case(When(always_on=True, then="content"), default=Value(""), output_field=TextField()),
            Exists(SkillFile.objects.filter(skill=OuterRef("pk"))),
        )
    )
)


_OWN_PERSONA = Select(
    lambda: Persona.objects.filter(pk=Parameter("id", UUIDField())).values_list("text")
)


def read_persona(named: str) -> str:
    """The text of a persona that an agent names; empty for none. Only one of a project costs a query."""
    if not named:
        return ""
    predefined = persona_catalogue.find(named)
    if predefined is not None:
        return predefined.text
    try:
        rows = _OWN_PERSONA.rows(id=UUID(named))
    except ValueError:
        return ""  # a predefined one of a later version
    return "".join(str(text) for (text,) in rows)


def read_skills(agent_id: UUID, plugins: Sequence[PluginContent] = ()) -> tuple[SkillSummary, ...]:
    """The enabled skills of an agent and of its ``plugins`` as its prompt shows them, in the order of their names."""
    found = [SkillSummary(*row) for row in _ENABLED_SKILLS.rows(agent=agent_id)]
    if any(each.skills for each in plugins):
        own = Skill.objects.filter(agent=agent_id).values_list("name", flat=True)
        brought = plugin_reading.skills_of(plugins, own)
        found += [
            SkillSummary(each.name, each.description, each.content if each.always_on else "")
            for each in brought
        ]
    return tuple(sorted(found, key=lambda each: each.name))
