"""What setup commands installed: the workspace of the sandbox that ran them."""

import asyncio
import hashlib
import os
import socket
from contextlib import suppress
from pathlib import Path
from uuid import UUID

from paca.sandbox.bubblewrap.sandbox_directory import SandboxDirectory


class FolderSetups:
    """Satisfies ``SetupFiles`` for one data folder and installation."""

    def __init__(self, data_dir: Path, install_id: str) -> None:
        self._data_dir = data_dir
        self._install_id = install_id

    async def place(self) -> str:
        """This machine and the data folder."""
        return f"{socket.gethostname()} {self._data_dir} {self._install_id}"

    async def image_digest(self, image: str) -> str:
        """What tells the programs of this server, which commands see: an upgrade of it may change them."""
        return await asyncio.to_thread(_programs)

    async def exists(self, files: UUID) -> bool:
        """Whether the folder is there."""
        directory = SandboxDirectory(self._data_dir, self._install_id, files)
        return directory.belongs_to_installation and directory.workspace.is_dir()


def _programs() -> str:
    """The release of the system, and the versions in the names of the interpreters."""
    found = [os.path.realpath(f"/usr/bin/{name}") for name in ("python3", "node", "ruby")]
    with suppress(OSError):
        found.append(Path("/etc/os-release").read_text(errors="replace"))
    return f"host:{hashlib.sha256(repr(found).encode()).hexdigest()[:32]}"
