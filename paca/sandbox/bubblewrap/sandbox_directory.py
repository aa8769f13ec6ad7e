"""The folders of one sandbox on the host: the socket and record of its runner, and its workspace."""

import asyncio
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import UUID

from paca.sandbox.bubblewrap import bwrap_arguments, file_tree, host_process, start_status
from paca.sandbox.bubblewrap.cgroups import ControlGroup
from paca.sandbox.bubblewrap.host_process import RunnerProcess

MADE_BY = "made-by"


class SandboxDirectory:
    """Two folders for one conversation: ``folder`` belongs to the workers alone, ``workspace`` is mounted
    into the sandbox."""

    def __init__(self, data_dir: Path, install_id: str, conversation_id: UUID) -> None:
        self.folder = sandboxes_folder(data_dir) / str(conversation_id)
        self.workspace = data_dir / "workspaces" / str(conversation_id)
        # The file with the workspace's file system, if it has one of its own; the folder is then empty.
        self.image = self.workspace.with_name(f"{conversation_id}.img")
        self.user = bwrap_arguments.user_for(conversation_id)
        self.control_group = ControlGroup(f"{install_id}-{conversation_id}")
        self._install_id = install_id

    def workspace_of(self, other: UUID) -> Path:
        """The workspace of another sandbox of this data folder."""
        return self.workspace.with_name(str(other))

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
        """Make both folders and record the installation.

        Raises ``OSError`` if that is not possible.
        """
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not self._made_by():  # it is empty if a process died before it wrote
            (self.folder / MADE_BY).write_text(self._install_id)
        self.workspace.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):
            self.workspace.mkdir(mode=0o700)

    def give_to_user(self) -> None:
        """Give the workspace to the sandbox's user: it is new, or Paca did not run as root before.

        No sandbox may run in it. Raises ``OSError``.
        """
        if self.user.drop_privileges and self.workspace.lstat().st_uid != self.user.uid:
            file_tree.give_tree(self.workspace, self.user.uid)

    def remove_files(self) -> None:
        """Remove the workspace with all that is stored in it. Raises ``OSError``."""
        file_tree.remove_tree(self.workspace)
        self.image.unlink(
            missing_ok=True
        )  # a sandbox that is still ending keeps its space until it is gone

    @property
    def belongs_to_installation(self) -> bool:
        """Whether this installation made the folders: another database may share the data folder."""
        return self._made_by() == self._install_id

    def _made_by(self) -> str:
        try:
            return (self.folder / MADE_BY).read_text()
        except OSError:
            return ""

    async def end_unrecorded_runner(self) -> None:
        """End the runner of a worker that was killed before it could record it. The caller holds the lock.

        It has no other worker, and keeps the workspace from the next runner. Raises ``TimeoutError`` if it
        does not end.
        """
        await (await start_status.find_runner(self.status)).kill_and_wait()

    async def end(self, *, keep_files: bool, only_epoch: int | None = None) -> bool:
        """End the sandbox and remove its socket and control groups, and unless ``keep_files`` its files.

        As long as the files exist, the record keeps the epoch. With ``only_epoch`` nothing happens and
        the result is False if a worker has attached under another epoch meanwhile.
        Raises ``SandboxUnavailable`` if another worker holds the lock, ``OSError`` if files cannot be
        removed.
        """
        if not self.folder.is_dir():
            if keep_files or not (self.workspace.exists() or self.image.exists()):
                return True
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        async with host_process.directory_lock(self.folder):
            runner = host_process.read_record(self.folder)
            if only_epoch is not None and runner.epoch != only_epoch:
                return False
            await runner.kill_and_wait()
            await self.end_unrecorded_runner()
            await asyncio.to_thread(self.control_group.remove)
            self.socket.unlink(missing_ok=True)
            self.status.unlink(missing_ok=True)
            if keep_files:
                host_process.write_record(self.folder, RunnerProcess(epoch=runner.epoch))
            else:
                await asyncio.to_thread(self.remove_files)
                await asyncio.to_thread(file_tree.remove_tree, self.folder)
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
