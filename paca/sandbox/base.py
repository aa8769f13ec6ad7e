"""The interface of all sandbox backends, and the values that describe a sandbox."""

import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol
from uuid import UUID

from paca.common.network_policy import EgressPolicy
from paca.engine.workspace import SandboxWorkspace
from paca.sandbox.environment import (
    BUILD_OF_SETUP,
    USE_OF_SETUP,
    CommandVariables,
    SetupFiles,
    SetupPlan,
)
from paca.sandbox.exit_cause import ExitCause

FILES_PER_MIB = 128


@dataclass(frozen=True, slots=True)
class SandboxLimits:
    """The resource limits of one sandbox.

    ``files``: how many files and folders its workspace may have; None for a number that fits its space.
    ``max_files`` is the most in any case.
    """

    memory_mib: int = 2048
    cpus: float = 1.0
    processes: int = 256
    workspace_mib: int = 2048
    open_files: int = 1024
    files: int | None = None
    max_files: int = 1 << 31

    @property
    def workspace_files(self) -> int:
        """How many files and folders the workspace may have: small files take an inode each, and hardly space."""
        # guard: sandbox-files-ceiling
        return min(self.files or self.workspace_mib * FILES_PER_MIB, self.max_files)


@dataclass(frozen=True, slots=True)
class SandboxFile:
    """A file of a skill. ``path`` is relative, such as ``boats/plan.md``. Raises ``ValueError`` if it is not."""

    path: str
    data: bytes

    def __post_init__(self) -> None:
        # guard: sandbox-file-paths
        if any(part in ("", ".", "..") for part in self.path.split("/")):
            raise ValueError(f"no path of a file below a folder: {self.path!r}")


ReadFiles = Callable[[], Awaitable[tuple[SandboxFile, ...]]]


@dataclass(frozen=True, slots=True)
class SandboxSpec:
    """The sandbox that a conversation needs. Each conversation has at most one.

    ``files_backend``: the backend that stores its files; empty if there are none yet. ``persistent``: the
    sandbox is paused for a while before it is ended. ``reset_files``: an earlier sandbox and its files are
    removed first. ``volume``: the Docker volume of the files, if its name does not follow from the
    conversation. ``read_files`` gives the files that a new sandbox gets below /skills, where no command can
    change them; None if it gets none. ``files``: those files, once a backend has read them. ``session``: the
    helper that uses the sandbox of this conversation beside others; empty for the conversation itself.
    ``egress``: what it may reach over the network; None for no network. ``gate``: the folder with the socket of
    its network gate, which a new sandbox gets; None without a network. ``image``: that of a new container; empty for the
    default. Bubblewrap has none. ``cache_of``: the project whose package cache
    it shares; None without one. ``cache``: the folder of that. ``variables``: what its commands get besides.
    ``repositories``: the addresses of linked repositories, each with the one at which its sandbox reaches it.
    ``setup_plan``: what is run once for it and others. ``setup``: the sandbox that ran it, whose files a new sandbox gets
    below /opt/setup, where no command can change them. ``builds_setup``: its own files are there too.
    """

    conversation_id: UUID
    limits: SandboxLimits = SandboxLimits()
    files_backend: str = ""
    git_name: str = "paca-agent"
    git_email: str = "paca-agent@localhost"
    persistent: bool = False
    reset_files: bool = False
    volume: str = ""
    read_files: ReadFiles | None = None
    files: tuple[SandboxFile, ...] = ()
    session: str = ""
    egress: EgressPolicy | None = None
    gate: Path | None = None
    image: str = ""
    cache_of: UUID | None = None
    cache: Path | None = None
    repositories: tuple[tuple[str, str], ...] = ()
    setup_plan: SetupPlan | None = None
    setup: UUID | None = None
    builds_setup: bool = False
    # Neither shown nor compared: a sandbox of the warm pool fits whatever they are.
    variables: CommandVariables = field(default_factory=CommandVariables, repr=False, compare=False)

    @property
    def environment(self) -> dict[str, str]:
        """The Git author of commands, and where git finds repositories and programs that are set up. It is sent with each
        command: all may change while a sandbox lives."""
        found = {
            "GIT_AUTHOR_NAME": self.git_name,
            "GIT_AUTHOR_EMAIL": self.git_email,
            "GIT_COMMITTER_NAME": self.git_name,
            "GIT_COMMITTER_EMAIL": self.git_email,
            **(USE_OF_SETUP if self.setup or self.builds_setup else {}),
            **(BUILD_OF_SETUP if self.builds_setup else {}),
        }
        if self.repositories:
            # Files of LFS are not served: a checkout keeps their pointers in place of failing.
            found |= {"GIT_CONFIG_COUNT": str(len(self.repositories)), "GIT_LFS_SKIP_SMUDGE": "1"}
        for number, (url, inside) in enumerate(self.repositories):
            found[f"GIT_CONFIG_KEY_{number}"] = f"url.{inside}.insteadOf"
            found[f"GIT_CONFIG_VALUE_{number}"] = url
        return found


@dataclass(frozen=True, slots=True)
class IdlePolicy:
    """How long an unused sandbox keeps running, and how long a persistent one then stays paused."""

    idle_seconds: float = 180
    paused_seconds: float = 3600

    def unattended_seconds(self, spec: SandboxSpec) -> float:
        """The seconds without a worker after which the runner ends itself, in case no sweeper does.

        The runner's clock continues while it is paused. The margin keeps a sandbox alive that is resumed
        at the end of its pause.
        """
        if not spec.persistent:
            return self.idle_seconds
        return self.idle_seconds + self.paused_seconds + RESUME_MARGIN_SECONDS


@dataclass(frozen=True, slots=True)
class FilesOrigin:
    """Whose files are copied. ``volume``: as in ``SandboxSpec``."""

    conversation_id: UUID
    volume: str = ""


@dataclass(frozen=True, slots=True)
class CopiedFiles:
    """What was copied: the number of files, folders included, and their bytes.

    ``skipped``: entries that cannot be copied, such as sockets. ``changed``: entries that were written to
    while the copy was made, so that it may have them as they were before, after or in between.
    """

    files: int
    bytes: int
    skipped: int = 0
    changed: int = 0


PROBE_VERSION = 3
RESUME_MARGIN_SECONDS = 120.0
MayReplace = Callable[[], Awaitable[bool]]


async def always_replace() -> bool:
    """Allow it: for callers without a lease that they could lose meanwhile."""
    return True


def new_probe_id() -> UUID:
    """An id for a probe's sandbox. No conversation has an id of this UUID version."""
    return UUID(bytes=os.urandom(16), version=PROBE_VERSION)


def is_probe_id(conversation_id: UUID) -> bool:
    """Whether the id belongs to a probe, which removes its sandbox itself."""
    return conversation_id.version == PROBE_VERSION


@dataclass(frozen=True, slots=True)
class WorkspaceUsage:
    """What is stored in a workspace: ``size`` in bytes of at most ``limit``, in so many ``files``."""

    size: int
    files: int
    limit: int


class Sandbox(SandboxWorkspace, Protocol):
    """A running sandbox, used by one worker at a time."""

    @property
    def resumed(self) -> bool:
        """Whether the sandbox was paused until it was opened."""
        ...

    @property
    def has_gate(self) -> bool:
        """Whether the sandbox was started with a network gate. It gets none later."""
        ...

    @property
    def was_idle(self) -> bool:
        """Whether nothing ran in it, and nobody else used it, when it was opened."""
        ...

    @property
    def memory_by_kernel(self) -> bool:
        """Whether the kernel limits the memory; else the runner counts it."""
        ...

    @property
    def lost(self) -> bool:
        """Whether the connection to the runner is gone for good."""
        ...

    async def wait_until_lost(self) -> None:
        """Wait until ``lost`` is true, which is at most two seconds after the end of the sandbox."""
        ...

    async def usage(self) -> WorkspaceUsage:
        """How much is stored in the workspace, measured now.

        Raises ``WorkspaceError`` if the runner is of an older version that cannot tell.
        """
        ...

    async def detach(self) -> None:
        """Disconnect from the runner without ending it, so that another worker may attach."""
        ...

    async def end(self, *, keep_files: bool = True) -> None:
        """End the sandbox with all its processes; with ``keep_files=False`` remove its workspace too.

        Raises ``SandboxUnavailable`` if it cannot be ended, and ``OSError`` or ``TimeoutError`` from bubblewrap.
        """
        ...


class Backend(Protocol):
    """A way to make sandboxes. ``description``: one line for people on its isolation, set by ``probe``."""

    name: str
    description: str

    @property
    def setups(self) -> SetupFiles:
        """What setup commands installed."""
        ...

    async def probe(self) -> None:
        """Start a sandbox and end it again. Raises ``SandboxUnavailable`` with the reason and what to do."""
        ...

    async def check(self) -> None:
        """Check quickly that a backend that worked still works. Raises ``SandboxUnavailable``."""
        ...

    async def open(
        self, spec: SandboxSpec, *, epoch: int, may_replace: MayReplace = always_replace
    ) -> Sandbox:
        """Attach to the conversation's running sandbox, or start one on its kept files.

        ``epoch`` is that of the lease: the runner refuses a lower one than it has seen. A sandbox that
        does not answer is replaced if ``may_replace`` confirms that the lease still holds. Otherwise
        another worker may be using it.
        Raises ``SandboxUnavailable`` if there is no way to run commands, ``SandboxUnreachable`` if there
        may be one later, and ``Superseded`` if another worker has the sandbox or a newer lease.
        """
        ...

    async def attach(self, spec: SandboxSpec, *, epoch: int) -> Sandbox | None:
        """Attach to the conversation's sandbox if it runs on this machine; None if it does not, or is paused.

        It starts, resumes and replaces none. ``epoch`` as in ``open``. Raises ``SandboxUnavailable`` if the backend
        cannot be asked, and ``Superseded`` if another worker has the sandbox or a newer lease.
        """
        ...

    async def copy_files(
        self,
        spec: SandboxSpec,
        origin: FilesOrigin,
        *,
        epoch: int,
        may_replace: MayReplace = always_replace,
    ) -> CopiedFiles:
        """Begin a conversation's files with a copy of those of another conversation, which may use them meanwhile.

        The conversation has no sandbox yet. What an earlier copy has left is removed first, and a copy that
        does not succeed leaves no files. Raises ``CopyFailed`` with the reason, and ``SandboxUnavailable``,
        ``SandboxUnreachable`` and ``Superseded`` as ``open`` does.
        """
        ...

    async def find_exit_cause(
        self, conversation_id: UUID, *, just_lost: bool = False
    ) -> ExitCause | None:
        """Why the conversation's sandbox ended; None while it runs.

        ``just_lost``: the connection was lost just now, so wait a moment until the system knows the
        cause. Raises ``SandboxUnavailable`` if the cause cannot be asked for.
        """
        ...

    def list_started(self) -> dict[UUID, int]:
        """The sandboxes of this installation that were started, also those that ended and are not swept yet.

        Each has a mark by which ``sweep`` sees whether a worker has attached since: the epoch under which
        it was opened, or the time of this listing in milliseconds. Raises ``SandboxUnavailable``.
        """
        ...

    async def pause(self, conversation_id: UUID) -> bool:
        """Pause the sandbox's processes, which keep their memory; False if it does not run.

        Opening or ending the sandbox resumes it first. Raises ``SandboxUnavailable``.
        """
        ...

    async def resume(self, conversation_id: UUID) -> None:
        """Resume a paused sandbox; does nothing if it is not paused. Raises ``SandboxUnavailable``."""
        ...

    async def sweep(self, keep: set[UUID], started: dict[UUID, int] | None = None) -> list[UUID]:
        """End the sandboxes whose conversation is not in ``keep``; gives the conversations of those ended.

        ``started`` is an earlier result of ``list_started``: a sandbox to which a worker has attached
        since is left alone. Without it every started sandbox is considered.
        """
        ...

    def list_workspaces(self) -> dict[UUID, str]:
        """The conversations of which this installation stores files, each with the name of their volume.

        The name is empty for a backend without volumes. Files of probes that may still run are left
        out. Raises ``SandboxUnavailable``.
        """
        ...

    def remove_leftovers(self) -> int:
        """Remove what ended processes left half-made; gives the number of things.

        Raises ``SandboxUnavailable``.
        """
        ...

    async def remove_files(self, conversation_id: UUID, volume: str = "") -> bool:
        """Remove a conversation's files; False if a sandbox is using them.

        ``volume``: as in ``SandboxSpec``. Raises ``SandboxUnavailable`` if files cannot be removed.
        """
        ...

    async def remove(self, conversation_id: UUID, volume: str = "") -> None:
        """End the conversation's sandbox, if there is one, and remove its files for good.

        ``volume``: as in ``SandboxSpec``. Raises ``SandboxUnavailable`` if files cannot be removed.
        """
        ...
