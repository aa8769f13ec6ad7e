"""Finds how the machine of the Docker daemon names a folder of this process, which may run in a container itself."""

from __future__ import annotations

import socket
from pathlib import Path, PurePosixPath
from typing import Any

from paca.sandbox.docker.engine import NOT_FOUND, DockerEngine, DockerRefused


class HostPaths:
    """The folders of this process as the daemon's machine knows them."""

    def __init__(self, engine: DockerEngine) -> None:
        self._engine = engine
        self._mounts: list[dict[str, Any]] | None = None

    async def find(self, folder: Path) -> Path:
        """The folder on the daemon's machine. Raises ``SandboxUnavailable`` if the daemon cannot be asked.

        Outside of containers it is the folder itself. A daemon on another machine has no such folder, and refuses
        to start a container with it.
        """
        if self._mounts is None:
            self._mounts = await self._own_mounts()
        return translate(folder, self._mounts)

    async def _own_mounts(self) -> list[dict[str, Any]]:
        """The mounts of the container of this process; none if it runs in no container of this daemon."""
        name = socket.gethostname()
        try:
            found = await self._engine.call(lambda client: client.inspect_container(name))
        except DockerRefused as refusal:
            if refusal.http_status == NOT_FOUND:
                return []
            raise
        # A container of that name need not be this one.
        return list(found["Mounts"]) if found["Config"]["Hostname"] == name else []


def translate(folder: Path, mounts: list[dict[str, Any]]) -> Path:
    """The folder below the source of the innermost mount that holds it; itself if none does."""
    holding = [mount for mount in mounts if folder.is_relative_to(mount["Destination"])]
    if not holding:
        return folder
    mount = max(holding, key=lambda each: len(PurePosixPath(each["Destination"]).parts))
    return Path(mount["Source"]) / folder.relative_to(mount["Destination"])
