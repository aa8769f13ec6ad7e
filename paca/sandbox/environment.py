"""What commands of a sandbox find besides its own files: variables, and what was set up once for many sandboxes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol
from uuid import UUID

from paca.sandbox.runner.spawn import PATH

# What setup commands install, in each sandbox that is started after them.
SETUP_FOLDER = "/opt/setup"
SETUP_PATH = f"{SETUP_FOLDER}/bin:{SETUP_FOLDER}/.local/bin:{PATH}"
USE_OF_SETUP = {"PATH": SETUP_PATH, "PYTHONUSERBASE": SETUP_FOLDER}
# pip, npm and most installers then write to the folder that is kept. No other Python is in danger there.
BUILD_OF_SETUP = {
    "HOME": SETUP_FOLDER,
    "PIP_USER": "1",
    "PIP_BREAK_SYSTEM_PACKAGES": "1",
    "NPM_CONFIG_PREFIX": SETUP_FOLDER,
}


@dataclass(slots=True)
class CommandVariables:
    """Environment variables that each command gets when it starts, and which of their values are secrets.

    They are replaced while a sandbox lives. Neither a backend nor the sandbox itself stores them.
    """

    values: Mapping[str, str] = field(default_factory=dict, repr=False)
    secrets: frozenset[str] = field(default_factory=frozenset, repr=False)

    def replace_with(self, other: CommandVariables) -> None:
        """Give the next command those of ``other``."""
        # What was a secret until now stays masked: a running command may print it.
        self.values, self.secrets = other.values, self.secrets | other.secrets


@dataclass(frozen=True, slots=True)
class SetupPlan:
    """The setup commands of a sandbox. ``key`` is the same for all sandboxes that may share what they install."""

    key: str
    project_id: UUID
    agent_id: UUID
    commands: str = field(repr=False)


class SetupFiles(Protocol):
    """What setup commands installed, as one backend stores it."""

    async def place(self) -> str:
        """The name of the daemon or folder that stores the files, different from all others.

        Raises ``SandboxUnavailable``.
        """
        ...

    async def image_digest(self, image: str) -> str:
        """The digest of the image of a new sandbox that names this one; without images, of the server's programs.

        Raises ``SandboxUnavailable``.
        """
        ...

    async def exists(self, files: UUID) -> bool:
        """Whether the files of a setup are there. Raises ``SandboxUnavailable``."""
        ...
