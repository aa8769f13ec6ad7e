"""Chooses where commands run, opens a conversation's sandbox, and ends those nobody needs."""

import asyncio
from pathlib import Path
from uuid import UUID

from paca.engine.workspace import SandboxUnavailable
from paca.sandbox.base import Backend, Sandbox, SandboxSpec
from paca.sandbox.bubblewrap import Bubblewrap

SWITCHED_OFF = (
    "Commands are switched off on this server (PACA_SANDBOX=none). "
    "Set PACA_SANDBOX=auto to let agents work in a sandbox."
)


class SandboxManager:
    """One a process. ``kind`` is the setting PACA_SANDBOX: auto, bubblewrap or none.

    Without a working backend commands are refused; they never run on the host. A sandbox that
    nobody has attached and that runs nothing ends by itself after ``idle_seconds``.
    """

    def __init__(
        self, *, kind: str, data_dir: Path, install_id: str, idle_seconds: float = 180
    ) -> None:
        self.backend: Backend | None = None
        if kind != "none":
            self.backend = Bubblewrap(data_dir, install_id, idle_seconds=idle_seconds)
        self._probed: str | None = None
        self._works = False
        self._probing = asyncio.Lock()

    async def unavailable(self) -> str | None:
        """None if commands can run here, else one sentence: why not, and what to do.

        A success is remembered; a failure is tried again, for it may have been repaired.
        """
        if self.backend is None:
            return SWITCHED_OFF
        async with self._probing:
            if not self._works:
                self._probed = await self.backend.probe()
                self._works = self._probed is None
        return self._probed

    @property
    def backend_name(self) -> str:
        """The backend's name, as events and rows call it."""
        return "none" if self.backend is None else self.backend.name

    async def open(self, spec: SandboxSpec, *, epoch: int) -> Sandbox:
        """Attach to the conversation's running sandbox, or start one on its kept files."""
        if self.backend is None:
            raise SandboxUnavailable(SWITCHED_OFF)
        return await self.backend.open(spec, epoch=epoch)

    def lives(self) -> dict[UUID, int]:
        """The running sandboxes of this installation, each with the epoch it was last held under."""
        return {} if self.backend is None else self.backend.lives()

    async def sweep(self, keep: set[UUID], lives: dict[UUID, int] | None = None) -> list[UUID]:
        """End the sandboxes of this installation whose conversation is not in ``keep``.

        With ``lives``, read before it was asked which to keep, those that somebody has attached
        to in between stay.
        """
        return [] if self.backend is None else await self.backend.sweep(keep, lives)

    async def forget(self, conversation_id: UUID) -> bool:
        """Remove a conversation's sandbox with its files; False if nothing here can reach them."""
        if self.backend is None:
            return False
        await self.backend.forget(conversation_id)
        return True
