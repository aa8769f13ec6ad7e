"""What one installation has on its daemon: containers and volumes, found, listed and removed."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any
from uuid import UUID

from paca.common import clock
from paca.sandbox.base import SandboxSpec, is_probe_id
from paca.sandbox.docker import container
from paca.sandbox.docker.container import Container
from paca.sandbox.docker.engine import DockerEngine, DockerRefused

logger = logging.getLogger(__name__)
REMOVE_SECONDS = 20.0
NOT_FOUND, CONFLICT = 404, 409


class Inventory:
    """All that is labelled with ``install_id``, whichever worker made it; the rest is left alone."""

    def __init__(self, engine: DockerEngine, install_id: str) -> None:
        self._engine = engine
        self.install_id = install_id

    def list_running(self) -> dict[UUID, int]:
        """The conversations that have containers, each with when this was seen, in milliseconds."""
        found = self.list_containers()
        now = int(clock.monotonic() * 1000)
        return {
            conversation_id: now
            for each in found
            if (
                conversation_id := container.conversation_from_names(self.install_id, each["Names"])
            )
            if container.is_abandoned(each["Created"])
            or not (each["State"] == "created" or is_probe_id(conversation_id))
        }

    def list_volumes(self) -> dict[UUID, str]:
        """By what they are named after; without those that somebody may just be trying."""
        found = self._engine.call_sync(
            lambda client: client.volumes(filters={"label": self._label_filter})
        )
        return {
            named_after: each["Name"]
            for each in found["Volumes"] or ()
            if (named_after := container.conversation_from_volume(each["Name"]))
            if not is_probe_id(named_after)
            or container.is_abandoned(container.parse_time(each["CreatedAt"]))
        }

    def list_containers(self) -> list[dict[str, Any]]:
        """As Docker lists them, also those that have ended."""
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
        """The conversation's container, if there is one."""
        for name in container.possible_names(self.install_id, conversation_id):
            seen = await self._inspect(name)
            if seen is not None and container.belongs_to(self.install_id, seen):
                return container.parse_container(seen)
        return None

    async def is_foreign(self, name: str) -> bool:
        """Whether there is a container of this name that is none of ours."""
        seen = await self._inspect(name)
        return seen is not None and not container.belongs_to(self.install_id, seen)

    async def _inspect(self, name: str) -> dict[str, Any] | None:
        """What Docker says of who has this name."""
        try:
            seen: dict[str, Any] = await self._engine.call(
                lambda client: client.inspect_container(name)
            )
        except DockerRefused as refusal:
            if refusal.http_status == NOT_FOUND:
                return None
            raise
        return seen

    async def remove_container(self, which: str) -> None:
        """Kill and remove a container. By its id: its name may be another's by now, which a worker
        just made."""
        await self._retry_until_gone(lambda client: client.remove_container(which, force=True))

    async def choose_volume(self, spec: SandboxSpec) -> str:
        """Where a conversation's files are, or are to be."""
        former = container.former_volume_name(spec.conversation_id)
        if not spec.volume and spec.backend_name and await self._has_volume(former):
            return former
        return spec.volume or container.volume_name(self.install_id, spec.conversation_id)

    async def _has_volume(self, volume: str) -> bool:
        try:
            await self._engine.call(lambda client: client.inspect_volume(volume))
        except DockerRefused as refusal:
            if refusal.http_status == NOT_FOUND:
                return False
            raise
        return True

    def candidate_volumes(self, conversation_id: UUID, volume: str) -> list[str]:
        """Where a conversation's files can be: in that which is recorded, or in either by its name."""
        named = container.volume_name(self.install_id, conversation_id)
        return [volume] if volume else [named, container.former_volume_name(conversation_id)]

    async def remove_volume_if_unused(self, volume: str) -> bool:
        """Remove a volume unless it is in use; whether it is gone."""
        try:
            await self._engine.call(lambda client: client.remove_volume(volume))
        except DockerRefused as refusal:
            return refusal.http_status == NOT_FOUND
        return True

    async def remove_volume(self, volume: str) -> None:
        """Remove a volume, if there is one."""
        await self._retry_until_gone(lambda client: client.remove_volume(volume))

    async def unpause(self, found: Container) -> None:
        """Let a container go on."""
        try:
            await self._engine.call(lambda client: client.unpause(found.id))
        except DockerRefused as refusal:  # somebody else has, or it is gone: that is seen next
            logger.debug("a container was not resumed", extra={"reason": refusal.detail})

    async def _retry_until_gone(self, removing: Callable[[Any], Any]) -> None:
        """Remove again and again until there is nothing: "in progress" and "in use" pass."""
        end = clock.monotonic() + REMOVE_SECONDS
        while True:
            try:
                await self._engine.call(removing, seconds=REMOVE_SECONDS)
            except DockerRefused as refusal:
                if refusal.http_status == NOT_FOUND:
                    return
                if refusal.http_status != CONFLICT or clock.monotonic() > end:
                    raise
            await asyncio.sleep(0.01)
