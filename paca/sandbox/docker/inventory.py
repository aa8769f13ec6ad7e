"""What one installation has on its daemon: containers and volumes, found, listed and removed."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any
from uuid import UUID

from paca.common import clock
from paca.sandbox.base import SandboxSpec, is_probe
from paca.sandbox.docker import container
from paca.sandbox.docker.container import Found
from paca.sandbox.docker.engine import Engine, Refused

logger = logging.getLogger(__name__)
REMOVE_SECONDS = 20.0
GONE, TAKEN = 404, 409


class Holdings:
    """All that is labelled with ``install_id``, whichever worker made it; the rest is left alone."""

    def __init__(self, engine: Engine, install_id: str) -> None:
        self._engine = engine
        self.install_id = install_id

    def lives(self) -> dict[UUID, int]:
        """The conversations that have containers, each with when this was seen, in milliseconds."""
        found = self.containers()
        now = int(clock.monotonic() * 1000)
        return {
            conversation_id: now
            for each in found
            if (conversation_id := container.conversation_of(self.install_id, each["Names"]))
            if container.is_left(each["Created"])
            or not (each["State"] == "created" or is_probe(conversation_id))
        }

    def volumes(self) -> dict[UUID, str]:
        """By what they are named after; without those that somebody may just be trying."""
        found = self._engine.wait(lambda client: client.volumes(filters={"label": self._mine}))
        return {
            named_after: each["Name"]
            for each in found["Volumes"] or ()
            if (named_after := container.named_after(each["Name"]))
            if not is_probe(named_after) or container.is_left(container.moment(each["CreatedAt"]))
        }

    def containers(self) -> list[dict[str, Any]]:
        """As Docker lists them, also those that have ended."""
        # guard: docker-installation-label
        listed: list[dict[str, Any]] = self._engine.wait(
            lambda client: client.containers(all=True, filters={"label": self._mine})
        )
        return listed

    @property
    def _mine(self) -> list[str]:
        return [f"{container.MANAGED}=true", f"{container.INSTALL}={self.install_id}"]

    # --- one --------------------------------------------------------------------------------------

    async def find(self, conversation_id: UUID) -> Found | None:
        """The conversation's container, if there is one."""
        for name in container.names_of(self.install_id, conversation_id):
            seen = await self._seen(name)
            if seen is not None and container.is_of(self.install_id, seen):
                return container.found(seen)
        return None

    async def is_taken_by_a_stranger(self, name: str) -> bool:
        """Whether there is a container of this name that is none of ours."""
        seen = await self._seen(name)
        return seen is not None and not container.is_of(self.install_id, seen)

    async def _seen(self, name: str) -> dict[str, Any] | None:
        """What Docker says of who has this name."""
        try:
            seen: dict[str, Any] = await self._engine.call(
                lambda client: client.inspect_container(name)
            )
        except Refused as refusal:
            if refusal.http_status == GONE:
                return None
            raise
        return seen

    async def remove(self, which: str) -> None:
        """Kill and remove a container. By its id: its name may be another's by now, which a worker
        just made."""
        await self._until_gone(lambda client: client.remove_container(which, force=True))

    async def volume_for(self, spec: SandboxSpec) -> str:
        """Where a conversation's files are, or are to be."""
        former = container.former_volume_of(spec.conversation_id)
        if not spec.volume and spec.kept_in and await self._has_volume(former):
            return former
        return spec.volume or container.volume_of(self.install_id, spec.conversation_id)

    async def _has_volume(self, volume: str) -> bool:
        try:
            await self._engine.call(lambda client: client.inspect_volume(volume))
        except Refused as refusal:
            if refusal.http_status == GONE:
                return False
            raise
        return True

    def volumes_of(self, conversation_id: UUID, volume: str) -> list[str]:
        """Where a conversation's files can be: in that which is recorded, or in either by its name."""
        named = container.volume_of(self.install_id, conversation_id)
        return [volume] if volume else [named, container.former_volume_of(conversation_id)]

    async def free(self, volume: str) -> bool:
        """Remove a volume unless it is in use; whether it is gone."""
        try:
            await self._engine.call(lambda client: client.remove_volume(volume))
        except Refused as refusal:
            return refusal.http_status == GONE
        return True

    async def remove_volume(self, volume: str) -> None:
        """Remove a volume, if there is one."""
        await self._until_gone(lambda client: client.remove_volume(volume))

    async def unpause(self, found: Found) -> None:
        """Let a container go on."""
        try:
            await self._engine.call(lambda client: client.unpause(found.id))
        except Refused as refusal:  # somebody else has, or it is gone: that is seen next
            logger.debug("a container was not resumed", extra={"reason": refusal.detail})

    async def _until_gone(self, removing: Callable[[Any], Any]) -> None:
        """Remove again and again until there is nothing: "in progress" and "in use" pass."""
        end = clock.monotonic() + REMOVE_SECONDS
        while True:
            try:
                await self._engine.call(removing, seconds=REMOVE_SECONDS)
            except Refused as refusal:
                if refusal.http_status == GONE:
                    return
                if refusal.http_status != TAKEN or clock.monotonic() > end:
                    raise
            await asyncio.sleep(0.01)
