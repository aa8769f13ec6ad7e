"""The way of a running agent to its skills: through the worker's database threads."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from uuid import UUID

from paca.agents import skill_reading
from paca.agents.skill_reading import OpenedSkill
from paca.engine.context.skills import SkillSummary
from paca.sandbox.base import SandboxFile, SandboxSpec
from paca.worker.database import Database


class RunSkillAccess:
    """Implements ``agents.skill_tools.SkillAccess`` for one agent. Its methods raise database errors."""

    def __init__(self, agent_id: UUID, database: Database) -> None:
        self._agent_id, self._database = agent_id, database

    def with_files(self, spec: SandboxSpec, skills: Iterable[SkillSummary]) -> SandboxSpec:
        """The sandbox with the files of these skills, if they have any."""
        has_files = any(skill.has_files for skill in skills)
        return replace(spec, read_files=self.read_files if has_files else None)

    async def read_files(self) -> tuple[SandboxFile, ...]:
        """The files that a new sandbox of the agent gets."""
        found = await self._database.call(skill_reading.files_for_sandbox, self._agent_id)
        return tuple(SandboxFile(path, data) for path, data in found)

    async def open(self, name: str) -> OpenedSkill | None:
        return await self._database.call(skill_reading.open_skill, self._agent_id, name)

    async def read_file(self, name: str, path: str) -> bytes | None:
        return await self._database.call(skill_reading.read_file, self._agent_id, name, path)
