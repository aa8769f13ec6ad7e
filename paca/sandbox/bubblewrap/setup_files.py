"""What setup commands installed: the workspace of the sandbox that ran them."""

import socket
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
        """Nothing: there are no images."""
        return ""

    async def exists(self, files: UUID) -> bool:
        """Whether the folder is there."""
        directory = SandboxDirectory(self._data_dir, self._install_id, files)
        return directory.belongs_to_installation and directory.workspace.is_dir()
