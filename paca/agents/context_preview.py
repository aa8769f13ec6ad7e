"""The context that an agent's run begins with, assembled as the run assembles it, with its size."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from paca.agents import allowed_commands, mcp_reading, network, plugin_reading, prompts
from paca.agents.models import Agent
from paca.agents.services import variables
from paca.agents.skill_tools import SkillLibrary
from paca.agents.toolbox import make_toolbox
from paca.engine.context.measuring import CHARACTERS_PER_TOKEN
from paca.engine.context.memory import MemoryLine, format_memory
from paca.engine.llm import own_parameters
from paca.engine.llm.base import ToolSpec
from paca.engine.llm.text_tool_calls.adapter import describe_tools
from paca.engine.mcp.group import known_tools
from paca.engine.request_size import known_window
from paca.projects.models import MemoryPolicy


@dataclass(frozen=True, slots=True)
class ContextPart:
    """A part of the context, such as ``rules`` or ``message``."""

    name: str
    text: str

    @property
    def tokens(self) -> int:
        """An estimate, at four characters a token."""
        return _tokens(self.text)


@dataclass(frozen=True, slots=True)
class ContextTool:
    """A tool as the model is told of it."""

    name: str
    description: str
    arguments: dict[str, Any]

    @property
    def tokens(self) -> int:
        """An estimate, at four characters a token."""
        return _tokens(self.name + self.description + json.dumps(self.arguments))


@dataclass(frozen=True, slots=True)
class ContextPreview:
    """The context of a first request. ``window`` is the model's in tokens; None if it is not known."""

    parts: tuple[ContextPart, ...]
    tools: tuple[ContextTool, ...]
    window: int | None

    @property
    def tokens(self) -> int:
        """The estimate for all of it."""
        return sum(part.tokens for part in self.parts) + sum(tool.tokens for tool in self.tools)


def all_tools() -> tuple[ContextTool, ...]:
    """Every tool that an agent can have, as a model is told of it."""
    return _described(make_toolbox().specs())


def preview(
    agent: Agent,
    *,
    project: str,
    trigger_type: str,
    messages: Sequence[ContextPart] = (),
    memory: Sequence[MemoryLine] = (),
) -> ContextPreview:
    """The context of a conversation that ``trigger_type`` starts with these texts in its first message.

    The parts before them are the system prompt, with an empty line between them. ``project`` is the
    project's name, ``memory`` what was noted in earlier conversations.
    """
    skills = prompts.read_skills(agent.pk, plugin_reading.contents_of(agent.pk))
    window = known_window(
        agent.model, agent.base_url, agent.parameters.get(own_parameters.CONTEXT_WINDOW)
    )
    of_servers = known_tools(mcp_reading.settings_of(agent.pk))
    assembled = prompts.assemble(
        agent,
        project=project,
        trigger_type=trigger_type,
        skills=skills,
        persona=prompts.read_persona(agent.persona),
        memory=format_memory(memory, window=window),
        network=network.describe(network.policy_of(agent, agent.project)),
        variables=variables.for_commands(agent.pk, agent.project_id).describe(),
        commands=allowed_commands.lists_of(agent, agent.project),
    )
    parts = [ContextPart(part.name, part.text) for part in assembled]
    toolbox = make_toolbox(
        library=SkillLibrary(skills),
        chosen=agent.tools,
        window=window,
        remembers=agent.memory != MemoryPolicy.OFF,
        of_servers=of_servers,
    )
    specs = toolbox.specs()
    if agent.text_tool_calls:
        parts.append(ContextPart("tools", describe_tools(specs)))
        specs = ()
    parts += messages
    return ContextPreview(tuple(parts), _described(specs), window)


def _described(specs: Sequence[ToolSpec]) -> tuple[ContextTool, ...]:
    return tuple(ContextTool(spec.name, spec.description, spec.arguments) for spec in specs)


def _tokens(text: str) -> int:
    return -(-len(text) // CHARACTERS_PER_TOKEN)
