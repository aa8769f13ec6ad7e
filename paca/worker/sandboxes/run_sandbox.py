"""The sandbox of one run: it is started when first needed, watched, and detached at the end."""

from __future__ import annotations

import asyncio
from contextlib import nullcontext, suppress
from dataclasses import replace
from uuid import UUID

from django.db import DatabaseError

from paca import events
from paca.common import clock
from paca.conversations import sandbox_lifecycle
from paca.conversations.models import Conversation, ToolCall
from paca.conversations.store import Fenced, Lease
from paca.engine.tools.instructions_file import INSTRUCTIONS_FILE, read_instructions
from paca.engine.turn import LendSlot
from paca.engine.workspace import (
    SandboxGone,
    SandboxUnavailable,
    SandboxUnreachable,
    SandboxWorkspace,
    Superseded,
    WorkspaceError,
)
from paca.sandbox import start_phases
from paca.sandbox.base import Backend, Sandbox, SandboxSpec, WorkspaceUsage
from paca.sandbox.environment import CommandVariables
from paca.sandbox.exit_cause import ExitCause, ExitKind
from paca.sandbox.manager import SandboxManager
from paca.sandbox.start_phases import StartPhases
from paca.worker.database import Database
from paca.worker.run_log import RunLog
from paca.worker.sandboxes import network_gates, setups
from paca.worker.sandboxes import warm_pool as warm_pools
from paca.worker.sandboxes.fork_files import copy_files
from paca.worker.sandboxes.warm_pool import WarmPool

FIRST_RETRY_SECONDS, MAX_RETRY_SECONDS = 0.5, 15.0
MAX_WAIT_SECONDS = 1800.0
MAX_USAGE_SECONDS = 2.0  # the end of a run must not wait for a count of very many files
SLOW_PHASE_SECONDS, LOOK_SECONDS = 2.0, 0.25
GAVE_UP = (
    "Commands cannot run on this server for now: its sandboxes have not answered for half an hour."
)
SILENT = ExitCause(ExitKind.SILENT)
RESUMED = events.ConversationResumed(waited_for="sandbox")


class RunSandbox:
    """Satisfies ``engine.ports.ConversationSandbox`` for one claimed conversation.

    ``known_boot_id`` is the boot id of the runner that was last recorded as running; empty if none is.
    """

    def __init__(
        self,
        spec: SandboxSpec,
        known_boot_id: str,
        *,
        manager: SandboxManager,
        log: RunLog,
        database: Database,
        warm_pool: WarmPool | None = None,
        lend_slot: LendSlot = nullcontext,
    ) -> None:
        self._spec = spec
        self._known_boot_id = known_boot_id
        self._manager = manager
        self._warm_pool = warm_pool
        self._log = log
        self._database = database
        self._lend_slot = lend_slot
        self._sandbox: Sandbox | None = None
        self._exit_sentences: dict[str, str] = {}
        self._exit_checked_for: Sandbox | None = None
        self._open_lock = asyncio.Lock()
        self._watch: asyncio.Task[None] | None = None

    def use_variables(self, variables: CommandVariables) -> None:
        """Give the commands of the next turn these environment variables, also in a sandbox that runs."""
        self._spec.variables.replace_with(variables)

    @property
    def is_attached(self) -> bool:
        return self._sandbox is not None and not self._sandbox.lost

    def may_be_running(self, boot_id: str) -> bool:
        """True also before the attachment: after a takeover the recorded runner may still run the call."""
        if self._sandbox is None:
            return boot_id == self._known_boot_id
        return self.is_attached and boot_id == self._sandbox.boot_id

    async def workspace(self) -> SandboxWorkspace:
        """The attached sandbox, opened first if needed. At most one task opens it.

        Raises ``SandboxUnavailable``, ``SandboxBroken``, ``Superseded`` or ``Fenced``.
        """
        async with self._open_lock:
            if self._sandbox is None or self._sandbox.lost:
                await self._end_watch()
                self._sandbox = await self._open_when_reachable()
                self._watch = asyncio.create_task(self._watch_over(self._sandbox))
            return self._sandbox

    async def attach_if_running(self) -> SandboxWorkspace | None:
        """The sandbox if it runs, attached to without starting one; None if it does not run or is paused.

        If it has ended, that is recorded. Raises ``SandboxUnavailable``, ``Superseded`` or ``Fenced``.
        """
        async with self._open_lock:
            if self._sandbox is not None and not self._sandbox.lost:
                return self._sandbox
            if not self._known_boot_id:
                return None
            backend = await self._manager.choose_backend(self._spec.files_backend)
            await self._record_exit(backend)
            spec = self._manager.with_open_gate(self._spec)
            sandbox = await backend.attach(spec, epoch=self._log.lease.epoch)
            if sandbox is None:
                return None
            if sandbox.boot_id != self._known_boot_id:
                await sandbox.detach()  # the next use of the sandbox records which it is
                return None
            await self._end_watch()
            self._sandbox = sandbox
            self._watch = asyncio.create_task(self._watch_over(sandbox))
            await self._kill_stopped_calls(sandbox)
            return sandbox

    # --- the end of the sandbox -------------------------------------------------------------------

    async def exit_sentence(self, boot_id: str) -> str:
        """Why the runner with this boot id ended, as a sentence; empty if it runs or the cause is unknown."""
        async with self._open_lock:
            if boot_id == self._known_boot_id and not self.is_attached:
                with suppress(SandboxUnavailable):  # recorded once the backend can be reached
                    await self._record_exit(
                        await self._manager.choose_backend(self._spec.files_backend)
                    )
            return self._exit_sentences.get(boot_id, "")

    async def _watch_over(self, sandbox: Sandbox) -> None:
        """Record the end of the sandbox at once, also while no call uses it."""
        await sandbox.wait_until_lost()
        # A worker that has taken over records the exit; a database error shows at the next write.
        with suppress(Fenced, DatabaseError):
            await self.exit_sentence(sandbox.boot_id)

    async def _end_watch(self) -> None:
        watch, self._watch = self._watch, None
        if watch is not None and watch is not asyncio.current_task():
            watch.cancel()
            await asyncio.wait({watch})

    async def _record_exit(self, backend: Backend) -> None:
        """Store how the known runner ended, if it did."""
        if not self._known_boot_id:
            return
        is_first_check = self._sandbox is not self._exit_checked_for
        self._exit_checked_for = self._sandbox
        cause = await backend.find_exit_cause(self._spec.conversation_id, just_lost=is_first_check)
        if cause is None:
            return
        self._exit_sentences[self._known_boot_id], self._known_boot_id = cause.sentence, ""
        if self._sandbox is None and cause.kind in (ExitKind.RETIRED, ExitKind.REMOVED):
            # It ended while it was not in use.
            await self._log.commit(events.SandboxRemoved(kept=True))
        else:
            await self._log.commit(_lost_event(cause))

    # --- opening ----------------------------------------------------------------------------------

    async def _open_when_reachable(self) -> Sandbox:
        """Open the sandbox, and wait up to half an hour for a daemon that is down. Stop ends the wait.

        Raises ``SandboxUnavailable`` after that time.
        """
        try:
            return await self._open()
        except SandboxUnreachable as reason:
            waiting = events.ConversationWaiting(reason="sandbox", detail=reason.detail)
            await self._log.commit(waiting)
        try:
            async with self._lend_slot():
                sandbox = await self._retry_open()
        except WorkspaceError:
            await self._log.commit(RESUMED)
            raise
        await self._log.commit(RESUMED)
        return sandbox

    async def _retry_open(self) -> Sandbox:
        end, pause = clock.monotonic() + MAX_WAIT_SECONDS, FIRST_RETRY_SECONDS
        while True:
            await asyncio.sleep(pause)
            pause = min(2 * pause, MAX_RETRY_SECONDS)
            with suppress(SandboxUnreachable):
                return await self._open()
            if clock.monotonic() > end:
                raise SandboxUnavailable(GAVE_UP)

    async def _open(self) -> Sandbox:
        """Attach to the running sandbox or start one. A slow start is told, phase by phase.

        Raises what ``_open_measured`` raises; an error after a slow start says where the time went.
        """
        with start_phases.measure() as phases:
            reporter = asyncio.create_task(self._report_slow_phases(phases))
            try:
                return await self._open_measured(phases)
            except SandboxUnavailable as error:
                if phases.total < SLOW_PHASE_SECONDS:
                    raise
                raise type(error)(phases.added_to(error.detail)) from error
            finally:
                reporter.cancel()
                await asyncio.wait({reporter})

    async def _report_slow_phases(self, phases: StartPhases) -> None:
        """Store one event for each phase in which the start is still after two seconds."""
        told: set[str] = set()
        # A worker that has taken over tells its own start; a database error shows at the next write.
        with suppress(Fenced, DatabaseError):
            while True:
                await asyncio.sleep(LOOK_SECONDS)
                if phases.total >= SLOW_PHASE_SECONDS and phases.phase not in told:
                    told.add(phases.phase)
                    await self._log.commit(
                        events.SandboxProgressed(phase=phases.phase, seconds=round(phases.total, 1))
                    )

    async def _open_measured(self, phases: StartPhases) -> Sandbox:
        """Attach to the running sandbox or start one, and record which.

        Raises ``SandboxUnreachable``, ``SandboxUnavailable``, or ``Superseded`` if the claim is lost.
        """
        await self._begin_with_files()
        backend = await self._manager.choose_backend(self._spec.files_backend)
        name = backend.name
        if self._spec.reset_files:
            await self._remove_files(backend)
        await self._record_exit(backend)
        if not self._known_boot_id:
            await self._log.commit(events.SandboxStarting(backend=name))
        began = clock.monotonic()
        if self._warm_pool is not None and name == "docker" and not self._known_boot_id:
            await self._use_warm_pool(self._warm_pool)
        await self._prepare(backend)
        sandbox = await self._open_with_network(backend)
        seconds = round(clock.monotonic() - began, 3)
        if sandbox.resumed and sandbox.boot_id == self._known_boot_id:
            self._log.add(events.SandboxResumed(boot_id=sandbox.boot_id, seconds=seconds))
        if self._known_boot_id not in ("", sandbox.boot_id):
            self._exit_sentences[self._known_boot_id] = SILENT.sentence
            self._log.add(_lost_event(SILENT))
        if sandbox.boot_id != self._known_boot_id:
            self._log.add(
                events.SandboxStarted(
                    backend=name, boot_id=sandbox.boot_id, seconds=seconds, phases=phases.end()
                )
            )
            self._known_boot_id = sandbox.boot_id
            await self._show_instructions(sandbox, {INSTRUCTIONS_FILE: ""})
        else:
            await self._kill_stopped_calls(sandbox)
            await self._show_instructions(sandbox, {})
        return sandbox

    async def _prepare(self, backend: Backend) -> None:
        """Have ready what the sandbox starts with."""
        spec = await setups.prepare_environment(
            self._spec,
            backend,
            manager=self._manager,
            database=self._database,
            worker=self._log.lease.owner,
            lend_slot=self._lend_slot,
            is_running=bool(self._known_boot_id),
        )
        spec = await self._manager.with_cache(spec)
        self._spec = await network_gates.with_gate(spec, self._manager, self._database)

    async def _open_with_network(self, backend: Backend) -> Sandbox:
        """Open the sandbox. One that was started without a network is started again if it should have one now.

        Its files stay. It is left as it is while something runs in it: the agent is then told what it lacks.
        """
        epoch = self._log.lease.epoch
        sandbox = await backend.open(self._spec, epoch=epoch, may_replace=self._has_lease)
        # guard: sandbox-gets-its-network-when-idle
        if self._spec.gate is None or sandbox.has_gate or not sandbox.was_idle:
            return sandbox
        if not await self._has_lease():
            raise Superseded
        await sandbox.end()
        if self._known_boot_id:
            self._known_boot_id = ""
            await self._log.commit(events.SandboxRemoved(kept=True))
            await self._log.commit(events.SandboxStarting(backend=backend.name))
            await self._prepare(backend)
        return await backend.open(self._spec, epoch=epoch, may_replace=self._has_lease)

    async def _begin_with_files(self) -> None:
        """Copy the files of the conversation that this one is a fork of, unless that is done."""
        if self._log.history.copies_files and not self._spec.files_backend:
            self._spec = await copy_files(
                self._spec,
                manager=self._manager,
                log=self._log,
                database=self._database,
                may_replace=self._has_lease,
            )
            start_phases.enter("check")

    async def _remove_files(self, backend: Backend) -> None:
        """Remove the sandbox with its files, as a person has asked. Raises ``Superseded``."""
        if not await self._has_lease():
            raise Superseded  # the files may be new ones of the worker that has taken over
        await backend.remove(self._spec.conversation_id, self._spec.volume)
        await self._log.commit(events.SandboxRemoved(kept=False))
        self._spec = replace(self._spec, reset_files=False, volume="")

    async def _show_instructions(self, sandbox: Sandbox, unseen: dict[str, str]) -> None:
        """Add files for agents to the log whose text the model does not know: those it was shown, and ``unseen``."""
        for path, shown in {**unseen, **dict(self._log.history.instructions)}.items():
            event = await read_instructions(sandbox, path=path, shown=shown)
            # guard: changed-instructions-are-shown-again
            if event is not None:
                self._log.add(event)

    async def _kill_stopped_calls(self, sandbox: Sandbox) -> None:
        """Kill the processes of calls that were stopped while the sandbox could not be reached."""
        stopped = await self._database.call(
            _stopped_calls, self._log.lease.conversation_id, sandbox.boot_id
        )
        with suppress(SandboxGone):  # the next use of the sandbox reports it
            for call_id in stopped:
                await sandbox.kill(call_id)

    async def _use_warm_pool(self, warm_pool: WarmPool) -> None:
        """Take a sandbox of the warm pool, if there is one that fits.

        The row gives its volume to the conversation before the container gets the conversation's name,
        and nothing is written into it earlier. The row is read again at each attempt: an earlier one
        may have been cancelled after it was written.
        """
        ready = warm_pool.take(self._spec)
        assigned = False
        try:
            volume = ready.volume if ready else None
            kept = await self._database.call(warm_pools.assign_volume, self._log.lease, volume)
            self._spec = replace(self._spec, volume=kept)
            if ready is not None and ready.volume == kept:
                assigned = await warm_pool.assign(ready, self._spec.conversation_id)
        finally:
            if ready is not None and not assigned:
                warm_pool.discard(ready)

    async def _has_lease(self) -> bool:
        return await self._database.call(_lease_is_valid, self._log.lease)

    async def detach(self) -> None:
        """Detach from the sandbox. It stays idle until it is used again or swept."""
        await self._end_watch()
        if self._sandbox is not None:
            sandbox, self._sandbox = self._sandbox, None
            usage = await _usage_of(sandbox)
            await sandbox.detach()
            await self._database.call(
                sandbox_lifecycle.record_use,
                self._spec.conversation_id,
                size=usage.size if usage else None,
                limit=usage.limit if usage else None,
            )


async def _usage_of(sandbox: Sandbox) -> WorkspaceUsage | None:
    """How much the workspace holds at the end of a run; None if the sandbox does not tell in time."""
    if sandbox.lost:
        return None
    with suppress(WorkspaceError, Superseded, TimeoutError):
        async with asyncio.timeout(MAX_USAGE_SECONDS):
            return await sandbox.usage()
    return None


def _lease_is_valid(lease: Lease) -> bool:
    owned = Conversation.objects.filter(lease_owner=lease.owner, lease_epoch=lease.epoch)
    return owned.filter(pk=lease.conversation_id).exists()


def _stopped_calls(conversation_id: UUID, boot_id: str) -> list[str]:
    calls = ToolCall.objects.filter(conversation=conversation_id, boot_id=boot_id)
    return [pk.hex for pk in calls.filter(cause="cancelled").values_list("pk", flat=True)]


def _lost_event(cause: ExitCause) -> events.SandboxLost:
    return events.SandboxLost(cause=cause.sentence, end=cause.kind, exit_code=cause.exit_code)
