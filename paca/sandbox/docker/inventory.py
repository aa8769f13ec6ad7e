"""The containers and volumes of one installation on a Docker daemon: finds, lists and removes them."""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any
from uuid import UUID

from paca.common import clock
from paca.sandbox.base import SandboxSpec, is_probe_id
from paca.sandbox.docker import container
from paca.sandbox.docker.container import Container
from paca.sandbox.docker.engine import CONFLICT, NOT_FOUND, DockerEngine, DockerRefused

logger = logging.getLogger(__name__)
REMOVE_SECONDS = 20.0


class Inventory:
    """Everything that is labelled with ``install_id``, whichever worker made it. The rest is left alone."""

    def __init__(self, engine: DockerEngine, install_id: str) -> None:
        self._engine = engine
        self.install_id = install_id

    def list_started(self) -> dict[UUID, int]:
        """The conversations that have a container, also an ended one, each with the time of this listing.

        The time is that of the monotonic clock, in milliseconds. Containers of probes, and those that a
        worker is about to start, are left out. Raises ``SandboxUnavailable``.
        """
        found = self.list_containers()
        now = int(clock.monotonic() * 1000)
        return {
            conversation_id: now
            for listed in found
            if (
                conversation_id := container.conversation_from_names(
                    self.install_id, listed["Names"]
                )
            )
            if container.is_old(listed["Created"])
            or not (listed["State"] == "created" or is_probe_id(conversation_id))
        }

    def list_volumes(self) -> dict[UUID, str]:
        """The volumes by conversation, without those of probes that may still run. Raises ``SandboxUnavailable``."""
        found = self._engine.call_sync(
            lambda client: client.volumes(filters={"label": self._label_filter})
        )
        return {
            conversation_id: listed["Name"]
            for listed in found["Volumes"] or ()
            if (conversation_id := container.conversation_from_volume(listed["Name"]))
            if not is_probe_id(conversation_id)
            or container.is_old(container.parse_time(listed["CreatedAt"]))
        }

    def remove_volumes_without_container(self) -> int:
        """Remove volumes without a name whose container is gone, and give their number.

        Docker keeps them if others than Paca remove a container. Named volumes hold files of conversations:
        they stay. Raises ``SandboxUnavailable``.
        """
        filters = {"label": self._label_filter, "dangling": "true"}
        found = self._engine.call_sync(lambda client: client.volumes(filters=filters))
        removed = 0
        for listed in found["Volumes"] or ():
            name = listed["Name"]
            if container.conversation_from_volume(name) is None:
                with suppress(DockerRefused):  # another process has just removed it
                    self._engine.call_sync(partial(_remove_volume, name))
                    removed += 1
        return removed

    def list_containers(self) -> list[dict[str, Any]]:
        """All containers as Docker lists them, also ended ones. Raises ``SandboxUnavailable``."""
        # guard: docker-installation-label
        listed: list[dict[str, Any]] = self._engine.call_sync(
            lambda client: client.containers(all=True, filters={"label": self._label_filter})
        )
        return listed

    @property
    def _label_filter(self) -> list[str]:
        return [f"{container.MANAGED_LABEL}=true", f"{container.INSTALL_LABEL}={self.install_id}"]

    # --- one --------------------------------------------------------------------------------------

    async def find_container(self, conversation_id: UUID) -> Container | None:
        """The conversation's container, if there is one. Raises ``SandboxUnavailable``."""
        for name in container.possible_names(self.install_id, conversation_id):
            inspected = await self.inspect(name)
            if inspected is not None and container.belongs_to(self.install_id, inspected):
                return container.parse_container(inspected)
        return None

    async def is_foreign(self, name: str) -> bool:
        """Whether another installation or program has a container of this name. Raises ``SandboxUnavailable``."""
        inspected = await self.inspect(name)
        return inspected is not None and not container.belongs_to(self.install_id, inspected)

    async def inspect(self, name: str) -> dict[str, Any] | None:
        """Docker's description of the container with this name or id; None if there is none.

        Raises ``SandboxUnavailable``.
        """
        try:
            inspected: dict[str, Any] = await self._engine.call(
                lambda client: client.inspect_container(name)
            )
        except DockerRefused as refusal:
            if refusal.http_status == NOT_FOUND:
                return None
            raise
        return inspected

    async def remove_container(self, name_or_id: str) -> None:
        """Kill and remove a container. Give the id if another worker may already have reused the name.

        Its volume without a name, which has the files of skills, goes with it. Raises ``SandboxUnavailable``.
        """
        await self._retry_until_gone(
            lambda client: client.remove_container(name_or_id, force=True, v=True)
        )

    async def choose_volume(self, spec: SandboxSpec) -> str:
        """The name of the volume for a conversation's files. Raises ``SandboxUnavailable``."""
        former = container.former_volume_name(spec.conversation_id)
        if not spec.volume and spec.files_backend and await self.has_volume(former):
            return former
        return spec.volume or container.volume_name(self.install_id, spec.conversation_id)

    async def has_volume(self, volume: str) -> bool:
        """Whether the daemon has a volume of this name. Raises ``SandboxUnavailable``."""
        try:
            await self._engine.call(lambda client: client.inspect_volume(volume))
        except DockerRefused as refusal:
            if refusal.http_status == NOT_FOUND:
                return False
            raise
        return True

    def candidate_volumes(self, conversation_id: UUID, volume: str) -> list[str]:
        """The volumes that may hold a conversation's files: the recorded one, else those with its names."""
        current = container.volume_name(self.install_id, conversation_id)
        return [volume] if volume else [current, container.former_volume_name(conversation_id)]

    async def remove_volume_if_unused(self, volume: str) -> bool:
        """Remove a volume unless a container uses it; True if it is gone. Raises ``SandboxUnavailable``."""
        try:
            await self._engine.call(lambda client: client.remove_volume(volume))
        except DockerRefused as refusal:
            return refusal.http_status == NOT_FOUND
        return True

    async def remove_volume(self, volume: str) -> None:
        """Remove a volume, if it exists. Raises ``SandboxUnavailable``."""
        await self._retry_until_gone(lambda client: client.remove_volume(volume))

    async def unpause(self, found: Container) -> None:
        """Resume a container. Raises ``SandboxUnavailable``."""
        try:
            await self._engine.call(lambda client: client.unpause(found.id))
        except DockerRefused as refusal:
            # It was resumed or removed meanwhile, which the next step notices.
            logger.debug("container was not resumed", extra={"reason": refusal.detail})

    async def _retry_until_gone(self, remove: Callable[[Any], Any]) -> None:
        """Repeat a removal until the thing is gone: Docker's "in progress" and "in use" are temporary."""
        deadline = clock.monotonic() + REMOVE_SECONDS
        while True:
            try:
                await self._engine.call(remove, seconds=REMOVE_SECONDS)
            except DockerRefused as refusal:
                if refusal.http_status == NOT_FOUND:
                    return
                if refusal.http_status != CONFLICT or clock.monotonic() > deadline:
                    raise
            await asyncio.sleep(0.01)


def _remove_volume(name: str, client: Any) -> None:
    client.remove_volume(name)
