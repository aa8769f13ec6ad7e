"""The folders of one sandbox on the host: the socket and record of its runner, and its workspace."""

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
    """Two folders for one conversation: ``folder`` belongs to the workers alone, ``workspace`` is mounted
    into the sandbox."""

    def __init__(self, data_dir: Path, install_id: str, conversation_id: UUID) -> None:
        self.folder = sandboxes_folder(data_dir) / str(conversation_id)
        self.workspace = data_dir / "workspaces" / str(conversation_id)
        self.user = bwrap_arguments.user_for(conversation_id)
        self.control_group = ControlGroup(f"{install_id}-{conversation_id}")
        self._install_id = install_id

    @property
    def socket(self) -> Path:
        """The socket on which the runner accepts workers."""
        return self.folder / "socket"

    @property
    def log(self) -> Path:
        """The output of bwrap and the runner, which they write only when they fail."""
        return self.folder / "log"

    @property
    def status(self) -> Path:
        """The file to which bwrap writes the runner's exit code."""
        return self.folder / "status"

    def create(self) -> None:
        """Make both folders, give the workspace to the sandbox's user, and record the installation.

        Raises ``OSError`` if that is not possible.
        """
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
        """Whether this installation made the folders: another database may share the data folder."""
        try:
            return (self.folder / MADE_BY).read_text() == self._install_id
        except OSError:
            return False

    async def end(self, *, keep_files: bool, only_epoch: int | None = None) -> bool:
        """End the sandbox and remove its socket and control groups, and unless ``keep_files`` its files.

        As long as the files exist, the record keeps the epoch. With ``only_epoch`` nothing happens and
        the result is False if a worker has attached under another epoch meanwhile.
        Raises ``SandboxUnavailable`` if another worker holds the lock, ``OSError`` if files cannot be
        removed.
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
    """The folder that holds one folder for each sandbox."""
    return data_dir / "run" / "sandboxes"


def conversation_ids(data_dir: Path) -> set[UUID]:
    """The conversations that have a folder below ``data_dir``, whichever installation made it."""
    found = set()
    with suppress(FileNotFoundError):
        for folder in sandboxes_folder(data_dir).iterdir():
            with suppress(ValueError):
                found.add(UUID(folder.name))
    return found


@contextmanager
def short_folder_path(folder: Path) -> Iterator[str]:
    """A short path of the same folder, valid within the context: a socket's address has at most 108 bytes."""
    descriptor = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{descriptor}"
    finally:
        os.close(descriptor)


def _change_owner(tree: Path, uid: int) -> None:
    """Give the whole tree to a user: it is new, or Paca did not run as root before."""
    for folder, _, files in os.walk(tree):
        for path in (folder, *(f"{folder}/{name}" for name in files)):
            os.lchown(path, uid, uid)


def remove_tree(tree: Path) -> None:
    """Remove a folder with everything in it. Links are never followed.

    Folders that the agent made unwritable are removed as well, and so are trees that are nested deeper
    than a path or a stack may be long: the folders in a folder are moved to the top before it is removed.
    Another process may remove the same tree meanwhile. Raises ``OSError`` if something cannot be removed.
    """
    with suppress(FileNotFoundError, NotADirectoryError), _open_folder(tree) as top:
        while folders := _remove_files_in(top):
            for name in folders:
                with suppress(FileNotFoundError), _open_folder(name, top) as folder:
                    _move_folders_up(folder, top)
                    os.rmdir(name, dir_fd=top)
        tree.rmdir()


@contextmanager
def _open_folder(folder: Path | str, parent: int | None = None) -> Iterator[int]:
    """A descriptor of a folder whose entries may be changed. A link to a folder is not opened."""
    path_only = os.open(
        folder, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent
    )
    try:
        same = Path(f"/proc/self/fd/{path_only}")
        same.chmod(0o700)
        descriptor = os.open(same, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    finally:
        os.close(path_only)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _remove_files_in(folder: int) -> list[str]:
    """Remove everything in a folder except its folders, and give the names of those."""
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
        # Opening makes the folder writable; one that is not cannot be moved.
        with suppress(FileNotFoundError), _open_folder(name, folder):
            os.rename(name, os.urandom(12).hex(), src_dir_fd=folder, dst_dir_fd=top)
