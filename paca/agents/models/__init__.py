"""Agents, the members of a project that work by themselves, and their skills."""

from paca.agents.models.agent import Agent, AgentStatus
from paca.agents.models.model_key import KeySource, ModelKey
from paca.agents.models.skill import Skill, SkillFile

__all__ = ["Agent", "AgentStatus", "KeySource", "ModelKey", "Skill", "SkillFile"]
