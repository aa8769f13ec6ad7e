"""Creates containers of sandboxes, without starting them."""

from dataclasses import replace

from paca.engine.context.skills import SKILLS_FOLDER
from paca.sandbox.base import IdlePolicy, SandboxSpec
from paca.sandbox.docker import container, image, skill_files
from paca.sandbox.docker.container import Container
from paca.sandbox.docker.engine import CONFLICT, DockerEngine, DockerRefused
from paca.sandbox.docker.host_paths import HostPaths
from paca.sandbox.docker.inventory import Inventory

CREATE_SECONDS = 40.0  # a busy disk makes a volume and its first files slowly


class ContainerCreator:
    """Creates containers. ``image_name``: as the setting AGENT_SANDBOX_IMAGE names the default image. ``runtime``: that
    of the setting SANDBOX_RUNTIME; empty for the default of the daemon."""

    def __init__(
        self,
        engine: DockerEngine,
        inventory: Inventory,
        image_name: str,
        idle_policy: IdlePolicy,
        *,
        runtime: str = "",
    ) -> None:
        self.image_name = image_name
        self.runtime = runtime
        self._engine = engine
        self._inventory = inventory
        self._idle_policy = idle_policy
        self._host_paths = HostPaths(engine)

    async def image_id(self, chosen: str = "") -> str:
        """The digest of the chosen image, else of the default one.

        Raises ``SandboxUnavailable`` if it is missing or its runner does not fit this Paca, and ``SandboxBroken`` if it
        was chosen.
        """
        if chosen and chosen != self.image_name:
            return await image.find_chosen_image_id(self._engine, chosen)
        return await image.find_image_id(self._engine, self.image_name)

    async def create_for_conversation(self, spec: SandboxSpec, epoch: int) -> Container | None:
        """The new container of a conversation; None if another worker was faster.

        Raises ``SandboxUnavailable``.
        """
        install_id = self._inventory.install_id
        volume = await self._inventory.choose_volume(spec)
        labels = container.labels(install_id, spec.conversation_id)
        for name in container.possible_names(install_id, spec.conversation_id):
            created = await self.create(spec, epoch, name=name, volume=volume, labels=labels)
            if created is not None or not await self._inventory.is_foreign(name):
                return created
        return None

    async def create(
        self, spec: SandboxSpec, epoch: int, *, name: str, volume: str, labels: dict[str, str]
    ) -> Container | None:
        """A new container; None if its name is taken, by another worker or by one that is being removed.

        Raises ``SandboxUnavailable``.
        """
        on_host = spec
        if spec.gate is not None:
            on_host = replace(on_host, gate=await self._host_paths.find(spec.gate))
        if spec.cache is not None:
            on_host = replace(on_host, cache=await self._host_paths.find(spec.cache))
        body = container.configuration(
            on_host,
            image=await self.image_id(spec.image),
            labels=labels,
            volume=volume,
            epoch=epoch,
            unattended_seconds=self._idle_policy.unattended_seconds(spec),
            runtime=self.runtime,
        )
        try:
            created = await self._engine.call(
                lambda client: client.create_container_from_config(body, name),
                seconds=CREATE_SECONDS,
            )
        except DockerRefused as refusal:
            if refusal.http_status == CONFLICT:
                return None
            raise
        if spec.read_files is not None:
            # A container without its files is not started: if this worker dies here, the next one replaces it.
            files = skill_files.archive(await spec.read_files())
            await self._engine.call(
                lambda client: client.put_archive(created["Id"], SKILLS_FOLDER, files),
                seconds=CREATE_SECONDS,
            )
        return Container(created["Id"], running=False, starting=True)
