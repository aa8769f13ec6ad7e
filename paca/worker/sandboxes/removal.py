"""Removes all sandboxes of an installation with their files, before the installation itself is removed."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from uuid import UUID

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
    files, started = manager.list_workspaces(), manager.list_started()
    answered = files.keys() & started.keys()
    workspaces = {name: dict.fromkeys(started[name], "") | files[name] for name in sorted(answered)}
    unreachable = tuple(each.name for each in manager.backends if each.name not in answered)
    return AllSandboxes(workspaces, tuple(manager.list_warm()), unreachable)


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
