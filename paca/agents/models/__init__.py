"""Agents, the members of a project that work by themselves."""

from paca.agents.models.agent import Agent, AgentStatus

__all__ = ["Agent", "AgentStatus"]
