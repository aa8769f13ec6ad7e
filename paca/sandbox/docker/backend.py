"""Sandboxes made with Docker: a container a conversation, its workspace in a volume."""

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
from paca.sandbox.base import (
    IdlePolicy,
    MayReplace,
    Sandbox,
    SandboxSpec,
    always_replace,
    new_probe_id,
)
from paca.sandbox.docker import container, exit_cause, image, self_test
from paca.sandbox.docker.container import Container
from paca.sandbox.docker.engine import PREFIX, DockerEngine, DockerRefused
from paca.sandbox.docker.image import DEFAULT_IMAGE as DEFAULT_IMAGE
from paca.sandbox.docker.inventory import CONFLICT, Inventory
from paca.sandbox.docker.stream import ContainerAttachment
from paca.sandbox.exit_cause import ExitCause, ExitKind, classify_exit
from paca.sandbox.runner_workspace import RunnerWorkspace

logger = logging.getLogger(__name__)
OPEN_SECONDS = 60.0
ATTACH_SECONDS = 10.0
CREATE_SECONDS = 40.0  # a busy disk makes a volume and its first files slowly
STARTING_SECONDS = 20.0  # a container not started by then is left from a worker that died meanwhile
HELD_UP = (
    "Docker lets nobody in to this sandbox: somebody who is attached to it reads nothing, such as a worker "
    "that was stopped or whose machine sleeps. Let that worker go on, or end it."
)
RACE_SECONDS = 2.0  # between our clock and the runner's, each way


class DockerSandbox(RunnerWorkspace):
    """One conversation's container."""

    def __init__(
        self, attachment: ContainerAttachment, backend: "Docker", spec: SandboxSpec
    ) -> None:
        super().__init__(attachment, spec.environment)
        self._backend = backend
        self._spec = spec

    async def destroy(self, *, keep_files: bool = True) -> None:
        await self.detach()
        if keep_files:
            await self._backend.remove_container(self._spec.conversation_id)
        else:
            await self._backend.delete(self._spec.conversation_id, self._spec.volume)


class Docker:
    """The backend. All containers labelled with ``install_id`` are this installation's, whichever of
    its workers made them; the others on the daemon are left alone."""

    name = "docker"

    def __init__(
        self,
        engine: DockerEngine,
        install_id: str,
        *,
        image: str,
        idle_seconds: float = 180,
        paused_seconds: float = 3600,
    ) -> None:
        self.engine = engine
        self.inventory = Inventory(engine, install_id)
        self._image = image
        self._idle_policy = IdlePolicy(idle_seconds, paused_seconds)
        self.description = ""

    # --- Backend ----------------------------------------------------------------------------------

    async def probe(self) -> None:
        """Start a sandbox, see in it that every promise is kept, and end it again."""
        spec = SandboxSpec(new_probe_id())
        try:
            daemon = await self.engine.call(lambda client: client.version())
            sandbox = await self.open(spec, epoch=1)
            try:
                self.description = await self_test.run_self_test(sandbox, spec, daemon, self._image)
            finally:
                await sandbox.detach()
        except SandboxGone as loss:
            raise SandboxUnavailable(f"{PREFIX}the container ended by itself.") from loss
        finally:
            await self.delete(spec.conversation_id)

    async def check(self) -> None:
        """Whether the daemon answers and has the image: what can change after it once worked."""
        await self.image_id()

    async def open(
        self, spec: SandboxSpec, *, epoch: int, may_replace: MayReplace = always_replace
    ) -> Sandbox:
        """Attach to the conversation's container, or start one on its kept volume."""
        try:
            async with asyncio.timeout(OPEN_SECONDS):
                attachment = await self._attach_or_start(spec, epoch, may_replace)
        except TimeoutError:
            raise SandboxUnreachable(
                f"The sandbox did not come up within {OPEN_SECONDS:g} seconds: Docker is slow, or another "
                "worker is busy with it."
            ) from None
        except DockerRefused as refusal:
            raise SandboxUnavailable(f"{PREFIX}Docker refused: {refusal.detail}") from refusal
        return DockerSandbox(attachment, self, spec)

    async def exit_cause(
        self, conversation_id: UUID, *, just_lost: bool = False
    ) -> ExitCause | None:
        """As the daemon tells it of the container that ended, which stays until it is removed."""
        end = clock.monotonic() + (exit_cause.REPORT_SECONDS if just_lost else 0)
        try:
            while (
                found := await self.inventory.find_container(conversation_id)
            ) is not None and found.exit_code is None:
                if clock.monotonic() >= end:
                    return None
                await asyncio.sleep(0.05)
            if found is None:
                return ExitCause(ExitKind.REMOVED)
            out_of_memory = found.may_be_out_of_memory and await exit_cause.was_out_of_memory(
                self.engine, found
            )
        except DockerRefused as refusal:
            raise SandboxUnreachable(f"{PREFIX}Docker refused: {refusal.detail}") from refusal
        return classify_exit(
            found.exit_code or 0, out_of_memory=out_of_memory, last_output=found.error
        )

    def list_running(self) -> dict[UUID, int]:
        return self.inventory.list_running()

    def list_workspaces(self) -> dict[UUID, str]:
        return self.inventory.list_volumes()

    def remove_leftovers(self) -> int:
        """Nothing: whatever is half made has its label."""
        return 0

    async def pause(self, conversation_id: UUID) -> bool:
        """By the kernel's freezer of its control group."""
        found = await self.inventory.find_container(conversation_id)
        if found is None or not found.running:
            return False
        if not found.paused:
            await self.engine.call(lambda client: client.pause(found.id))
        return True

    async def resume(self, conversation_id: UUID) -> None:
        """Let it go on, if it is paused."""
        found = await self.inventory.find_container(conversation_id)
        if found is not None and found.paused:
            await self.inventory.unpause(found)

    async def sweep(self, keep: set[UUID], running: dict[UUID, int] | None = None) -> list[UUID]:
        """End the containers of conversations not in ``keep``; their volumes stay."""
        seen = await asyncio.to_thread(self.list_running) if running is None else running
        ended = []
        for conversation_id, listed_at in seen.items():
            if conversation_id in keep:
                continue
            try:
                found = await self.inventory.find_container(conversation_id)
                if found is None or running is None or await self._may_be_ended(found, listed_at):
                    await self._remove_if_found(found)
                    ended.append(conversation_id)
            except SandboxUnavailable:  # the others shall not wait for this one
                logger.exception("a sandbox could not be ended", extra={"id": str(conversation_id)})
        return ended

    async def remove_files(self, conversation_id: UUID, volume: str = "") -> bool:
        """Docker itself refuses what a container has, also one that was made in this moment."""
        if await self.inventory.find_container(conversation_id) is not None:
            return False
        names = self.inventory.candidate_volumes(conversation_id, volume)
        return all([await self.inventory.remove_volume_if_unused(name) for name in names])

    async def delete(self, conversation_id: UUID, volume: str = "") -> None:
        """Remove a conversation's container and its volume for good."""
        await self.remove_container(conversation_id)
        for name in self.inventory.candidate_volumes(conversation_id, volume):
            await self.inventory.remove_volume(name)

    # --- ends -------------------------------------------------------------------------------------

    async def remove_container(self, conversation_id: UUID) -> None:
        """Kill and remove the container, if there is one; returns when its name is free."""
        await self._remove_if_found(await self.inventory.find_container(conversation_id))

    async def _remove_if_found(self, found: Container | None) -> None:
        if found is not None:
            await self.inventory.remove_container(found.id)

    async def _may_be_ended(self, found: Container, listed_at: int) -> bool:
        """Let the runner end itself unless somebody has attached since; one without a word may go."""
        if not found.running:
            return found.abandoned or not found.starting
        if found.paused:
            await self.inventory.unpause(
                found
            )  # it knows best whether somebody has just resumed it
        try:
            attachment = await self._connect(found)
        except SandboxGone:
            return True
        try:
            unused = clock.monotonic() - listed_at / 1000 + RACE_SECONDS
            async with asyncio.timeout(ATTACH_SECONDS):
                return bool(await attachment.request("retire", unused_seconds=unused))
        except (SandboxGone, TimeoutError):
            return True
        finally:
            attachment.close()

    # --- one container ------------------------------------------------------------------------------

    async def image_id(self) -> str:
        """The image by its digest; it must hold the runner that this Paca speaks with."""
        return await image.find_image_id(self.engine, self._image)

    async def _attach_or_start(
        self, spec: SandboxSpec, epoch: int, may_replace: MayReplace
    ) -> ContainerAttachment:
        """Again and again, while another worker just makes or removes it."""
        patient_until = clock.monotonic() + STARTING_SECONDS
        while True:
            if attachment := await self._try_to_open(spec, epoch, patient_until, may_replace):
                return attachment
            await asyncio.sleep(0.05)

    async def _try_to_open(
        self, spec: SandboxSpec, epoch: int, patient_until: float, may_replace: MayReplace
    ) -> ContainerAttachment | None:
        found = await self.inventory.find_container(spec.conversation_id)
        if found is None:
            found = await self._create(spec, epoch)
            return None if found is None else await self.start_container(found, epoch)
        if found.starting and clock.monotonic() < patient_until:
            return None
        if found.paused:
            await self.inventory.unpause(found)
        # Of a worker that said nothing of it before it died, it may be in another volume than the files.
        is_its = found.volume in self.inventory.candidate_volumes(spec.conversation_id, spec.volume)
        if found.running and is_its and (again := await self._reattach(found, spec, epoch)):
            again.resumed = found.paused
            return again
        if not await may_replace():
            raise Superseded
        await self._remove_if_found(found)
        return None

    async def _create(self, spec: SandboxSpec, epoch: int) -> Container | None:
        install_id = self.inventory.install_id
        volume = await self.inventory.choose_volume(spec)
        labels = container.labels(install_id, spec.conversation_id)
        for name in container.possible_names(install_id, spec.conversation_id):
            made = await self.create_container(spec, epoch, name=name, volume=volume, labels=labels)
            if made is not None or not await self.inventory.is_foreign(name):
                return made
        return None

    async def create_container(
        self, spec: SandboxSpec, epoch: int, *, name: str, volume: str, labels: dict[str, str]
    ) -> Container | None:
        """A new container; None if another worker was faster, or the one before is just going."""
        body = container.configuration(
            spec,
            image=await self.image_id(),
            labels=labels,
            volume=volume,
            epoch=epoch,
            orphan_seconds=self._idle_policy.orphan_seconds(spec),
        )
        try:
            made = await self.engine.call(
                lambda client: client.create_container_from_config(body, name),
                seconds=CREATE_SECONDS,
            )
        except DockerRefused as refusal:
            if refusal.http_status == CONFLICT:
                return None
            raise
        return Container(made["Id"], running=False, starting=True)

    async def start_container(self, found: Container, epoch: int) -> ContainerAttachment:
        """Attach first, then start: so nothing is missed, not even why it does not start."""
        said = ""
        try:
            attachment = await self._connect(found)
            try:
                await self.engine.call(
                    lambda client: client.start(found.id), seconds=CREATE_SECONDS
                )
                await attachment.attach(epoch=epoch, seconds=ATTACH_SECONDS)
            except BaseException:
                said = attachment.stderr_text
                attachment.close()
                raise
        except (DockerRefused, SandboxGone, TimeoutError) as error:
            code = await exit_cause.wait_for_exit_code(self.engine, found)
            await self._remove_if_found(found)
            said = error.detail if isinstance(error, DockerRefused) else said
            raise exit_cause.start_error(said, code) from error
        return attachment

    async def _reattach(
        self, found: Container, spec: SandboxSpec, epoch: int
    ) -> ContainerAttachment | None:
        try:
            attachment = await self._connect(found)
            await attachment.attach(
                epoch=epoch,
                seconds=ATTACH_SECONDS,
                orphan_seconds=self._idle_policy.orphan_seconds(spec),
            )
        except (DockerRefused, SandboxGone, TimeoutError):
            logger.warning("a sandbox does not answer and is replaced", extra={"id": found.id})
            return None
        except SandboxUnreachable:
            await self.engine.call(lambda client: client.ping())
            # Docker answers, so it is this container: it gives each word to all who are attached, and
            # waits for the slowest. To kill it would only make Docker silent about it altogether.
            raise SandboxUnreachable(HELD_UP) from None
        return attachment

    async def _connect(self, found: Container) -> ContainerAttachment:
        return await ContainerAttachment.connect(
            self.engine,
            found.id,
            ping_interval=min(5.0, self._idle_policy.idle_seconds / 4),
            seconds=ATTACH_SECONDS,
        )
