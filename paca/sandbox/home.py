"""Where one sandbox is kept on the host: its socket, its life, its workspace."""

import asyncio
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from uuid import UUID

from paca.sandbox import confinement, life
from paca.sandbox.cgroups import ControlGroup
from paca.sandbox.life import Life


class Home:
    """``folder`` is the worker's alone; ``workspace`` is bound into the sandbox."""

    def __init__(self, data_dir: Path, install_id: str, conversation_id: UUID) -> None:
        self.folder = homes_in(data_dir) / str(conversation_id)
        self.workspace = data_dir / "workspaces" / str(conversation_id)
        self.identity = confinement.identity_for(conversation_id)
        self.group = ControlGroup(f"{install_id}-{conversation_id}")

    @property
    def socket(self) -> Path:
        return self.folder / "socket"

    @property
    def log(self) -> Path:
        """What bwrap and the runner say when something is wrong with them."""
        return self.folder / "log"

    def make(self) -> None:
        """Its folders, the workspace in the hands of the sandbox's user."""
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.workspace.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):
            self.workspace.mkdir(mode=0o700)
        if self.identity.drop and self.workspace.stat().st_uid != self.identity.uid:
            _hand_over(self.workspace, self.identity.uid)

    async def clear(self, *, keep_files: bool, of_epoch: int | None = None) -> bool:
        """End what runs and remove its traces. The epoch stays known as long as the files do.

        With ``of_epoch`` only if nobody has attached under a higher one meanwhile; False if so.
        """
        if not self.folder.is_dir():
            return True
        async with life.alone(self.folder):
            known = life.read(self.folder)
            if of_epoch is not None and known.epoch != of_epoch:
                return False
            await known.end()
            await asyncio.to_thread(self.group.remove)
            self.socket.unlink(missing_ok=True)
            if keep_files:
                life.write(self.folder, Life(epoch=known.epoch))
            else:
                await asyncio.to_thread(_remove, self.workspace)
                await asyncio.to_thread(_remove, self.folder)
        return True


def homes_in(data_dir: Path) -> Path:
    """The folder of all homes of an installation."""
    return data_dir / "run" / "sandboxes"


@contextmanager
def short_path(folder: Path) -> Iterator[str]:
    """Another spelling of a folder, for sockets: their addresses end after 108 bytes."""
    descriptor = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{descriptor}"
    finally:
        os.close(descriptor)


def _hand_over(tree: Path, uid: int) -> None:
    """The whole tree changes its owner: it is new, or Paca did not run as root before."""
    for folder, _, files in os.walk(tree):
        for path in (folder, *(f"{folder}/{name}" for name in files)):
            os.lchown(path, uid, uid)


def _remove(tree: Path) -> None:
    """Also what the agent made unwritable. Links are never followed."""

    def unlock(retry: Callable[..., Any], path: str, _: Any) -> None:
        with suppress(OSError):
            Path(path).parent.chmod(0o700)
            if not Path(path).is_symlink() and Path(path).is_dir():
                Path(path).chmod(0o700)
                shutil.rmtree(path, ignore_errors=True)
            else:
                retry(path)

    if tree.exists():
        shutil.rmtree(tree, onerror=unlock)
