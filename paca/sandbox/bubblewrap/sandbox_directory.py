"""Where one sandbox is kept on the host: its socket, its life, its workspace."""

import asyncio
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import UUID

from paca.sandbox.bubblewrap import bwrap_arguments, host_process
from paca.sandbox.bubblewrap.cgroups import ControlGroup
from paca.sandbox.bubblewrap.host_process import RunnerProcess

MADE_BY = "made-by"


class SandboxDirectory:
    """``folder`` is the worker's alone; ``workspace`` is bound into the sandbox."""

    def __init__(self, data_dir: Path, install_id: str, conversation_id: UUID) -> None:
        self.folder = sandboxes_folder(data_dir) / str(conversation_id)
        self.workspace = data_dir / "workspaces" / str(conversation_id)
        self.user = bwrap_arguments.user_for(conversation_id)
        self.control_group = ControlGroup(f"{install_id}-{conversation_id}")
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

    def create(self) -> None:
        """Its folders, the workspace in the hands of the sandbox's user; and whose they are, for good."""
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with suppress(FileExistsError), (self.folder / MADE_BY).open("x") as mark:
            mark.write(self._install_id)
        self.workspace.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):
            self.workspace.mkdir(mode=0o700)
        if self.user.drop_privileges and self.workspace.stat().st_uid != self.user.uid:
            _change_owner(self.workspace, self.user.uid)

    @property
    def belongs_to_installation(self) -> bool:
        """Whether this installation made it: a data folder may be used with another database as well."""
        try:
            return (self.folder / MADE_BY).read_text() == self._install_id
        except OSError:
            return False

    async def end(self, *, keep_files: bool, only_epoch: int | None = None) -> bool:
        """End what runs and remove its traces. The epoch stays runner as long as the files do.

        With ``only_epoch`` only if nobody has attached under a higher one meanwhile; False if so.
        """
        if not self.folder.is_dir():
            if keep_files or not self.workspace.exists():
                return True
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        async with host_process.directory_lock(self.folder):
            runner = host_process.read_record(self.folder)
            if only_epoch is not None and runner.epoch != only_epoch:
                return False
            await runner.kill_and_wait()
            await asyncio.to_thread(self.control_group.remove)
            self.socket.unlink(missing_ok=True)
            self.status.unlink(missing_ok=True)
            if keep_files:
                host_process.write_record(self.folder, RunnerProcess(epoch=runner.epoch))
            else:
                await asyncio.to_thread(remove_tree, self.workspace)
                await asyncio.to_thread(remove_tree, self.folder)
        return True


def sandboxes_folder(data_dir: Path) -> Path:
    """The folder of all homes of an installation."""
    return data_dir / "run" / "sandboxes"


@contextmanager
def short_folder_path(folder: Path) -> Iterator[str]:
    """Another spelling of a folder, for sockets: their addresses end after 108 bytes."""
    descriptor = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{descriptor}"
    finally:
        os.close(descriptor)


def _change_owner(tree: Path, uid: int) -> None:
    """The whole tree changes its owner: it is new, or Paca did not run as root before."""
    for folder, _, files in os.walk(tree):
        for path in (folder, *(f"{folder}/{name}" for name in files)):
            os.lchown(path, uid, uid)


def remove_tree(tree: Path) -> None:
    """Also what the agent made unwritable, or nested deeper than any path or stack is long: what is in a
    folder is moved to the top before the folder goes. Links are never followed.

    Whoever removes the same meanwhile is no failure; what cannot be removed is an ``OSError``.
    """
    with suppress(FileNotFoundError, NotADirectoryError), _open_folder(tree) as top:
        while folders := _remove_files_in(top):
            for name in folders:
                with suppress(FileNotFoundError), _open_folder(name, top) as folder:
                    _move_folders_up(folder, top)
                    os.rmdir(name, dir_fd=top)
        tree.rmdir()


@contextmanager
def _open_folder(folder: Path | str, within: int | None = None) -> Iterator[int]:
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


def _remove_files_in(folder: int) -> list[str]:
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
    for name in _remove_files_in(folder):
        with suppress(FileNotFoundError), _open_folder(name, folder):  # else it could not be moved
            os.rename(name, os.urandom(12).hex(), src_dir_fd=folder, dst_dir_fd=top)
