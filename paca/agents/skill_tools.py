"""The tools with which an agent lists and opens its skills."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from pydantic import Field

from paca.agents.skill_reading import OpenedSkill
from paca.engine.context.skills import SKILLS_FOLDER, SkillSummary, format_skill
from paca.engine.tools.base import (
    AnyTool,
    Effect,
    FilePath,
    NonEmptyText,
    Tool,
    ToolArguments,
    ToolContext,
    ToolOutput,
)
from paca.engine.tools.formatting import truncate_middle


class SkillAccess(Protocol):
    """The enabled skills of one agent, as they are now."""

    async def open(self, name: str) -> OpenedSkill | None:
        """The skill of this name; None if there is none."""
        ...

    async def read_file(self, name: str, path: str) -> bytes | None:
        """The data of a file of a skill; None if there is no such file."""
        ...


@dataclass(frozen=True, slots=True)
class SkillLibrary:
    """The skills of an agent when its turn began. Without ``access`` they can only be described."""

    summaries: tuple[SkillSummary, ...] = ()
    access: SkillAccess | None = None


class ListSkills(Tool["ListSkills.Arguments"]):
    """List your skills: texts on how to do certain kinds of work, each with what it is for."""

    name = "list_skills"
    effect = Effect.READ_ONLY
    timeout_seconds = 10
    uses_workspace = False
    only_thinks = True

    class Arguments(ToolArguments):
        pass

    def __init__(self, library: SkillLibrary) -> None:
        self._library = library

    async def act(self, arguments: Arguments, context: ToolContext) -> ToolOutput:
        lines = [
            f"- {skill.name}: {skill.description}{' (in your prompt)' if skill.content else ''}"
            for skill in self._library.summaries
        ]
        return ToolOutput("\n".join(lines) or "You have no skills.")


class ReadSkill(Tool["ReadSkill.Arguments"]):
    """Open one of your skills before you do the kind of work that it is for.

    You get its text and the paths of its files. With file you get the text of that file.
    """

    name = "read_skill"
    effect = Effect.READ_ONLY
    timeout_seconds = 10
    uses_workspace = False
    only_thinks = True

    class Arguments(ToolArguments):
        name: NonEmptyText = Field(description="The name of the skill.")
        file: FilePath | None = Field(
            default=None, description="The path of one of its files, such as forms/order.md."
        )

    def __init__(self, library: SkillLibrary) -> None:
        self._library = library

    def subject(self, arguments: Arguments) -> str:
        return "/".join(filter(None, (_name(arguments), arguments.file)))

    async def act(self, arguments: Arguments, context: ToolContext) -> ToolOutput:
        name = _name(arguments)
        access = self._library.access
        opened = await access.open(name) if access else None
        if access is None or opened is None:
            known = ", ".join(skill.name for skill in self._library.summaries) or "none"
            return ToolOutput(f"You have no skill {name}. Your skills are: {known}.", failed=True)
        if arguments.file is None:
            return ToolOutput(format_skill(opened.name, opened.content, opened.files))
        return await _read_file(access, opened, arguments.file)


async def _read_file(access: SkillAccess, opened: OpenedSkill, path: str) -> ToolOutput:
    path = path.removeprefix(f"{SKILLS_FOLDER}/{opened.name}/")
    data = await access.read_file(opened.name, path)
    if data is None:
        known = ", ".join(opened.files) or "none"
        return ToolOutput(f"The skill has no file {path}. Its files are: {known}.", failed=True)
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        where = f"{SKILLS_FOLDER}/{opened.name}/{path}"
        binary = f"{path} is binary ({len(data):,} bytes). Use it in a command, as {where}."
        return ToolOutput(binary, failed=True)
    text, truncated = truncate_middle(text)
    return ToolOutput(text, truncated=truncated)


def skill_tools(library: SkillLibrary | None) -> tuple[AnyTool, ...]:
    """The tools on the skills of an agent; none for an agent without skills.

    Without a ``library`` they are there to describe only.
    """
    if library is not None and not library.summaries:
        return ()
    library = library or SkillLibrary()
    return ListSkills(library), ReadSkill(library)


def _name(arguments: ReadSkill.Arguments) -> str:
    return arguments.name.strip().removeprefix("/")
