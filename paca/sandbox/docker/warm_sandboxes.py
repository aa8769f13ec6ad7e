"""Sandboxes of the warm pool on a Docker daemon: containers that are started before a conversation needs one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import UUID, uuid4

from paca.engine.workspace import SandboxUnavailable
from paca.sandbox.base import SandboxSpec
from paca.sandbox.docker import container
from paca.sandbox.docker.engine import PREFIX, DockerRefused
from paca.sandbox.docker.stream import ContainerAttachment

if TYPE_CHECKING:
    from paca.sandbox.docker.backend import Docker

NO_EPOCH = 0  # lower than the epoch of every lease


@dataclass(frozen=True, slots=True)
class WarmSandbox:
    """A started container without a conversation, attached to by the worker that made it.

    ``volume``: its empty workspace. ``container``: its id. ``image``: the digest of its image.
    """

    volume: str
    container: str
    image: str
    attachment: ContainerAttachment

    @property
    def lost(self) -> bool:
        """Whether the connection to its runner is gone for good."""
        return self.attachment.lost


class WarmSandboxes:
    """Creates, assigns and removes the warm sandboxes of one installation.

    A container is assigned to a conversation by renaming it. A volume cannot be renamed, so the caller
    must record which conversation it belongs to before.
    """

    def __init__(self, docker: Docker) -> None:
        self._docker = docker
        self._inventory = docker.inventory

    def new_volume(self) -> str:
        """A name for the volume of a new sandbox."""
        return container.volume_name(self._inventory.install_id, uuid4())

    async def image_id(self) -> str:
        """The digest of the image for new sandboxes, which may have been built again. Raises ``SandboxUnavailable``."""
        return await self._docker.creator.image_id()

    async def create(self, spec: SandboxSpec, volume: str, *, owner: str) -> WarmSandbox:
        """Start a sandbox on the volume. ``owner``: the id of this worker. Raises ``SandboxUnavailable``."""
        labels = container.labels(self._inventory.install_id, owner=owner)
        image = await self.image_id()
        created = await self._docker.creator.create(
            spec, NO_EPOCH, name=self._name(volume), volume=volume, labels=labels
        )
        if created is None:
            raise SandboxUnavailable(f"{PREFIX}there is a container for {volume} already.")
        return WarmSandbox(
            volume, created.id, image, await self._docker.start_container(created, NO_EPOCH)
        )

    async def assign(self, warm: WarmSandbox, conversation_id: UUID) -> bool:
        """Rename the container, so that the conversation's sandbox is opened in it from now on.

        False if the container is gone or the conversation already has one. Raises ``SandboxUnavailable``.
        """
        name = container.container_name(self._inventory.install_id, conversation_id)
        try:
            await self._docker.engine.call(lambda client: client.rename(warm.container, name))
        except DockerRefused:
            return False
        warm.attachment.close()
        return True

    def list_all(self) -> dict[str, str]:
        """The volumes of all warm sandboxes, also ended ones, each with the worker that made it. Raises ``SandboxUnavailable``."""
        prefix = self._name("")
        return {
            volume: listed["Labels"].get(container.OWNER_LABEL, "")
            for listed in self._inventory.list_containers()
            for name in listed["Names"]
            if name.startswith(f"/{prefix}")
            for volume in [name.removeprefix(f"/{prefix}")]
        }

    async def remove_container(self, volume: str) -> None:
        """Remove the container of a volume, unless a conversation has it: it then has another name.

        Raises ``SandboxUnavailable``.
        """
        await self._inventory.remove_container(self._name(volume))

    async def remove_volume(self, volume: str) -> None:
        """Remove a volume that no row names any more, so that no conversation can get it.

        Raises ``SandboxUnavailable``.
        """
        await self._inventory.remove_volume(volume)

    def _name(self, volume: str) -> str:
        return container.container_name(self._inventory.install_id, f"ready-{volume}")
