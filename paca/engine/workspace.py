"""What the engine asks of the place where commands run. The sandbox backends are its real form."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, Protocol

from paca.common.errors import PacaError

OnOutput = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Command:
    """A command line for ``/bin/bash -c``, or an argument vector. Standard input is closed.

    ``cwd`` is relative to the workspace. ``call_id`` names the call for ever: the same one is
    never executed twice by one runner.
    """

    call_id: str
    shell: str | None = None
    argv: tuple[str, ...] | None = None
    cwd: str = "."
    timeout_seconds: float = 60
    env: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CommandOutcome:
    """How a command ended. ``output`` is stdout and stderr as they came, head and tail if long.

    ``cause`` is empty, or timed_out, cancelled, out_of_memory, disk_full, too_many_processes.
    ``file``: where inside the whole output stands if ``truncated``. Undecodable bytes are
    replaced, NUL is shown as ␀.
    """

    exit_code: int | None
    output: str
    seconds: float
    truncated: bool = False
    file: str = ""
    cause: str = ""


@dataclass(frozen=True, slots=True)
class FileInfo:
    """One entry of the workspace; ``path`` is relative to it, in its plain spelling."""

    path: str
    kind: Literal["file", "directory", "link", "other"]
    size: int
    modified: float


@dataclass(frozen=True, slots=True)
class FileLines:
    """Some lines of a text file, or what a binary file is.

    ``first`` counts from 1; ``total`` is the number of lines. ``digest`` is the sha256 of the
    whole file. ``binary`` names the kind ("PDF", "PNG image", ...) and then ``text`` is empty.
    """

    path: str
    text: str
    first: int
    last: int
    total: int
    size: int
    digest: str
    truncated: bool = False
    binary: str = ""


@dataclass(frozen=True, slots=True)
class FileChange:
    """What a write did; ``diff`` is a unified diff, cut if long."""

    path: str
    created: bool
    digest: str
    added: int
    removed: int
    diff: str = ""


class SandboxWorkspace(Protocol):
    """One conversation's files and processes. Paths that leave ``/workspace`` are refused.

    Reading never blocks on a FIFO and never loads a huge file whole.
    """

    @property
    def boot_id(self) -> str:
        """Names this life of the runner; calls of another life cannot be re-attached."""
        ...

    async def run(self, command: Command, on_output: OnOutput | None = None) -> CommandOutcome:
        """Run to the end. A ``call_id`` already known is attached to, never run again.

        Cancelling the await leaves the command running: ``kill`` ends it.
        """
        ...

    async def attach(self, call_id: str, on_output: OnOutput | None = None) -> CommandOutcome:
        """Wait for a call begun earlier. Raises ``CallUnknown`` if this runner never began it."""
        ...

    async def kill(self, call_id: str) -> None:
        """End the call's whole process tree: TERM, then KILL. Unknown or ended: nothing."""
        ...

    async def read_lines(self, path: str, *, first: int = 1, count: int = 2000) -> FileLines: ...

    async def read(self, path: str, *, offset: int = 0, limit: int = 1 << 20) -> bytes: ...

    async def stat(self, path: str) -> FileInfo: ...

    async def list(
        self, path: str = ".", *, depth: int = 1, limit: int = 500
    ) -> list[FileInfo]: ...

    async def write(
        self, call_id: str, path: str, content: bytes, *, expected_digest: str | None = None
    ) -> FileChange:
        """Replace the whole file at once, making its folders. A repeated ``call_id`` answers as
        the first did. Raises ``FileChanged`` if the file's digest is not ``expected_digest``."""
        ...

    async def replace(
        self,
        call_id: str,
        path: str,
        old: str,
        new: str,
        *,
        every: bool = False,
        expected_digest: str | None = None,
    ) -> FileChange:
        """Replace a piece that must occur exactly once (unless ``every``); else ``NoSuchText`` or
        ``TextNotUnique``."""
        ...


class WorkspaceError(PacaError):
    """The workspace could not do this."""

    code = "workspace_error"


class OutsideWorkspace(WorkspaceError):
    """This path is outside the workspace."""

    code = "outside_workspace"


class NoSuchFile(WorkspaceError):
    """There is no such file."""

    code = "no_such_file"


class NotAFile(WorkspaceError):
    """This is not a regular file."""

    code = "not_a_file"


class FileChanged(WorkspaceError):
    """The file has changed since it was read; read it again."""

    code = "file_changed"


class NoSuchText(WorkspaceError):
    """The text to replace does not occur in the file."""

    code = "no_such_text"


class TextNotUnique(WorkspaceError):
    """The text to replace occurs more than once; give more of its surroundings."""

    code = "text_not_unique"


class FileTooLarge(WorkspaceError):
    """The file is too large for this."""

    code = "file_too_large"


class CallUnknown(WorkspaceError):
    """The runner knows no call of this id."""

    code = "call_unknown"


class Superseded(PacaError):
    """Another worker has taken this conversation's sandbox over.

    No ``WorkspaceError``: that would be a result for the model, and this ends the run.
    """

    code = "superseded"


class SandboxUnavailable(WorkspaceError):
    """Commands cannot run on this server."""

    code = "sandbox_unavailable"


class SandboxBroken(SandboxUnavailable):
    """A sandbox ends as soon as it is started. Somebody has to mend it: to go on would be in vain."""

    code = "sandbox_broken"


class SandboxUnreachable(SandboxUnavailable):
    """What makes sandboxes does not answer. It may in a while: a run can wait for that."""

    code = "sandbox_unreachable"


class SandboxGone(WorkspaceError):
    """The sandbox ended while it was in use."""

    code = "sandbox_lost"
