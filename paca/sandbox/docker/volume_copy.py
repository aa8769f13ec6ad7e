"""Copies the volume of one conversation into the new volume of another, in a container made for it."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from paca.common import clock
from paca.common.best_effort import tolerated
from paca.engine.workspace import SandboxUnavailable, SandboxUnreachable, Superseded
from paca.sandbox import file_copy, tree_copy
from paca.sandbox.base import CopiedFiles, FilesOrigin, MayReplace, SandboxSpec
from paca.sandbox.docker import container
from paca.sandbox.docker.creation import CREATE_SECONDS, ContainerCreator
from paca.sandbox.docker.engine import CONFLICT, DockerEngine, DockerRefused
from paca.sandbox.docker.inventory import Inventory
from paca.sandbox.file_copy import CopyFailed
from paca.sandbox.runner import WORKSPACE

ORIGIN = "/origin"
LOOK_SECONDS = 0.1
COPY_LABEL = "paca.copied_for"  # of a volume that Docker made because that of the origin was gone
# Files belong to the user of the sandbox, who may have made them unreadable even to itself.
CAPABILITIES = ("CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID")
MEMORY_MIB, PROCESSES = 512, 16
BUSY = "Another worker is copying the files of this conversation."


class _NewVolume(CopyFailed):
    """The volume of the origin was gone, and Docker has made an empty one in its place."""


class VolumeCopier:
    """Copies volumes on one daemon, with the image of the sandboxes."""

    def __init__(
        self, engine: DockerEngine, inventory: Inventory, creator: ContainerCreator
    ) -> None:
        self._engine = engine
        self._inventory = inventory
        self._creator = creator

    async def copy(
        self, spec: SandboxSpec, origin: FilesOrigin, *, may_replace: MayReplace
    ) -> CopiedFiles:
        """Fill the volume of a conversation without a sandbox. See ``Backend.copy_files``.

        The container has the name of the conversation's own, so that no two workers copy at once. If the
        worker dies, the log does not know of the copy: the next one begins it again, and a sweep removes
        the container. Raises ``CopyFailed``, ``Superseded``, ``SandboxUnavailable`` and ``SandboxUnreachable``.
        """
        source = await self._find_volume(origin)
        target = container.volume_name(self._inventory.install_id, spec.conversation_id)
        await self._remove_earlier(spec, target, may_replace)
        made = await self._create(spec, source, target)
        to_remove = [target]
        try:
            await self._check_origin(source, spec)
            await self._engine.call(lambda client: client.start(made), seconds=CREATE_SECONDS)
            await self._wait(made)
            output = await self._engine.call(lambda client: client.logs(made, stderr=False))
            copied = file_copy.parse(output)
            to_remove = []
        except _NewVolume:
            to_remove = [target, source]
            raise
        finally:
            await asyncio.shield(self._clean_up(made, to_remove, may_replace))
        return copied

    async def _find_volume(self, origin: FilesOrigin) -> str:
        for name in self._inventory.candidate_volumes(origin.conversation_id, origin.volume):
            if await self._inventory.has_volume(name):
                return name
        raise CopyFailed(file_copy.MISSING)

    async def _remove_earlier(
        self, spec: SandboxSpec, target: str, may_replace: MayReplace
    ) -> None:
        """Remove what a worker that died has left of a copy, or of a start without files."""
        if not await may_replace():
            raise Superseded
        found = await self._inventory.find_container(spec.conversation_id)
        if found is not None:
            await self._inventory.remove_container(found.id)
        await self._inventory.remove_volume(target)

    async def _create(self, spec: SandboxSpec, source: str, target: str) -> str:
        """The id of the new container. From now on Docker removes neither of the volumes."""
        install_id = self._inventory.install_id
        body = _configuration(
            spec,
            image=await self._creator.image_id(),
            labels=container.labels(install_id, spec.conversation_id),
            source=source,
            target=target,
        )
        for name in container.possible_names(install_id, spec.conversation_id):
            try:
                created = await self._engine.call(
                    partial(_create_container, body, name), seconds=CREATE_SECONDS
                )
            except DockerRefused as refusal:
                if refusal.http_status != CONFLICT:
                    raise
                if not await self._inventory.is_foreign(name):
                    break
            else:
                return str(created["Id"])
        raise SandboxUnreachable(BUSY)

    async def _check_origin(self, source: str, spec: SandboxSpec) -> None:
        """Docker makes a volume that does not exist: the origin's files may have been deleted just before."""
        found = await self._engine.call(lambda client: client.inspect_volume(source))
        # guard: copy-of-no-new-volume
        if (found["Labels"] or {}).get(COPY_LABEL) == str(spec.conversation_id):
            raise _NewVolume(file_copy.MISSING)

    async def _wait(self, made: str) -> None:
        """Wait until the container has ended. Raises ``CopyFailed`` if that takes too long or it is gone."""
        deadline = clock.monotonic() + file_copy.COPY_SECONDS
        while True:
            inspected = await self._inventory.inspect(made)
            if inspected is None:
                raise file_copy.failed("its container was removed")
            if inspected["State"]["Status"] in container.ENDED_STATES:
                return
            if clock.monotonic() > deadline:
                raise file_copy.too_slow()
            await asyncio.sleep(LOOK_SECONDS)

    async def _clean_up(self, made: str, volumes: list[str], may_replace: MayReplace) -> None:
        """Remove the container, and the volumes of a copy that failed.

        The volumes stay if the claim is lost: a worker that has taken over may have copied files into them already.
        It removes what is there before it copies.
        """
        may_remove = False
        if volumes:
            with tolerated("reading the claim at the end of a copy"):
                may_remove = await may_replace()
        with suppress(SandboxUnavailable):  # the next copy or a sweep removes them
            await self._inventory.remove_container(made)
            # guard: superseded-copy-leaves-the-volumes
            if not may_remove:
                return
            for volume in volumes:
                await self._inventory.remove_volume(volume)


def _create_container(body: dict[str, Any], name: str, client: Any) -> dict[str, Any]:
    created: dict[str, Any] = client.create_container_from_config(body, name)
    return created


def _configuration(
    spec: SandboxSpec, *, image: str, labels: dict[str, str], source: str, target: str
) -> dict[str, Any]:
    """The body of ``POST /containers/create``. Only this program runs in the container, and nothing of an agent."""
    words = file_copy.request(
        spec, source=ORIGIN, target=WORKSPACE, disk=WORKSPACE, uid=container.USER, parent=False
    )
    origin_labels = {**labels, COPY_LABEL: str(spec.conversation_id)}
    return {
        "Image": image,
        "User": "0:0",
        "WorkingDir": "/",
        "Labels": labels,
        "Entrypoint": ["/usr/bin/python3", "-I", "-S", "-X", "utf8", "-c"],
        "Cmd": [Path(tree_copy.__file__).read_text(), words],
        "StopSignal": "SIGKILL",
        "NetworkDisabled": True,
        "HostConfig": {
            **container.isolation(),
            "CapAdd": list(CAPABILITIES),
            "Memory": MEMORY_MIB << 20,
            "MemorySwap": MEMORY_MIB << 20,
            "CpuPeriod": container.CPU_PERIOD,
            "CpuQuota": container.CPU_PERIOD,
            "PidsLimit": PROCESSES,
            "AutoRemove": False,
            "LogConfig": {"Type": "json-file", "Config": {}},
            "Mounts": [
                container.workspace_mount(target, labels),
                {
                    "Type": "volume",
                    "Source": source,
                    "Target": ORIGIN,
                    "ReadOnly": True,
                    "VolumeOptions": {"NoCopy": True, "Labels": origin_labels},
                },
            ],
        },
    }
