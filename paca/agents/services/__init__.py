"""Services for agents: ``from paca.agents import services as agents``."""

from paca.agents.services.agents import (
    SETTINGS,
    UNCHANGED_KEY,
    AgentIsRetired,
    configure,
    create,
    normalize_handle,
    retire,
    set_status,
)
from paca.agents.services.checks import find_errors

__all__ = [
    "SETTINGS",
    "UNCHANGED_KEY",
    "AgentIsRetired",
    "configure",
    "create",
    "find_errors",
    "retire",
    "normalize_handle",
    "set_status",
]
