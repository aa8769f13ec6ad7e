"""Runs the setup commands of sandboxes: once for many conversations, in a sandbox of their own."""

from __future__ import annotations

import asyncio
import functools
import hashlib
import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any
from uuid import UUID

from django.conf import settings

from paca.common.best_effort import tolerated
from paca.conversations import sandbox_setups
from paca.conversations.models import SetupState
from paca.conversations.sandbox_setups import Built
from paca.engine.turn import LendSlot
from paca.engine.workspace import Command, SandboxBroken, WorkspaceError
from paca.projects.services import images
from paca.sandbox import start_phases
from paca.sandbox.base import Backend, Sandbox, SandboxSpec
from paca.sandbox.manager import SandboxManager
from paca.worker.database import Database
from paca.worker.event_masking import mask_of_agent
from paca.worker.sandboxes.setup_report import SetupReport

logger = logging.getLogger(__name__)
LOOK_SECONDS, RENEW_SECONDS = 0.5, 5.0
TELL_SECONDS = 1.0  # pages show new output this soon
SHARE_SECONDS = 300.0
MARGIN_SECONDS = SHARE_SECONDS + 60.0
FIRST_EPOCH = 1
# Sandboxes of other users read the files, and nothing in them runs with the rights of its owner.
SHARE = "chmod -R a+rX,u-s,g-s ."
FAILED = (
    "The setup of the sandbox failed ({how}). Correct the setup commands in the settings of the agent or of its project, "
    "or press Build again there. {said}"
)


IMAGE_NOT_ALLOWED = (
    "The sandbox cannot start: the operator of this server does not allow the image {} any more. Choose another one in the "
    "settings of the agent or of its project."
)


async def prepare_environment(
    spec: SandboxSpec,
    backend: Backend,
    *,
    manager: SandboxManager,
    database: Database,
    worker: str,
    lend_slot: LendSlot,
    is_running: bool = False,
) -> SandboxSpec:
    """Check the image of a sandbox and have its setup built. ``worker``: the id of this worker.

    ``is_running``: the sandbox was started before and keeps what it was started with, whatever the settings say now.
    Raises ``SandboxBroken`` if a person must act, and what ``Backend.open`` raises.
    """
    if backend.name == "docker" and not images.is_allowed(spec.image):
        raise SandboxBroken(IMAGE_NOT_ALLOWED.format(spec.image))
    # guard: running-sandboxes-keep-their-setup
    if is_running:
        return await _as_it_was_started(spec, backend, database)
    if spec.setup_plan is None:
        return replace(spec, setup=None)
    builder = SetupBuilder(manager=manager, database=database, worker=worker, lend_slot=lend_slot)
    return await builder.prepare(spec, backend)


async def _as_it_was_started(
    spec: SandboxSpec, backend: Backend, database: Database
) -> SandboxSpec:
    files = await database.call(sandbox_setups.used_by, spec.conversation_id)
    if files is None or not await backend.setups.exists(files):
        return spec
    return replace(spec, setup=files)


class SetupBuilder:
    """Prepares the setups of one conversation's sandbox.

    ``lend_slot``: a context in which the run only waits, and other conversations use its slot.
    """

    def __init__(
        self,
        *,
        manager: SandboxManager,
        database: Database,
        worker: str,
        lend_slot: LendSlot,
    ) -> None:
        self._manager = manager
        self._database = database
        self._worker = worker
        self._lend_slot = lend_slot

    async def prepare(self, spec: SandboxSpec, backend: Backend) -> SandboxSpec:
        """The spec with the files of its setup, which is built first or waited for if there is none yet.

        If this is cancelled, a build that it runs ends, and the next who needs it begins again.
        Raises ``SandboxBroken`` if the commands fail, and what ``Backend.open`` raises.
        """
        assert spec.setup_plan is not None
        place = place_of(await backend.setups.place())
        image = await backend.setups.image_digest(spec.image)
        claim = functools.partial(
            sandbox_setups.claim,
            spec.setup_plan,
            image=image,
            backend=backend.name,
            place=place,
            worker=self._worker,
        )
        while True:
            found = await self._database.call(claim)
            if found.state is SetupState.BUILDING:
                start_phases.enter("setup")
                if not found.is_mine:
                    found = await self._wait(claim)
            if found.is_mine:
                await self._build(spec, backend, found.files)
            elif found.state is SetupState.FAILED:
                raise SandboxBroken(found.reason)
            elif await self._can_use(spec, backend, found.files):
                start_phases.enter("check")
                return replace(spec, setup=found.files)

    async def _wait(self, claim: Callable[[], Built]) -> Built:
        """Wait until another worker has built it, or this one has to."""
        async with self._lend_slot():
            while True:
                await asyncio.sleep(LOOK_SECONDS)
                found = await self._database.call(claim)
                if found.is_mine or found.state is not SetupState.BUILDING:
                    return found

    async def _can_use(self, spec: SandboxSpec, backend: Backend, files: UUID) -> bool:
        # guard: setups-whose-files-are-gone-are-built-again
        if not await backend.setups.exists(files):
            logger.warning("files of a setup are gone", extra={"files": str(files)})
            await self._database.call(sandbox_setups.retire, files)
            return False
        return await self._database.call(sandbox_setups.use, spec.conversation_id, files)

    async def _build(self, spec: SandboxSpec, backend: Backend, files: UUID) -> None:
        """Run the commands in a sandbox of this name, and store how they ended."""
        assert spec.setup_plan is not None
        mask = await self._database.call(mask_of_agent, spec.setup_plan.agent_id)
        report = SetupReport(mask, self._manager.gates.folder(files))
        is_kept = False
        renewing = asyncio.create_task(self._renew(files, report))
        building = asyncio.create_task(self._run(spec, backend, files, report))
        try:
            await asyncio.wait({renewing, building}, return_when=asyncio.FIRST_COMPLETED)
            if not building.done():  # another worker has it, or its project is gone
                return
            reason = building.result()
            network = await asyncio.to_thread(report.network)
            is_kept = await self._database.call(
                sandbox_setups.finish, files, output=report.output, reason=reason, network=network
            )
            is_kept = is_kept and not reason
        finally:
            for task in (renewing, building):
                task.cancel()
            await asyncio.shield(self._end(backend, files, [renewing, building], is_kept))

    async def _renew(self, files: UUID, report: SetupReport) -> None:
        """Until another worker has the build. A database that is away for a moment does not end it."""
        is_ours = True
        while is_ours:
            with tolerated("keeping a setup"):
                told = await asyncio.to_thread(lambda: (report.output, report.network()))
                is_ours = await self._database.call(sandbox_setups.renew, files, *told)
            # What the commands print is stored soon, for the pages; without news, only the lease is renewed.
            with suppress(TimeoutError):
                async with asyncio.timeout(RENEW_SECONDS):
                    await report.printed()
                    await asyncio.sleep(TELL_SECONDS)

    async def _run(
        self, spec: SandboxSpec, backend: Backend, files: UUID, report: SetupReport
    ) -> str:
        """Why the commands failed; empty if they did not."""
        assert spec.setup_plan is not None
        # guard: setups-use-no-package-cache
        cache_of = (
            None  # agents write to it, and every sandbox of the project runs what a setup installs
        )
        built = SandboxSpec(
            files,
            spec.limits,
            git_name=spec.git_name,
            git_email=spec.git_email,
            egress=spec.egress,
            image=spec.image,
            cache_of=cache_of,
            builds_setup=True,
        )
        built = await self._manager.with_gate(await self._manager.with_cache(built))
        sandbox = await backend.open(built, epoch=FIRST_EPOCH)
        start_phases.enter(
            "setup"
        )  # again: the backend told the phases of this sandbox's own start
        try:
            async with asyncio.timeout(settings.SANDBOX_SETUP_SECONDS + MARGIN_SECONDS):
                return await self._execute(sandbox, files, spec.setup_plan.commands, report)
        except TimeoutError:
            return failure("its sandbox does not answer", report)
        except WorkspaceError as error:
            return failure(error.detail, report)
        finally:
            # Whatever the commands left running would write on while the files are shared.
            await sandbox.end(keep_files=True)

    async def _execute(
        self, sandbox: Sandbox, files: UUID, commands: str, report: SetupReport
    ) -> str:
        seconds = float(settings.SANDBOX_SETUP_SECONDS)
        command = Command(f"{files.hex}-1", shell=commands, timeout_seconds=seconds)
        ran = await sandbox.run(command, report.add_output)
        report.replace_output(ran)
        if ran.exit_code == 0 and not ran.cause:
            shared = await sandbox.run(
                Command(f"{files.hex}-2", shell=SHARE, timeout_seconds=SHARE_SECONDS)
            )
            if shared.exit_code != 0 or shared.cause:
                report.add_output(shared.output)
                ran = shared
        if ran.exit_code == 0 and not ran.cause:
            return ""
        return failure(ran.cause.replace("_", " ") or f"exit code {ran.exit_code}", report)

    async def _end(
        self, backend: Backend, files: UUID, tasks: list[asyncio.Task[Any]], is_kept: bool
    ) -> None:
        """End the sandbox of the build; without ``is_kept`` its files go too, and its row if nothing is stored in it."""
        await asyncio.gather(*tasks, return_exceptions=True)
        with tolerated("end of a setup"):
            await self._manager.gates.close(files)
            if not is_kept:
                await backend.remove(files)
                await self._database.call(sandbox_setups.give_up, files)


def failure(how: str, report: SetupReport) -> str:
    """Why the setup failed, with the end of its output."""
    said = f"The end of their output:\n{report.end}" if report.end else "They printed nothing."
    return FAILED.format(how=how, said=said)


def place_of(name: str) -> str:
    """The place with this name as its rows have it."""
    return hashlib.sha256(name.encode()).hexdigest()


async def remove_unused(backend: Backend, database: Database) -> int:
    """Remove the files of setups at this place that no sandbox needs any more; gives their number."""
    removed = 0
    place = place_of(await backend.setups.place())
    for files in await database.call(
        sandbox_setups.removable, backend.name, place, days=float(settings.SANDBOX_SETUP_DAYS)
    ):
        with tolerated("removing the files of a setup"), suppress(TimeoutError):
            await backend.remove(files)
            await database.call(sandbox_setups.forget, files)
            removed += 1
    return removed
