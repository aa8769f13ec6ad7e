"""Removes all sandboxes of an installation with their files, before the installation itself is removed."""

from __future__ import annotations

import logging
from collections.abc import Container
from dataclasses import dataclass
from uuid import UUID

from paca.conversations import sandbox_queries
from paca.engine.workspace import SandboxUnavailable
from paca.sandbox.manager import SandboxManager

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class AllSandboxes:
    """What belongs to this installation: workspaces by backend and conversation, and warm volumes.

    ``unreachable``: backends that did not answer.
    """

    workspaces: dict[str, dict[UUID, str]]
    warm: tuple[str, ...]
    unreachable: tuple[str, ...]

    @property
    def number(self) -> int:
        """How many sandboxes there are, with a container or without."""
        return sum(map(len, self.workspaces.values())) + len(self.warm)


def find_all(manager: SandboxManager) -> AllSandboxes:
    """Every sandbox of this installation that the backends on this host know, running or not."""
    files, started, warm = manager.list_workspaces(), manager.list_started(), manager.list_warm()
    answered = files.keys() & started.keys()
    workspaces = {
        name: dict.fromkeys(started[name], "") | _by_conversation(files[name], without=warm)
        for name in sorted(answered)
    }
    unreachable = tuple(each.name for each in manager.backends if each.name not in answered)
    return AllSandboxes(workspaces, tuple(warm), unreachable)


def _by_conversation(volumes: dict[UUID, str], *, without: Container[str]) -> dict[UUID, str]:
    """The volumes, except those of warm sandboxes. One that was warm once is not named after its conversation."""
    owners = sandbox_queries.owners_of_volumes()
    kept = {named: volume for named, volume in volumes.items() if volume not in without}
    found = {named: volume for named, volume in kept.items() if volume not in owners}
    for named, volume in kept.items():
        if volume in owners:
            found[named if owners[volume] in found else owners[volume]] = volume
    return found


async def remove_all(manager: SandboxManager, found: AllSandboxes) -> int:
    """End and remove these sandboxes with their files; gives the number that could not be removed.

    It can be repeated: a process that dies here leaves whole sandboxes, which the next removal finds.
    """
    left = 0
    for backend, volumes in found.workspaces.items():
        for conversation_id, volume in volumes.items():
            left += not await manager.remove(conversation_id, backend, volume)
    for volume in found.warm:
        try:
            await manager.warm_sandboxes.remove_container(volume)
            await manager.warm_sandboxes.remove_volume(volume)
        except SandboxUnavailable as reason:
            logger.warning("a volume cannot be removed now", extra={"reason": reason.detail})
            left += 1
    return left
