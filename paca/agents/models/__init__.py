"""The agent: a member of a project that works by itself."""

from paca.agents.models.agent import Agent, AgentStatus

__all__ = ["Agent", "AgentStatus"]
