"""The interface of a sandbox's workspace: its commands and files. The sandbox backends implement it."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Literal, Protocol

from paca.common.errors import PacaError

OnOutput = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Command:
    """A command line for ``/bin/bash -c``, or an argument vector. Standard input is closed.

    ``cwd`` is relative to the workspace. ``call_id`` identifies the call: a runner executes each id
    once.
    """

    call_id: str
    shell: str | None = None
    argv: tuple[str, ...] | None = None
    cwd: str = "."
    timeout_seconds: float = 60
    env: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ProcessInfo:
    """One process in the sandbox: its id there, and the beginning of its command line."""

    pid: int
    line: str


@dataclass(frozen=True, slots=True)
class CommandOutcome:
    """How a command ended. ``output`` is stdout and stderr in the order of writing.

    A long output is ``truncated`` to its head and tail; ``file`` is then the path of the whole
    output in the workspace. Bytes that are not UTF-8 are replaced, NUL is shown as ␀.
    ``cause`` is empty, or timed_out, cancelled, out_of_memory, disk_full, too_many_processes.
    ``living``: processes that the command started and that go on after its end. ``killed``: those that
    were ended with it, without the command itself. Both name a limited number. ``refused``: what the network gate
    refused meanwhile, each with the next step.
    """

    exit_code: int | None
    output: str
    seconds: float
    truncated: bool = False
    file: str = ""
    cause: str = ""
    living: tuple[ProcessInfo, ...] = ()
    killed: tuple[ProcessInfo, ...] = ()
    refused: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CallReport:
    """How a call stands: whether it has ``ended``, for how many seconds it runs or ran, and the end of its output.
    ``refused``: as in ``CommandOutcome``, until now."""

    ended: bool
    seconds: float
    output: str
    refused: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FileInfo:
    """One entry of the workspace. ``path`` is relative to the workspace and normalized.

    ``size`` is in bytes, ``modified`` in seconds since 1970.
    """

    path: str
    kind: Literal["file", "directory", "link", "other"]
    size: int
    modified: float


@dataclass(frozen=True, slots=True)
class FileLines:
    """Some lines of a text file, or the type of a binary file.

    ``text`` holds the lines ``first`` to ``last``, which count from 1, of ``total`` lines. ``size``
    is in bytes, ``digest`` is the sha256 of the whole file. ``binary`` names the type of a binary
    file ("PDF", "PNG image", ...); ``text`` is then empty. ``encoding`` is empty for UTF-8 without BOM,
    ``line_ends`` is CRLF, CR or mixed, and empty if all lines end with LF.
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
    encoding: str = ""
    line_ends: str = ""


@dataclass(frozen=True, slots=True)
class FileChange:
    """The change by a write. ``added`` and ``removed`` count lines; ``diff`` is a unified diff, cut if long.

    ``digest`` is the sha256 of the new content. ``encoding`` and ``line_ends`` are those of
    ``FileLines``. ``changed`` is false if the file already had this content.
    """

    path: str
    created: bool
    digest: str
    added: int
    removed: int
    diff: str = ""
    encoding: str = ""
    line_ends: str = ""
    changed: bool = True


class ProcessPipe(Protocol):
    """A process of the sandbox that reads what is sent to it, and whose standard output is received.

    Its methods raise ``SandboxGone`` if the sandbox ends and ``Superseded`` if another worker attaches.
    """

    async def send(self, data: bytes) -> None:
        """Write to its standard input; returns when it has taken all. Raises ``CallUnknown`` after its end."""
        ...

    async def receive(self) -> bytes:
        """The next bytes of its standard output; none after its end. One task at a time may wait for them."""
        ...

    async def outcome(self) -> CommandOutcome:
        """How it ended, when it has. The output is the end of its standard error."""
        ...

    async def close(self) -> None:
        """End the process with all its children; does nothing if the sandbox is gone."""
        ...


class SandboxWorkspace(Protocol):
    """The files and processes of one conversation.

    All methods raise ``OutsideWorkspace`` for a path outside of ``/workspace``, ``SandboxGone`` if
    the sandbox ends and ``Superseded`` if another worker attaches. Reading never blocks on a FIFO
    and never loads a huge file whole.
    """

    @property
    def boot_id(self) -> str:
        """Identifies this start of the runner. Calls of another start cannot be attached to."""
        ...

    async def run(self, command: Command, on_output: OnOutput | None = None) -> CommandOutcome:
        """Run the command to its end. A known ``call_id`` is attached to and not run again.

        If the await is cancelled, the command runs on: ``kill`` ends it.
        """
        ...

    async def run_for(
        self, seconds: float, command: Command, on_output: OnOutput | None = None
    ) -> CommandOutcome | None:
        """Run the command like ``run``, but return None once it has run for ``seconds`` and goes on.

        It then runs until its own time limit, whether a worker is attached or not.
        """
        ...

    async def look(
        self, call_ids: Collection[str], *, characters: int = 2000
    ) -> dict[str, CallReport]:
        """How calls stand, by their id, each with so many characters of the end of its output.

        A call that this start of the runner does not know is left out. Raises ``WorkspaceError`` if the runner is
        of an older version that cannot tell.
        """
        ...

    async def attach(self, call_id: str, on_output: OnOutput | None = None) -> CommandOutcome:
        """Wait for the end of an earlier call. Raises ``CallUnknown`` if this runner never started it."""
        ...

    async def open_pipe(self, command: Command) -> ProcessPipe:
        """Start a process that is talked with. It ends with the worker's connection to the sandbox at the latest.

        Raises ``WorkspaceError`` if it cannot be started.
        """
        ...

    async def kill(self, call_id: str) -> None:
        """End the call's process tree with TERM, then KILL. An unknown or ended call is ignored."""
        ...

    async def read_lines(self, path: str, *, first: int = 1, count: int = 2000) -> FileLines:
        """Up to ``count`` lines from line ``first``. Raises ``NoSuchFile`` or ``NotAFile``."""
        ...

    async def read(self, path: str, *, offset: int = 0, limit: int = 1 << 20) -> bytes:
        """Up to ``limit`` bytes from ``offset``. Raises ``NoSuchFile`` or ``NotAFile``."""
        ...

    async def stat(self, path: str) -> FileInfo:
        """The entry of this path. Raises ``NoSuchFile``."""
        ...

    async def list(self, path: str = ".", *, depth: int = 1, limit: int = 500) -> list[FileInfo]:
        """Up to ``limit`` entries below a folder. Raises ``NoSuchFile``, or ``NotAFile`` for a file."""
        ...

    async def write(
        self,
        call_id: str,
        path: str,
        content: bytes,
        *,
        expected_digest: str | None = None,
        keep_form: bool = False,
    ) -> FileChange:
        """Replace the whole file atomically and create its folders.

        A repeated ``call_id`` gets the answer of the first. With ``keep_form`` the content is text in
        UTF-8, and a text file that it replaces keeps its encoding, byte order mark and line ends.
        Raises ``FileChanged`` if the file has another content and its sha256 is not
        ``expected_digest``, ``TextNotEncodable``, ``NotAFile`` or ``FileTooLarge``.
        """
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
        """Replace ``old``, which must occur exactly once unless ``every`` is set.

        The file keeps its encoding, byte order mark and line ends. A repeated ``call_id`` gets the
        answer of the first. Raises ``NoSuchText``, ``TextNotUnique``, ``TextNotEncodable``,
        ``FileChanged``, ``NoSuchFile`` or ``NotAFile``.
        """
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


class TextNotEncodable(WorkspaceError):
    """The encoding of the file does not have a character of the text."""

    code = "text_not_encodable"


class FileTooLarge(WorkspaceError):
    """The file is too large for this."""

    code = "file_too_large"


class CallUnknown(WorkspaceError):
    """The runner knows no call of this id."""

    code = "call_unknown"


class Superseded(PacaError):
    """Another worker has taken over the sandbox of this conversation.

    It ends the run. A ``WorkspaceError`` would become a result for the model instead.
    """

    code = "superseded"


class SandboxUnavailable(WorkspaceError):
    """Commands cannot run on this server."""

    code = "sandbox_unavailable"


class SandboxBroken(SandboxUnavailable):
    """A sandbox ends as soon as it is started. A person must repair this before the run can go on."""

    code = "sandbox_broken"


class SandboxUnreachable(SandboxUnavailable):
    """The sandbox backend does not answer. The run waits until it does."""

    code = "sandbox_unreachable"


class SandboxGone(WorkspaceError):
    """The sandbox ended while it was in use."""

    code = "sandbox_lost"
