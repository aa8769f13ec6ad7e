"""Admin pages of agents and their skills."""

from paca.agents.admin import agents, skills

__all__ = ["agents", "skills"]
