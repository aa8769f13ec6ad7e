"""What can be done with an agent: ``from paca.agents import services as agents``."""

from paca.agents.services.agents import configure, create, retire

__all__ = ["configure", "create", "retire"]
