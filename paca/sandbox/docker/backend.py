"""Sandboxes made with Docker: each conversation has a container, and a volume for its workspace."""

import asyncio
import logging
from uuid import UUID

from paca.common import clock
from paca.engine.workspace import (
    SandboxGone,
    SandboxUnavailable,
    SandboxUnreachable,
    Superseded,
)
from paca.sandbox import file_copy, start_phases
from paca.sandbox.base import (
    CopiedFiles,
    FilesOrigin,
    IdlePolicy,
    MayReplace,
    Sandbox,
    SandboxSpec,
    always_replace,
    new_probe_id,
)
from paca.sandbox.docker import container_exit, self_test
from paca.sandbox.docker import runtime as docker_runtime
from paca.sandbox.docker.container import Container
from paca.sandbox.docker.creation import CREATE_SECONDS, ContainerCreator
from paca.sandbox.docker.engine import PREFIX, DockerEngine, DockerRefused
from paca.sandbox.docker.image import DEFAULT_IMAGE as DEFAULT_IMAGE
from paca.sandbox.docker.inventory import Inventory
from paca.sandbox.docker.setup_files import DockerSetups
from paca.sandbox.docker.stream import ContainerAttachment
from paca.sandbox.docker.volume_copy import VolumeCopier
from paca.sandbox.exit_cause import ExitCause, ExitKind, classify_exit
from paca.sandbox.runner_workspace import RunnerWorkspace

logger = logging.getLogger(__name__)
OPEN_SECONDS = 60.0
ATTACH_SECONDS = 10.0
STARTING_SECONDS = 20.0  # a container not started by then was made by a worker that died meanwhile
BLOCKED = (
    "Docker does not connect to this sandbox, because another client that is attached to it does not read: "
    "a worker that was stopped, or whose machine sleeps. Let that worker continue, or end it."
)
CLOCK_MARGIN_SECONDS = 2.0  # for the delay between this process and the runner, each way


class DockerSandbox(RunnerWorkspace):
    """One conversation's container, attached to by this worker."""

    def __init__(
        self, attachment: ContainerAttachment, backend: "Docker", spec: SandboxSpec
    ) -> None:
        super().__init__(attachment, spec.environment, spec.gate, spec.variables)
        self._backend = backend
        self._spec = spec

    @property
    def memory_by_kernel(self) -> bool:
        """Always true: a container without its limits is refused."""
        return True

    async def end(self, *, keep_files: bool = True) -> None:
        """Remove the container, with ``keep_files=False`` also its volume. Raises ``SandboxUnavailable``."""
        await self.detach()
        if keep_files:
            await self._backend.remove_container(self._spec.conversation_id)
        else:
            await self._backend.remove(self._spec.conversation_id, self._spec.volume)


class Docker:
    """The Docker backend of one installation.

    The containers labelled with ``install_id`` belong to it, whichever worker made them. Other
    containers on the daemon are left alone.
    """

    name = "docker"

    def __init__(
        self,
        engine: DockerEngine,
        install_id: str,
        *,
        image: str,
        idle_seconds: float = 180,
        paused_seconds: float = 3600,
        runtime: str = "",
    ) -> None:
        self.engine = engine
        self.inventory = Inventory(engine, install_id)
        self.description = ""
        self._idle_policy = IdlePolicy(idle_seconds, paused_seconds)
        policy = self._idle_policy
        self.creator = ContainerCreator(engine, self.inventory, image, policy, runtime=runtime)
        self.setups = DockerSetups(engine, self.inventory, self.creator)
        self._copier = VolumeCopier(engine, self.inventory, self.creator)

    # --- Backend ----------------------------------------------------------------------------------

    async def probe(self) -> None:
        """Start a sandbox, check its limits from inside, and end it. Raises ``SandboxUnavailable``."""
        spec = SandboxSpec(new_probe_id())
        try:
            daemon = await self.engine.call(lambda client: client.version())
            sandbox = await self.open(spec, epoch=1)
            try:
                self.description = await self_test.run_self_test(
                    sandbox, spec, daemon, self.creator.image_name, self.creator.runtime
                )
            finally:
                await sandbox.detach()
        except SandboxGone as error:
            raise SandboxUnavailable(f"{PREFIX}the container ended by itself.") from error
        finally:
            await self.remove(spec.conversation_id)

    async def check(self) -> None:
        """Check that the daemon answers and still has the image and the runtime. Raises ``SandboxUnavailable``."""
        await docker_runtime.check(self.engine, self.creator.runtime)
        await self.creator.image_id()

    async def open(
        self, spec: SandboxSpec, *, epoch: int, may_replace: MayReplace = always_replace
    ) -> Sandbox:
        """Attach to the conversation's container, or start one on its volume. See ``Backend.open``.

        Raises ``SandboxUnavailable`` if none can be started, and ``SandboxUnreachable`` if Docker is slow.
        """
        try:
            async with asyncio.timeout(OPEN_SECONDS):
                attachment = await self._attach_or_start(spec, epoch, may_replace)
        except TimeoutError:
            raise SandboxUnreachable(
                f"The sandbox did not start within {OPEN_SECONDS:g} seconds: Docker is slow, or another "
                "worker is busy with it."
            ) from None
        except DockerRefused as refusal:
            raise SandboxUnavailable(f"{PREFIX}Docker refused: {refusal.detail}") from refusal
        return DockerSandbox(attachment, self, spec)

    async def attach(self, spec: SandboxSpec, *, epoch: int) -> Sandbox | None:
        """Attach to the conversation's container if it runs and is not paused. See ``Backend.attach``.

        Raises ``SandboxUnavailable``, ``SandboxUnreachable`` if Docker is slow, and ``Superseded``.
        """
        try:
            async with asyncio.timeout(OPEN_SECONDS):
                found = await self.inventory.find_container(spec.conversation_id)
                if found is None or not found.running or found.paused:
                    return None
                attachment = await self._reattach(found, spec, epoch)
        except TimeoutError:
            raise SandboxUnreachable(f"{PREFIX}Docker is slow.") from None
        except DockerRefused as refusal:
            raise SandboxUnavailable(f"{PREFIX}Docker refused: {refusal.detail}") from refusal
        return None if attachment is None else DockerSandbox(attachment, self, spec)

    async def copy_files(
        self,
        spec: SandboxSpec,
        origin: FilesOrigin,
        *,
        epoch: int,
        may_replace: MayReplace = always_replace,
    ) -> CopiedFiles:
        """Begin a conversation's volume with a copy of another's. See ``Backend.copy_files``.

        Raises ``CopyFailed``, ``Superseded``, ``SandboxUnavailable`` and ``SandboxUnreachable``.
        """
        try:
            return await self._copier.copy(spec, origin, may_replace=may_replace)
        except DockerRefused as refusal:
            raise file_copy.failed(refusal.detail) from refusal

    async def find_exit_cause(
        self, conversation_id: UUID, *, just_lost: bool = False
    ) -> ExitCause | None:
        """Why the container ended, as Docker reports it until the container is removed; None while it runs.

        Raises ``SandboxUnreachable`` if Docker does not tell, ``SandboxUnavailable`` if its address is unusable.
        """
        deadline = clock.monotonic() + (container_exit.REPORT_SECONDS if just_lost else 0)
        try:
            while (
                found := await self.inventory.find_container(conversation_id)
            ) is not None and found.exit_code is None:
                if clock.monotonic() >= deadline:
                    return None
                await asyncio.sleep(0.05)
            if found is None:
                return ExitCause(ExitKind.REMOVED)
            out_of_memory = found.was_killed and await container_exit.was_out_of_memory(
                self.engine, found
            )
        except DockerRefused as refusal:
            raise SandboxUnreachable(f"{PREFIX}Docker refused: {refusal.detail}") from refusal
        return classify_exit(
            found.exit_code or 0, out_of_memory=out_of_memory, last_output=found.error
        )

    def list_started(self) -> dict[UUID, int]:
        """The conversations that have a container, also an ended one, each with the time of this listing.

        The time is in milliseconds. Raises ``SandboxUnavailable``.
        """
        return self.inventory.list_started()

    def list_workspaces(self) -> dict[UUID, str]:
        """The conversations that have a volume, each with the volume's name. Raises ``SandboxUnavailable``."""
        return self.inventory.list_volumes()

    def remove_leftovers(self) -> int:
        """Remove volumes of skills whose container is gone. A sweep finds all else by its labels.

        Raises ``SandboxUnavailable``.
        """
        return self.inventory.remove_volumes_without_container()

    async def pause(self, conversation_id: UUID) -> bool:
        """Freeze the container's control group; False if it does not run. Raises ``SandboxUnavailable``."""
        found = await self.inventory.find_container(conversation_id)
        if found is None or not found.running:
            return False
        if not found.paused:
            await self.engine.call(lambda client: client.pause(found.id))
        return True

    async def resume(self, conversation_id: UUID) -> None:
        """Resume a paused container; does nothing if it is not paused. Raises ``SandboxUnavailable``."""
        found = await self.inventory.find_container(conversation_id)
        if found is not None and found.paused:
            await self.inventory.unpause(found)

    async def sweep(self, keep: set[UUID], started: dict[UUID, int] | None = None) -> list[UUID]:
        """Remove the containers of conversations not in ``keep``; their volumes stay. See ``Backend.sweep``."""
        listed = await asyncio.to_thread(self.list_started) if started is None else started
        ended = []
        for conversation_id, listed_at in listed.items():
            if conversation_id in keep:
                continue
            try:
                found = await self.inventory.find_container(conversation_id)
                if found is None or started is None or await self._may_be_ended(found, listed_at):
                    await self._remove_if_found(found)
                    ended.append(conversation_id)
            except SandboxUnavailable:  # the other sandboxes must still be swept
                logger.exception("sandbox could not be ended", extra={"id": str(conversation_id)})
        return ended

    async def remove_files(self, conversation_id: UUID, volume: str = "") -> bool:
        """Remove the conversation's volume; False if it has a container.

        Docker itself refuses to remove the volume of a container that was made a moment ago.
        Raises ``SandboxUnavailable``.
        """
        if await self.inventory.find_container(conversation_id) is not None:
            return False
        names = self.inventory.candidate_volumes(conversation_id, volume)
        return all([await self.inventory.remove_volume_if_unused(name) for name in names])

    async def remove(self, conversation_id: UUID, volume: str = "") -> None:
        """Remove a conversation's container and its volume for good. Raises ``SandboxUnavailable``."""
        await self.remove_container(conversation_id)
        for name in self.inventory.candidate_volumes(conversation_id, volume):
            await self.inventory.remove_volume(name)

    # --- ending -----------------------------------------------------------------------------------

    async def remove_container(self, conversation_id: UUID) -> None:
        """Kill and remove the conversation's container, if there is one, and wait until its name is free.

        Raises ``SandboxUnavailable``.
        """
        await self._remove_if_found(await self.inventory.find_container(conversation_id))

    async def _remove_if_found(self, found: Container | None) -> None:
        if found is not None:
            await self.inventory.remove_container(found.id)

    async def _may_be_ended(self, found: Container, listed_at: int) -> bool:
        """Ask the runner to end itself unless a worker has attached since ``listed_at`` (milliseconds).

        True if the container may be removed: the runner agrees, does not answer or has ended.
        """
        if not found.running:
            return found.is_old or not found.starting
        if found.paused:
            await self.inventory.unpause(found)  # the runner knows whether it was resumed just now
        try:
            attachment = await self._connect(found)
        except SandboxGone:
            return True
        try:
            unused = clock.monotonic() - listed_at / 1000 + CLOCK_MARGIN_SECONDS
            async with asyncio.timeout(ATTACH_SECONDS):
                return bool(await attachment.request("retire", unused_seconds=unused))
        except (SandboxGone, TimeoutError):
            return True
        finally:
            attachment.close()

    # --- opening ----------------------------------------------------------------------------------

    async def _attach_or_start(
        self, spec: SandboxSpec, epoch: int, may_replace: MayReplace
    ) -> ContainerAttachment:
        """Try again while another worker is making or removing the container."""
        starting_until = clock.monotonic() + STARTING_SECONDS
        while True:
            if attachment := await self._try_to_open(spec, epoch, starting_until, may_replace):
                return attachment
            await asyncio.sleep(0.05)

    async def _try_to_open(
        self, spec: SandboxSpec, epoch: int, starting_until: float, may_replace: MayReplace
    ) -> ContainerAttachment | None:
        found = await self.inventory.find_container(spec.conversation_id)
        if found is None:
            start_phases.enter("create")
            created = await self.creator.create_for_conversation(spec, epoch)
            if created is None:
                return None
            return await self.start_container(created, epoch, session=spec.session)
        if found.starting and clock.monotonic() < starting_until:
            start_phases.enter("queue")
            return None
        if found.paused:
            await self.inventory.unpause(found)
        # A worker that died before it recorded anything may have made the container on another volume.
        has_files = found.volume in self.inventory.candidate_volumes(
            spec.conversation_id, spec.volume
        )
        if found.running and has_files and (attachment := await self._reattach(found, spec, epoch)):
            attachment.resumed = found.paused
            return attachment
        if not await may_replace():
            raise Superseded
        await self._remove_if_found(found)
        return None

    async def start_container(
        self, created: Container, epoch: int, *, session: str = ""
    ) -> ContainerAttachment:
        """Start a container and attach to it. Raises ``SandboxUnavailable`` with its last output.

        The connection is made before the start, so that no output is missed.
        """
        last_output = ""
        start_phases.enter("start")
        try:
            attachment = await self._connect(created)
            try:
                await self.engine.call(
                    lambda client: client.start(created.id), seconds=CREATE_SECONDS
                )
                await attachment.attach(epoch=epoch, seconds=ATTACH_SECONDS, session=session)
            except BaseException:
                last_output = attachment.stderr_text
                attachment.close()
                raise
        except (DockerRefused, SandboxGone, TimeoutError) as error:
            code = await container_exit.wait_for_exit_code(self.engine, created)
            await self._remove_if_found(created)
            last_output = error.detail if isinstance(error, DockerRefused) else last_output
            raise container_exit.start_error(last_output, code) from error
        return attachment

    async def _reattach(
        self, found: Container, spec: SandboxSpec, epoch: int
    ) -> ContainerAttachment | None:
        """An attachment to a running container; None if its runner does not answer."""
        try:
            attachment = await self._connect(found)
            await attachment.attach(
                epoch=epoch,
                seconds=ATTACH_SECONDS,
                unattended_seconds=self._idle_policy.unattended_seconds(spec),
                session=spec.session,
            )
        except (DockerRefused, SandboxGone, TimeoutError):
            logger.warning("sandbox does not answer and is replaced", extra={"id": found.id})
            return None
        except SandboxUnreachable:
            await self.engine.call(lambda client: client.ping())
            # Docker answers, so only this container hangs: Docker copies its output to all clients and
            # waits for the slowest. After a kill Docker would not answer for this container at all.
            raise SandboxUnreachable(BLOCKED) from None
        return attachment

    async def _connect(self, found: Container) -> ContainerAttachment:
        return await ContainerAttachment.connect(
            self.engine,
            found.id,
            ping_interval=min(5.0, self._idle_policy.idle_seconds / 4),
            seconds=ATTACH_SECONDS,
        )
