"""What every sandbox backend gives: a workspace with a life."""

import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from paca.engine.workspace import SandboxWorkspace
from paca.sandbox.exit_cause import ExitCause


@dataclass(frozen=True, slots=True)
class SandboxLimits:
    """What one sandbox may use at most."""

    memory_mib: int = 2048
    cpus: float = 1.0
    processes: int = 256
    workspace_mib: int = 2048
    open_files: int = 1024


@dataclass(frozen=True, slots=True)
class SandboxSpec:
    """Which sandbox is wanted: one a conversation. ``backend_name``: the backend that has its files.

    ``persistent``: unused, it is paused before it is ended. ``reset_files``: what is left of it, files and
    all, is to be removed first. ``volume``: where Docker has its files, if not where their name says.
    """

    conversation_id: UUID
    limits: SandboxLimits = SandboxLimits()
    backend_name: str = ""
    git_name: str = "paca-agent"
    git_email: str = "paca-agent@localhost"
    persistent: bool = False
    reset_files: bool = False
    volume: str = ""

    @property
    def environment(self) -> dict[str, str]:
        """Whose commands these are: said with each, since a sandbox may be older than the name."""
        return {
            "GIT_AUTHOR_NAME": self.git_name,
            "GIT_AUTHOR_EMAIL": self.git_email,
            "GIT_COMMITTER_NAME": self.git_name,
            "GIT_COMMITTER_EMAIL": self.git_email,
        }


@dataclass(frozen=True, slots=True)
class IdlePolicy:
    """How long an unused sandbox stays: as it is, and after that paused, if it is persistent."""

    idle_seconds: float = 180
    paused_seconds: float = 3600

    def orphan_seconds(self, spec: SandboxSpec) -> float:
        """After how long alone it ends by itself, should nobody be there to end it.

        Its clock runs on while it is paused, and it shall be there when it is resumed.
        """
        if not spec.persistent:
            return self.idle_seconds
        return self.idle_seconds + self.paused_seconds + RESUME_MARGIN_SECONDS


PROBE_VERSION = 3
RESUME_MARGIN_SECONDS = 120.0
MayReplace = Callable[[], Awaitable[bool]]


async def always_replace() -> bool:
    """For who opens a sandbox without a lease that could be lost meanwhile."""
    return True


def new_probe_id() -> UUID:
    """For a sandbox that is only tried. No conversation has an id of this version."""
    return UUID(bytes=os.urandom(16), version=PROBE_VERSION)


def is_probe_id(conversation_id: UUID) -> bool:
    """Whether somebody may be trying it at this moment, and will tidy up himself."""
    return conversation_id.version == PROBE_VERSION


class Sandbox(SandboxWorkspace, Protocol):
    """A started sandbox, held by one worker at a time."""

    @property
    def resumed(self) -> bool:
        """Whether it was paused when it was opened."""
        ...

    @property
    def lost(self) -> bool:
        """Whether the connection to the runner is gone for good."""
        ...

    async def wait_until_lost(self) -> None:
        """Return once ``lost``: at the latest two seconds after the end."""
        ...

    async def detach(self) -> None:
        """Let go of the runner without ending it: another worker may attach."""
        ...

    async def destroy(self, *, keep_files: bool = True) -> None:
        """End the runner and everything in it; with ``keep_files=False`` the workspace too."""
        ...


class Backend(Protocol):
    """A way to make sandboxes. ``description``: one line for people on what it gives, once it was probed."""

    name: str
    description: str

    async def probe(self) -> None:
        """Start a sandbox and end it again. Raises ``SandboxUnavailable``: why not, and what to do."""
        ...

    async def check(self) -> None:
        """See, quickly, whether what worked works still. Raises ``SandboxUnavailable``."""
        ...

    async def open(
        self, spec: SandboxSpec, *, epoch: int, may_replace: MayReplace = always_replace
    ) -> Sandbox:
        """Attach to the conversation's running sandbox, or start one on its kept files.

        ``epoch`` is the lease's: the runner refuses a lower one than it has seen. One that does not
        answer is replaced, if ``may_replace`` says that the lease still holds: it may be another
        worker's by now, and silent to us alone.
        Raises ``SandboxUnavailable``, or ``Superseded`` if a higher epoch has been seen.
        """
        ...

    async def exit_cause(
        self, conversation_id: UUID, *, just_lost: bool = False
    ) -> ExitCause | None:
        """How the conversation's sandbox ended; None while it running.

        ``just_lost``: its end was just seen, so that a moment is waited for the system to know of it.
        Raises ``SandboxUnreachable``: who cannot ask does not know.
        """
        ...

    def list_running(self) -> dict[UUID, int]:
        """The running sandboxes of this installation, each with the mark by which ``sweep`` tells
        whether somebody has attached to it since: the epoch it was held under, or the time."""
        ...

    async def pause(self, conversation_id: UUID) -> bool:
        """Let its processes stand still, keeping all they have; False if nothing runs.

        Whoever opens it, or ends it, lets it go on first.
        """
        ...

    async def resume(self, conversation_id: UUID) -> None:
        """Let a paused one go on; nothing if it is not."""
        ...

    async def sweep(self, keep: set[UUID], running: dict[UUID, int] | None = None) -> list[UUID]:
        """End those of ``running`` (all that run, if None) whose conversation is not in ``keep`` and
        that nobody has attached to since."""
        ...

    def list_workspaces(self) -> dict[UUID, str]:
        """What the files here are named after, of this installation, each with the volume they are in,
        where there are volumes; without those that somebody may just be trying."""
        ...

    def remove_leftovers(self) -> int:
        """Remove what is left half made by processes that died; how many things."""
        ...

    async def remove_files(self, conversation_id: UUID, volume: str = "") -> bool:
        """Remove a conversation's files, unless they are in use in a sandbox: False then.

        ``volume``: as in its ``SandboxSpec``.
        """
        ...

    async def delete(self, conversation_id: UUID, volume: str = "") -> None:
        """End the conversation's sandbox, if there is one, and remove its files for good."""
        ...
