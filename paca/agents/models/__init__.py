"""The agent: a member of a project that works by itself."""

from paca.agents.models.agent import Agent

__all__ = ["Agent"]
