"""Sandboxes made with bubblewrap: they need namespaces of this machine, but no service and no image."""

import asyncio
import logging
import secrets
import tempfile
from dataclasses import replace
from pathlib import Path
from uuid import UUID

from paca.engine.workspace import SandboxGone, SandboxUnavailable, Superseded
from paca.sandbox import file_copy, start_phases
from paca.sandbox.base import (
    CopiedFiles,
    FilesOrigin,
    IdlePolicy,
    MayReplace,
    Sandbox,
    SandboxLimits,
    SandboxSpec,
    always_replace,
    is_probe_id,
    new_probe_id,
)
from paca.sandbox.bubblewrap import (
    bwrap_arguments,
    exit_report,
    host_process,
    leftovers,
    workspace_copy,
)
from paca.sandbox.bubblewrap.attaching import attach_to_runner
from paca.sandbox.bubblewrap.bwrap_process import reap_children, start_error
from paca.sandbox.bubblewrap.host_process import RunnerProcess
from paca.sandbox.bubblewrap.launcher import Launcher, bundles_to_keep, prepare_launcher
from paca.sandbox.bubblewrap.sandbox_directory import SandboxDirectory, conversation_ids
from paca.sandbox.bubblewrap.setup_files import FolderSetups
from paca.sandbox.exit_cause import ExitCause
from paca.sandbox.runner_client import Attachment
from paca.sandbox.runner_workspace import RunnerWorkspace

logger = logging.getLogger(__name__)
NOT_REMOVED = "The files of this conversation could not be removed: {}."
DATA_WOULD_SHOW = (
    "Commands cannot run on this server: its data folder, which holds the keys, lies in a part of the "
    "system that every sandbox can read. Set PACA_DATA_DIR to a folder outside of /usr, /bin and /lib."
)


class BubblewrapSandbox(RunnerWorkspace):
    """One conversation's sandbox on this machine, attached to by this worker."""

    def __init__(
        self, attachment: Attachment, directory: SandboxDirectory, spec: SandboxSpec
    ) -> None:
        super().__init__(attachment, spec.environment, spec.gate, spec.variables)
        self._directory = directory

    @property
    def memory_by_kernel(self) -> bool:
        """Whether a control group limits the memory of this sandbox."""
        return self._directory.control_group.exists

    def close(self) -> None:
        """Disconnect from the runner at once; it and its calls continue."""
        self._attachment.close()

    async def end(self, *, keep_files: bool = True) -> None:
        """End the sandbox, with ``keep_files=False`` also its workspace.

        Raises ``SandboxUnavailable`` if another worker holds the lock, ``TimeoutError`` if the runner does
        not end, and ``OSError`` if files cannot be removed.
        """
        await self.detach()
        await self._directory.end(keep_files=keep_files)


class Bubblewrap:
    """The bubblewrap backend of one installation. Its sandboxes are kept below ``data_dir``."""

    name = "bubblewrap"
    description = "bubblewrap: basic isolation, no network"

    def __init__(
        self,
        data_dir: Path,
        install_id: str,
        *,
        idle_seconds: float = 180,
        paused_seconds: float = 3600,
        bundles: Path | None = None,
    ) -> None:
        """``bundles``: the folder of the prepared runner and /etc, if it is another than in the data folder."""
        self._data_dir = data_dir.resolve()
        self._bundles = bundles or self._data_dir / "run"
        self._install_id = install_id
        self._idle_policy = IdlePolicy(idle_seconds, paused_seconds)
        self.setups = FolderSetups(self._data_dir, install_id)
        self._cached_launcher: Launcher | None = None
        self._openings: set[asyncio.Task[BubblewrapSandbox]] = set()
        self._preparing: set[asyncio.Task[None]] = set()

    # --- Backend ----------------------------------------------------------------------------------

    async def probe(self) -> None:
        """Start a sandbox and end it again; no cheaper test is reliable. Raises ``SandboxUnavailable``."""
        if bwrap_arguments.is_visible_inside(self._data_dir):
            raise SandboxUnavailable(DATA_WOULD_SHOW)
        # If the probe is cancelled, a thread may still be filling the folder that is being removed.
        with tempfile.TemporaryDirectory(
            prefix=leftovers.PROBE_PREFIX, ignore_cleanup_errors=True
        ) as folder:
            own_id, bundles = f"probe-{secrets.token_hex(4)}", bundles_to_keep(self._data_dir)
            backend = Bubblewrap(Path(folder), own_id, idle_seconds=5, bundles=bundles)
            sandbox = await backend.open(SandboxSpec(new_probe_id()), epoch=1)
            await sandbox.end(keep_files=False)
            backend._launcher().close()

    async def check(self) -> None:
        """Do nothing: this backend depends on no service that could have stopped."""

    async def open(
        self, spec: SandboxSpec, *, epoch: int, may_replace: MayReplace = always_replace
    ) -> Sandbox:
        """Attach to the running sandbox, or start one on the kept files. See ``Backend.open``.

        A start that has begun goes on if the caller is cancelled: a runner that no record names would
        keep the workspace from the next one. That one finds the started sandbox and attaches to it.

        Raises ``SandboxUnavailable`` if none can be started, and ``Superseded`` if a newer worker has it.
        """
        opening = asyncio.create_task(self._open(spec, epoch, may_replace))
        self._openings.add(opening)
        opening.add_done_callback(self._openings.discard)
        try:
            return await asyncio.shield(opening)
        except asyncio.CancelledError:
            opening.add_done_callback(_detach_unused)
            raise

    async def attach(self, spec: SandboxSpec, *, epoch: int) -> Sandbox | None:
        """Attach to the sandbox if it runs on this machine and is not paused. See ``Backend.attach``.

        The runner refuses an epoch that is lower than its own. Raises ``SandboxUnavailable`` if it does not answer,
        and ``Superseded``.
        """
        directory = self._directory(spec.conversation_id)
        if not directory.folder.is_dir():
            return None
        try:
            async with host_process.directory_lock(directory.folder):
                runner = host_process.read_record(directory.folder)
                if not runner.is_alive or runner.is_paused:
                    return None
                unattended_seconds = self._idle_policy.unattended_seconds(spec)
                attachment = await attach_to_runner(
                    directory, epoch, unattended_seconds, session=spec.session
                )
        except (OSError, SandboxGone, TimeoutError) as error:
            raise SandboxUnavailable(f"The sandbox does not answer: {error}.") from error
        return BubblewrapSandbox(attachment, directory, spec)

    async def _open(
        self, spec: SandboxSpec, epoch: int, may_replace: MayReplace
    ) -> BubblewrapSandbox:
        if bwrap_arguments.is_visible_inside(self._data_dir):
            raise SandboxUnavailable(DATA_WOULD_SHOW)
        reap_children()
        directory = self._directory(spec.conversation_id)
        try:
            directory.create()
            start_phases.enter("queue")
            async with host_process.directory_lock(directory.folder):
                runner = host_process.read_record(directory.folder)
                # The record has the epoch of the conversation. The runner knows those of its helpers.
                if epoch < runner.epoch and not spec.session:
                    raise Superseded()
                attachment = await self._reattach(directory, runner, spec, epoch, may_replace)
                if attachment is None:
                    await directory.end_unrecorded_runner()
                    attachment = await self._start(directory, spec, epoch, runner.epoch)
        except OSError as error:
            raise SandboxUnavailable(f"The sandbox could not be started: {error}.") from error
        return BubblewrapSandbox(attachment, directory, spec)

    async def copy_files(
        self,
        spec: SandboxSpec,
        origin: FilesOrigin,
        *,
        epoch: int,
        may_replace: MayReplace = always_replace,
    ) -> CopiedFiles:
        """Begin a conversation's workspace with a copy of another's. See ``Backend.copy_files``.

        Raises ``CopyFailed``, ``SandboxUnreachable`` and ``Superseded``.
        """
        source, target = map(self._directory, (origin.conversation_id, spec.conversation_id))
        try:
            return await workspace_copy.copy(
                source,
                target,
                spec,
                epoch=epoch,
                may_replace=may_replace,
                launcher=self._launcher(),
            )
        except OSError as error:
            raise file_copy.failed(error.strerror or str(error)) from error

    async def find_exit_cause(
        self, conversation_id: UUID, *, just_lost: bool = False
    ) -> ExitCause | None:
        """Why the sandbox ended, from its exit code and control group; None while it runs."""
        return await exit_report.read(self._directory(conversation_id), just_lost=just_lost)

    def list_started(self) -> dict[UUID, int]:
        """The sandboxes with a recorded runner, also an ended one, each with the epoch that opened it last."""
        runners = {
            conversation_id: host_process.read_record(self._directory(conversation_id).folder)
            for conversation_id in self._own_conversations()
        }
        return {
            conversation_id: runner.epoch
            for conversation_id, runner in runners.items()
            if runner.pid
        }

    async def pause(self, conversation_id: UUID) -> bool:
        """Stop every process in the sandbox; False if it does not run."""
        directory = self._directory(conversation_id)
        if not directory.folder.is_dir():
            return False
        async with host_process.directory_lock(directory.folder):
            return await asyncio.to_thread(host_process.read_record(directory.folder).pause)

    async def resume(self, conversation_id: UUID) -> None:
        """Continue the processes of a paused sandbox; does nothing if it is not paused."""
        directory = self._directory(conversation_id)
        if not directory.folder.is_dir():
            return
        async with host_process.directory_lock(directory.folder):
            runner = host_process.read_record(directory.folder)
            if runner.is_paused:
                await asyncio.to_thread(runner.resume)

    async def sweep(self, keep: set[UUID], started: dict[UUID, int] | None = None) -> list[UUID]:
        """End the sandboxes of conversations not in ``keep``; their files stay. See ``Backend.sweep``."""
        reap_children()
        ended = []
        for conversation_id, epoch in (self.list_started() if started is None else started).items():
            if conversation_id in keep:
                continue
            directory = self._directory(conversation_id)
            was_alive = host_process.read_record(directory.folder).is_alive
            try:
                was_ended = await directory.end(keep_files=True, only_epoch=epoch)
            except (OSError, SandboxUnavailable):  # the other sandboxes must still be swept
                logger.exception(
                    "sandbox could not be ended", extra={"directory": str(directory.folder)}
                )
                continue
            if was_alive and was_ended:
                ended.append(conversation_id)
        return ended

    def list_workspaces(self) -> dict[UUID, str]:
        """The conversations for which this installation made folders, each with an empty volume name."""
        return dict.fromkeys(self._own_conversations(), "")

    def remove_leftovers(self) -> int:
        """Remove what ended processes left half-made; gives the number of things."""
        return leftovers.remove_leftovers(self._data_dir)

    async def remove_files(self, conversation_id: UUID, volume: str = "") -> bool:
        """Empty the conversation's workspace; False if a sandbox runs in it.

        The lock keeps workers from opening the sandbox meanwhile; they then find an empty workspace.
        Raises ``SandboxUnavailable`` if the lock is held for long or a file cannot be removed.
        """
        directory = self._directory(conversation_id)
        directory.create()
        async with host_process.directory_lock(directory.folder):
            if host_process.read_record(directory.folder).is_alive:
                return False
            await directory.end_unrecorded_runner()
            try:
                await asyncio.to_thread(directory.remove_files)
            except OSError as error:
                raise SandboxUnavailable(NOT_REMOVED.format(error)) from error
            directory.create()
        return True

    async def remove(self, conversation_id: UUID, volume: str = "") -> None:
        """End the conversation's sandbox and remove its files for good. Raises ``SandboxUnavailable``."""
        try:
            await self._directory(conversation_id).end(keep_files=False)
        except OSError as error:
            raise SandboxUnavailable(NOT_REMOVED.format(error)) from error

    def _own_conversations(self) -> list[UUID]:
        """The conversations for which this installation made folders, without probes that may still run."""
        return [
            conversation_id
            for conversation_id in conversation_ids(self._data_dir)
            if self._directory(conversation_id).belongs_to_installation
            if not is_probe_id(conversation_id)
            or leftovers.is_old(self._directory(conversation_id).folder)
        ]

    # --- one sandbox ------------------------------------------------------------------------------

    def _directory(self, conversation_id: UUID) -> SandboxDirectory:
        return SandboxDirectory(self._data_dir, self._install_id, conversation_id)

    async def _reattach(
        self,
        directory: SandboxDirectory,
        runner: RunnerProcess,
        spec: SandboxSpec,
        epoch: int,
        may_replace: MayReplace,
    ) -> Attachment | None:
        """An attachment to the running sandbox; None if none runs, or it did not answer and was ended."""
        if not runner.is_alive:
            return None
        was_paused = runner.is_paused
        if was_paused:
            await asyncio.to_thread(runner.resume)
        try:
            seconds = self._idle_policy.unattended_seconds(spec)
            attachment = await attach_to_runner(directory, epoch, seconds, session=spec.session)
        except (OSError, SandboxGone, TimeoutError):
            logger.warning(
                "sandbox does not answer and is replaced",
                extra={"directory": str(directory.folder)},
            )
            if not await may_replace():
                raise Superseded from None
            await runner.kill_and_wait()
            return None
        oom_kills = directory.control_group.oom_kills()
        recorded = runner.epoch if spec.session else epoch
        host_process.write_record(
            directory.folder, replace(runner, epoch=recorded, oom_kills=oom_kills)
        )
        attachment.resumed = was_paused
        return attachment

    async def _start(
        self, directory: SandboxDirectory, spec: SandboxSpec, epoch: int, recorded: int
    ) -> Attachment:
        """Start the sandbox and attach to it. ``recorded`` is the epoch of the conversation, if a helper starts it."""
        start_phases.enter("create")
        if spec.read_files is not None:
            spec = replace(spec, files=await spec.read_files())
        own_epoch = recorded if spec.session else epoch
        runner = await asyncio.to_thread(self._launch, directory, spec, own_epoch)
        start_phases.enter("start")
        try:
            attachment = await attach_to_runner(directory, epoch, session=spec.session)
        except (OSError, SandboxGone, TimeoutError):
            await runner.kill_and_wait()
            raise start_error(directory.log) from None
        if not is_probe_id(spec.conversation_id):
            self._prepare_next(spec.limits)
        return attachment

    def _launch(self, directory: SandboxDirectory, spec: SandboxSpec, epoch: int) -> RunnerProcess:
        """Start a runner and record it, in one thread: it is recorded also if the event loop ends meanwhile."""
        directory.give_to_user()
        runner = self._launcher().launch(directory, spec, epoch)
        oom_kills = directory.control_group.oom_kills()
        host_process.write_record(directory.folder, replace(runner, oom_kills=oom_kills))
        return runner

    def _prepare_next(self, limits: SandboxLimits) -> None:
        """Prepare the start of the next new sandbox, which will probably have the same limits."""
        preparing = asyncio.create_task(asyncio.to_thread(self._launcher().make_spare, limits))
        self._preparing.add(preparing)
        preparing.add_done_callback(self._end_preparing)

    def _end_preparing(self, preparing: asyncio.Task[None]) -> None:
        self._preparing.discard(preparing)
        if not preparing.cancelled() and (error := preparing.exception()) is not None:
            logger.info("next sandbox starts without preparation", extra={"reason": str(error)})

    def _launcher(self) -> Launcher:
        if self._cached_launcher is None:
            self._cached_launcher = prepare_launcher(
                self._data_dir, self._idle_policy, self._bundles
            )
        return self._cached_launcher


def _detach_unused(opening: asyncio.Task[BubblewrapSandbox]) -> None:
    """Disconnect from a sandbox whose caller was cancelled. An error of its start concerns nobody now."""
    if not opening.cancelled() and opening.exception() is None:
        opening.result().close()
