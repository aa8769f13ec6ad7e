"""What can be done with an agent: ``from paca.agents import services as agents``."""

from paca.agents.services.agents import (
    SETTINGS,
    UNCHANGED_KEY,
    configure,
    create,
    new_key,
    retire,
    tidy_handle,
)
from paca.agents.services.checks import complaints

__all__ = [
    "SETTINGS",
    "UNCHANGED_KEY",
    "complaints",
    "configure",
    "create",
    "new_key",
    "retire",
    "tidy_handle",
]
