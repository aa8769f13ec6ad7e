"""What every sandbox backend gives: a workspace with a life."""

from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from paca.engine.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Limits:
    """What one sandbox may use at most."""

    memory_mib: int = 2048
    cpus: float = 1.0
    processes: int = 256
    workspace_mib: int = 2048
    open_files: int = 1024


@dataclass(frozen=True, slots=True)
class SandboxSpec:
    """Which sandbox is wanted: one a conversation."""

    conversation_id: UUID
    limits: Limits = Limits()
    git_name: str = "paca-agent"
    git_email: str = "paca-agent@localhost"


class Sandbox(Workspace, Protocol):
    """A started sandbox, held by one worker at a time."""

    @property
    def lost(self) -> bool:
        """Whether the connection to the runner is gone for good."""
        ...

    async def detach(self) -> None:
        """Let go of the runner without ending it: another worker may attach."""
        ...

    async def destroy(self, *, keep_files: bool = True) -> None:
        """End the runner and everything in it; with ``keep_files=False`` the workspace too."""
        ...


class Backend(Protocol):
    """A way to make sandboxes on this machine."""

    name: str

    async def probe(self) -> str | None:
        """None if it works here, else one sentence: why not, and what to do."""
        ...

    async def open(self, spec: SandboxSpec, *, epoch: int) -> Sandbox:
        """Attach to the conversation's running sandbox, or start one on its kept files.

        ``epoch`` is the lease's: the runner refuses a lower one than it has seen.
        Raises ``SandboxUnavailable``, or ``Superseded`` if a higher epoch has been seen.
        """
        ...

    def lives(self) -> dict[UUID, int]:
        """The running sandboxes of this installation, each with the epoch it was last held under."""
        ...

    async def sweep(self, keep: set[UUID], lives: dict[UUID, int] | None = None) -> list[UUID]:
        """End those of ``lives`` (all that run, if None) whose conversation is not in ``keep`` and
        that nobody has attached to under a higher epoch since."""
        ...

    async def forget(self, conversation_id: UUID) -> None:
        """End the conversation's sandbox, if there is one, and remove its files for good."""
        ...
