"""Agents, the members of a project that work by themselves, and their skills."""

from paca.agents.models.agent import Agent
from paca.agents.models.choices import AgentCategory, AgentPriority, AgentStatus
from paca.agents.models.model_key import KeySource, ModelKey
from paca.agents.models.skill import Skill, SkillFile

__all__ = [
    "Agent",
    "AgentCategory",
    "AgentPriority",
    "AgentStatus",
    "KeySource",
    "ModelKey",
    "Skill",
    "SkillFile",
]
