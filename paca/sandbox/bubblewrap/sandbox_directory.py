"""Where one sandbox is kept on the host: its socket, its life, its workspace."""

import asyncio
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import UUID

from paca.sandbox.bubblewrap import bwrap_arguments, host_process
from paca.sandbox.bubblewrap.cgroups import ControlGroup
from paca.sandbox.bubblewrap.host_process import Life

MADE_BY = "made-by"


class Home:
    """``folder`` is the worker's alone; ``workspace`` is bound into the sandbox."""

    def __init__(self, data_dir: Path, install_id: str, conversation_id: UUID) -> None:
        self.folder = homes_in(data_dir) / str(conversation_id)
        self.workspace = data_dir / "workspaces" / str(conversation_id)
        self.identity = bwrap_arguments.identity_for(conversation_id)
        self.group = ControlGroup(f"{install_id}-{conversation_id}")
        self._install_id = install_id

    @property
    def socket(self) -> Path:
        return self.folder / "socket"

    @property
    def log(self) -> Path:
        """What bwrap and the runner say when something is wrong with them."""
        return self.folder / "log"

    @property
    def status(self) -> Path:
        """Where bwrap writes the exit code of the runner."""
        return self.folder / "status"

    def make(self) -> None:
        """Its folders, the workspace in the hands of the sandbox's user; and whose they are, for good."""
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with suppress(FileExistsError), (self.folder / MADE_BY).open("x") as mark:
            mark.write(self._install_id)
        self.workspace.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):
            self.workspace.mkdir(mode=0o700)
        if self.identity.drop and self.workspace.stat().st_uid != self.identity.uid:
            _hand_over(self.workspace, self.identity.uid)

    @property
    def is_ours(self) -> bool:
        """Whether this installation made it: a data folder may be used with another database as well."""
        try:
            return (self.folder / MADE_BY).read_text() == self._install_id
        except OSError:
            return False

    async def clear(self, *, keep_files: bool, of_epoch: int | None = None) -> bool:
        """End what runs and remove its traces. The epoch stays known as long as the files do.

        With ``of_epoch`` only if nobody has attached under a higher one meanwhile; False if so.
        """
        if not self.folder.is_dir():
            if keep_files or not self.workspace.exists():
                return True
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        async with host_process.alone(self.folder):
            known = host_process.read(self.folder)
            if of_epoch is not None and known.epoch != of_epoch:
                return False
            await known.end()
            await asyncio.to_thread(self.group.remove)
            self.socket.unlink(missing_ok=True)
            self.status.unlink(missing_ok=True)
            if keep_files:
                host_process.write(self.folder, Life(epoch=known.epoch))
            else:
                await asyncio.to_thread(remove_tree, self.workspace)
                await asyncio.to_thread(remove_tree, self.folder)
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


def remove_tree(tree: Path) -> None:
    """Also what the agent made unwritable, or nested deeper than any path or stack is long: what is in a
    folder is moved to the top before the folder goes. Links are never followed.

    Whoever removes the same meanwhile is no failure; what cannot be removed is an ``OSError``.
    """
    with suppress(FileNotFoundError, NotADirectoryError), _opened(tree) as top:
        while folders := _without_files(top):
            for name in folders:
                with suppress(FileNotFoundError), _opened(name, top) as folder:
                    _move_folders_up(folder, top)
                    os.rmdir(name, dir_fd=top)
        tree.rmdir()


@contextmanager
def _opened(folder: Path | str, within: int | None = None) -> Iterator[int]:
    """A descriptor of a folder, never of one that a link leads to, in which everything may be changed."""
    seen = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=within)
    try:
        same = Path(f"/proc/self/fd/{seen}")
        same.chmod(0o700)
        descriptor = os.open(same, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    finally:
        os.close(seen)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _without_files(folder: int) -> list[str]:
    """The names of the folders in one, after all else in it is removed."""
    folders = []
    with os.scandir(folder) as found:
        entries = list(found)
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            folders.append(entry.name)
        else:
            with suppress(FileNotFoundError):
                os.unlink(entry.name, dir_fd=folder)
    return folders


def _move_folders_up(folder: int, top: int) -> None:
    for name in _without_files(folder):
        with suppress(FileNotFoundError), _opened(name, folder):  # else it could not be moved
            os.rename(name, os.urandom(12).hex(), src_dir_fd=folder, dst_dir_fd=top)
