"""What setup commands installed: the volume of the container that ran them."""

from uuid import UUID

from paca.sandbox.docker import container
from paca.sandbox.docker.creation import ContainerCreator
from paca.sandbox.docker.engine import DockerEngine
from paca.sandbox.docker.inventory import Inventory


class DockerSetups:
    """Satisfies ``SetupFiles`` for one daemon and installation."""

    def __init__(
        self, engine: DockerEngine, inventory: Inventory, creator: ContainerCreator
    ) -> None:
        self._engine = engine
        self._inventory = inventory
        self._creator = creator

    async def place(self) -> str:
        """The id of the daemon. Raises ``SandboxUnavailable``."""
        found = await self._engine.call(lambda client: client.info())
        return f"{found['ID']} {self._inventory.install_id}"

    async def image_digest(self, image: str) -> str:
        """The digest of the image of a new container. Raises ``SandboxUnavailable`` and ``SandboxBroken``."""
        return await self._creator.image_id(image)

    async def exists(self, files: UUID) -> bool:
        """Whether the volume is there. Raises ``SandboxUnavailable``."""
        name = container.volume_name(self._inventory.install_id, files)
        return await self._inventory.has_volume(name)
