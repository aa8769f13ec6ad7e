"""Containers that stand ready, started and empty, before any conversation wants one."""

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

NO_EPOCH = 0  # below that of every lease


@dataclass(frozen=True, slots=True)
class WarmSandbox:
    """A container that waits, held by the worker that made it; ``volume`` is its empty workspace."""

    volume: str
    container: str
    image: str
    attachment: ContainerAttachment

    @property
    def lost(self) -> bool:
        return self.attachment.lost


class DockerWarmPool:
    """What stands ready on a daemon. A container can be renamed, so it becomes a conversation's by its
    name; a volume cannot, so somebody has to remember whose it is, and be sure of it before."""

    def __init__(self, docker: Docker) -> None:
        self._docker = docker
        self._inventory = docker.inventory

    def new_volume(self) -> str:
        """The name of one that is to be made."""
        return container.volume_name(self._inventory.install_id, uuid4())

    async def image_id(self) -> str:
        """What the next one will be made from, by its digest: it may have been made anew."""
        return await self._docker.image_id()

    async def create(self, spec: SandboxSpec, volume: str, *, owner: str) -> WarmSandbox:
        """Start one as ``spec`` says, in the volume. Raises ``SandboxUnavailable``."""
        labels, image = (
            container.labels(self._inventory.install_id, owner=owner),
            await self.image_id(),
        )
        found = await self._docker.create_container(
            spec, NO_EPOCH, name=self._name(volume), volume=volume, labels=labels
        )
        if found is None:
            raise SandboxUnavailable(f"{PREFIX}there is a container for {volume} already.")
        return WarmSandbox(
            volume, found.id, image, await self._docker.start_container(found, NO_EPOCH)
        )

    async def assign(self, ready: WarmSandbox, to: UUID) -> bool:
        """Give it the conversation's name, by which it is opened from now on; False if it is gone, or
        the conversation has one."""
        name = container.container_name(self._inventory.install_id, to)
        try:
            await self._docker.engine.call(lambda client: client.rename(ready.container, name))
        except DockerRefused:
            return False
        ready.attachment.close()
        return True

    def list_all(self) -> dict[str, str]:
        """The volumes of all that stand ready, or did, each with the worker that made it."""
        prefix = self._name("")
        return {
            volume: each["Labels"].get(container.OWNER_LABEL, "")
            for each in self._inventory.list_containers()
            for name in each["Names"]
            if name.startswith(f"/{prefix}")
            for volume in [name.removeprefix(f"/{prefix}")]
        }

    async def remove_container(self, volume: str) -> None:
        """Remove the container, unless a conversation has it by now: then it has no such name."""
        await self._inventory.remove_container(self._name(volume))

    async def remove_volume(self, volume: str) -> None:
        """For one that nobody remembers and nobody can take any more."""
        await self._inventory.remove_volume(volume)

    def _name(self, volume: str) -> str:
        return container.container_name(self._inventory.install_id, f"ready-{volume}")
