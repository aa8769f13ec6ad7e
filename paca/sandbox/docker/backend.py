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
from paca.sandbox.base import MayReplace, Patience, Sandbox, SandboxSpec, always, probe_id
from paca.sandbox.docker import container, exit_cause, image
from paca.sandbox.docker import self_test as selftest
from paca.sandbox.docker.container import Found
from paca.sandbox.docker.engine import PREFIX, Engine, Refused
from paca.sandbox.docker.image import DEFAULT_IMAGE as DEFAULT_IMAGE
from paca.sandbox.docker.inventory import TAKEN, Holdings
from paca.sandbox.docker.stream import ContainerAttachment
from paca.sandbox.exit_cause import End, Loss, judged
from paca.sandbox.runner_workspace import AttachedWorkspace

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


class DockerSandbox(AttachedWorkspace):
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
            await self._backend.remove(self._spec.conversation_id)
        else:
            await self._backend.forget(self._spec.conversation_id, self._spec.volume)


class Docker:
    """The backend. All containers labelled with ``install_id`` are this installation's, whichever of
    its workers made them; the others on the daemon are left alone."""

    name = "docker"

    def __init__(
        self,
        engine: Engine,
        install_id: str,
        *,
        image: str,
        idle_seconds: float = 180,
        paused_seconds: float = 3600,
    ) -> None:
        self.engine = engine
        self.holdings = Holdings(engine, install_id)
        self._image = image
        self._patience = Patience(idle_seconds, paused_seconds)
        self.facts = ""

    # --- Backend ----------------------------------------------------------------------------------

    async def probe(self) -> None:
        """Start a sandbox, see in it that every promise is kept, and end it again."""
        spec = SandboxSpec(probe_id())
        try:
            daemon = await self.engine.call(lambda client: client.version())
            sandbox = await self.open(spec, epoch=1)
            try:
                self.facts = await selftest.examine(sandbox, spec, daemon, self._image)
            finally:
                await sandbox.detach()
        except SandboxGone as loss:
            raise SandboxUnavailable(f"{PREFIX}the container ended by itself.") from loss
        finally:
            await self.forget(spec.conversation_id)

    async def check(self) -> None:
        """Whether the daemon answers and has the image: what can change after it once worked."""
        await self.image_id()

    async def open(
        self, spec: SandboxSpec, *, epoch: int, may_replace: MayReplace = always
    ) -> Sandbox:
        """Attach to the conversation's container, or start one on its kept volume."""
        try:
            async with asyncio.timeout(OPEN_SECONDS):
                attachment = await self._opened_by_one(spec, epoch, may_replace)
        except TimeoutError:
            raise SandboxUnreachable(
                f"The sandbox did not come up within {OPEN_SECONDS:g} seconds: Docker is slow, or another "
                "worker is busy with it."
            ) from None
        except Refused as refusal:
            raise SandboxUnavailable(f"{PREFIX}Docker refused: {refusal.detail}") from refusal
        return DockerSandbox(attachment, self, spec)

    async def loss(self, conversation_id: UUID, *, was_held: bool = False) -> Loss | None:
        """As the daemon tells it of the container that ended, which stays until it is removed."""
        end = clock.monotonic() + (exit_cause.KNOWN_SECONDS if was_held else 0)
        try:
            while (
                found := await self.holdings.find(conversation_id)
            ) is not None and found.exit_code is None:
                if clock.monotonic() >= end:
                    return None
                await asyncio.sleep(0.05)
            if found is None:
                return Loss(End.REMOVED)
            starved = found.may_have_starved and await exit_cause.has_starved(self.engine, found)
        except Refused as refusal:
            raise SandboxUnreachable(f"{PREFIX}Docker refused: {refusal.detail}") from refusal
        return judged(found.exit_code or 0, out_of_memory=starved, said=found.said)

    def lives(self) -> dict[UUID, int]:
        return self.holdings.lives()

    def kept(self) -> dict[UUID, str]:
        return self.holdings.volumes()

    def tidy(self) -> int:
        """Nothing: whatever is half made has its label."""
        return 0

    async def pause(self, conversation_id: UUID) -> bool:
        """By the kernel's freezer of its control group."""
        found = await self.holdings.find(conversation_id)
        if found is None or not found.running:
            return False
        if not found.paused:
            await self.engine.call(lambda client: client.pause(found.id))
        return True

    async def wake(self, conversation_id: UUID) -> None:
        """Let it go on, if it is paused."""
        found = await self.holdings.find(conversation_id)
        if found is not None and found.paused:
            await self.holdings.unpause(found)

    async def sweep(self, keep: set[UUID], lives: dict[UUID, int] | None = None) -> list[UUID]:
        """End the containers of conversations not in ``keep``; their volumes stay."""
        seen = await asyncio.to_thread(self.lives) if lives is None else lives
        ended = []
        for conversation_id, seen_at in seen.items():
            if conversation_id in keep:
                continue
            try:
                found = await self.holdings.find(conversation_id)
                if found is None or lives is None or await self._retired(found, seen_at):
                    await self._remove(found)
                    ended.append(conversation_id)
            except SandboxUnavailable:  # the others shall not wait for this one
                logger.exception("a sandbox could not be ended", extra={"id": str(conversation_id)})
        return ended

    async def free(self, conversation_id: UUID, volume: str = "") -> bool:
        """Docker itself refuses what a container has, also one that was made in this moment."""
        if await self.holdings.find(conversation_id) is not None:
            return False
        names = self.holdings.volumes_of(conversation_id, volume)
        return all([await self.holdings.free(name) for name in names])

    async def forget(self, conversation_id: UUID, volume: str = "") -> None:
        """Remove a conversation's container and its volume for good."""
        await self.remove(conversation_id)
        for name in self.holdings.volumes_of(conversation_id, volume):
            await self.holdings.remove_volume(name)

    # --- ends -------------------------------------------------------------------------------------

    async def remove(self, conversation_id: UUID) -> None:
        """Kill and remove the container, if there is one; returns when its name is free."""
        await self._remove(await self.holdings.find(conversation_id))

    async def _remove(self, found: Found | None) -> None:
        if found is not None:
            await self.holdings.remove(found.id)

    async def _retired(self, found: Found, seen_at: int) -> bool:
        """Let the runner end itself unless somebody has attached since; one without a word may go."""
        if not found.running:
            return found.left or not found.starting
        if found.paused:
            await self.holdings.unpause(found)  # it knows best whether somebody has just resumed it
        try:
            attachment = await self._connected(found)
        except SandboxGone:
            return True
        try:
            unused = clock.monotonic() - seen_at / 1000 + RACE_SECONDS
            async with asyncio.timeout(ATTACH_SECONDS):
                return bool(await attachment.request("retire", unused_seconds=unused))
        except (SandboxGone, TimeoutError):
            return True
        finally:
            attachment.close()

    # --- one container ------------------------------------------------------------------------------

    async def image_id(self) -> str:
        """The image by its digest; it must hold the runner that this Paca speaks with."""
        return await image.usable(self.engine, self._image)

    async def _opened_by_one(
        self, spec: SandboxSpec, epoch: int, may_replace: MayReplace
    ) -> ContainerAttachment:
        """Again and again, while another worker just makes or removes it."""
        patient_until = clock.monotonic() + STARTING_SECONDS
        while True:
            if attachment := await self._opened(spec, epoch, patient_until, may_replace):
                return attachment
            await asyncio.sleep(0.05)

    async def _opened(
        self, spec: SandboxSpec, epoch: int, patient_until: float, may_replace: MayReplace
    ) -> ContainerAttachment | None:
        found = await self.holdings.find(spec.conversation_id)
        if found is None:
            found = await self._created(spec, epoch)
            return None if found is None else await self.started(found, epoch)
        if found.starting and clock.monotonic() < patient_until:
            return None
        if found.paused:
            await self.holdings.unpause(found)
        # Of a worker that said nothing of it before it died, it may be in another volume than the files.
        is_its = found.volume in self.holdings.volumes_of(spec.conversation_id, spec.volume)
        if found.running and is_its and (again := await self._reattached(found, spec, epoch)):
            again.resumed = found.paused
            return again
        if not await may_replace():
            raise Superseded
        await self._remove(found)
        return None

    async def _created(self, spec: SandboxSpec, epoch: int) -> Found | None:
        install_id = self.holdings.install_id
        volume = await self.holdings.volume_for(spec)
        labels = container.labels(install_id, spec.conversation_id)
        for name in container.names_of(install_id, spec.conversation_id):
            made = await self.created(spec, epoch, name=name, volume=volume, labels=labels)
            if made is not None or not await self.holdings.is_taken_by_a_stranger(name):
                return made
        return None

    async def created(
        self, spec: SandboxSpec, epoch: int, *, name: str, volume: str, labels: dict[str, str]
    ) -> Found | None:
        """A new container; None if another worker was faster, or the one before is just going."""
        body = container.configuration(
            spec,
            image=await self.image_id(),
            labels=labels,
            volume=volume,
            epoch=epoch,
            orphan_seconds=self._patience.lasting(spec),
        )
        try:
            made = await self.engine.call(
                lambda client: client.create_container_from_config(body, name),
                seconds=CREATE_SECONDS,
            )
        except Refused as refusal:
            if refusal.http_status == TAKEN:
                return None
            raise
        return Found(made["Id"], running=False, starting=True)

    async def started(self, found: Found, epoch: int) -> ContainerAttachment:
        """Attach first, then start: so nothing is missed, not even why it does not start."""
        said = ""
        try:
            attachment = await self._connected(found)
            try:
                await self.engine.call(
                    lambda client: client.start(found.id), seconds=CREATE_SECONDS
                )
                await attachment.attach(epoch=epoch, seconds=ATTACH_SECONDS)
            except BaseException:
                said = attachment.said
                attachment.close()
                raise
        except (Refused, SandboxGone, TimeoutError) as error:
            code = await exit_cause.ended_with(self.engine, found)
            await self._remove(found)
            said = error.detail if isinstance(error, Refused) else said
            raise exit_cause.start_failed(said, code) from error
        return attachment

    async def _reattached(
        self, found: Found, spec: SandboxSpec, epoch: int
    ) -> ContainerAttachment | None:
        try:
            attachment = await self._connected(found)
            await attachment.attach(
                epoch=epoch, seconds=ATTACH_SECONDS, orphan_seconds=self._patience.lasting(spec)
            )
        except (Refused, SandboxGone, TimeoutError):
            logger.warning("a sandbox does not answer and is replaced", extra={"id": found.id})
            return None
        except SandboxUnreachable:
            await self.engine.call(lambda client: client.ping())
            # Docker answers, so it is this container: it gives each word to all who are attached, and
            # waits for the slowest. To kill it would only make Docker silent about it altogether.
            raise SandboxUnreachable(HELD_UP) from None
        return attachment

    async def _connected(self, found: Found) -> ContainerAttachment:
        return await ContainerAttachment.to(
            self.engine,
            found.id,
            alive_every=min(5.0, self._patience.idle_seconds / 4),
            seconds=ATTACH_SECONDS,
        )
