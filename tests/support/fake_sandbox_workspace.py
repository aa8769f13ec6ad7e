"""A sandbox workspace in memory with scripted commands. Its files behave as those of the real ones."""

import asyncio
import hashlib
import posixpath
from collections.abc import Callable, Collection

from paca.engine.workspace import (
    CallReport,
    CallUnknown,
    Command,
    CommandOutcome,
    FileChange,
    FileChanged,
    FileInfo,
    FileLines,
    NoSuchFile,
    NotAFile,
    OnOutput,
    OutsideWorkspace,
    SandboxGone,
)
from paca.sandbox.runner.errors import RequestError
from paca.sandbox.runner.file_type import binary_kind
from paca.sandbox.runner.files import describe_change
from paca.sandbox.runner.line_window import line_window
from paca.sandbox.runner.text_edit import TextContent, replace_text, rewrite_text
from paca.sandbox.runner.text_encoding import SAMPLE_BYTES
from paca.sandbox.runner_client import ERRORS_BY_CODE


class RunningCommand:
    """A scripted command that has written ``output`` and runs until it is killed or finished."""

    def __init__(self, output: str = "") -> None:
        self.output = output
        self.is_started = asyncio.Event()
        self.outcome: asyncio.Future[CommandOutcome] = asyncio.get_running_loop().create_future()

    def finish(self, more_output: str = "", *, exit_code: int = 0, cause: str = "") -> None:
        if not self.outcome.done():
            output = self.output + more_output
            self.outcome.set_result(CommandOutcome(exit_code, output, 0.1, cause=cause))

    def break_connection(self) -> None:
        """Let those who wait for the command find the sandbox gone. The command runs on."""
        waiting, self.outcome = self.outcome, asyncio.get_running_loop().create_future()
        waiting.set_exception(SandboxGone())


Result = CommandOutcome | RunningCommand
Answer = str | Result | Callable[[Command], Result]


class FakeSandboxWorkspace:
    """``files`` by path, ``answers`` by command line. ``ran`` holds the executed commands."""

    def __init__(
        self,
        files: dict[str, bytes | str] | None = None,
        answers: dict[str, Answer] | None = None,
        *,
        boot_id: str = "fake-boot",
    ) -> None:
        self.files = {path: _bytes(content) for path, content in (files or {}).items()}
        self.answers = dict(answers or {})
        self.ran: list[Command] = []
        self.killed: list[str] = []
        self._boot_id = boot_id
        self._outcomes: dict[str, Result] = {}
        self._changes: dict[str, FileChange] = {}

    @property
    def boot_id(self) -> str:
        return self._boot_id

    # --- commands ---------------------------------------------------------------------------------

    async def run(self, command: Command, on_output: OnOutput | None = None) -> CommandOutcome:
        if command.call_id not in self._outcomes:
            self.ran.append(command)
            self._outcomes[command.call_id] = self._answer(command)
        return await self.attach(command.call_id, on_output)

    def _answer(self, command: Command) -> Result:
        line = command.shell if command.shell is not None else " ".join(command.argv or ())
        answer = self.answers.get(line, CommandOutcome(127, f"{line}: not scripted\n", 0.0))
        if isinstance(answer, str):
            return CommandOutcome(0, answer, 0.0)
        result = answer(command) if callable(answer) else answer
        if isinstance(result, RunningCommand):
            result.is_started.set()
        return result

    async def attach(self, call_id: str, on_output: OnOutput | None = None) -> CommandOutcome:
        if call_id not in self._outcomes:
            raise CallUnknown()
        outcome = self._outcomes[call_id]
        if isinstance(outcome, RunningCommand):
            if on_output is not None and outcome.output:
                on_output(outcome.output)
            return await asyncio.shield(outcome.outcome)
        if on_output is not None and outcome.output:
            on_output(outcome.output)
        return outcome

    async def run_for(
        self, seconds: float, command: Command, on_output: OnOutput | None = None
    ) -> CommandOutcome | None:
        """A scripted running command never ends within the seconds."""
        if command.call_id not in self._outcomes:
            self.ran.append(command)
            self._outcomes[command.call_id] = self._answer(command)
        outcome = self._outcomes[command.call_id]
        if isinstance(outcome, RunningCommand):
            return outcome.outcome.result() if outcome.outcome.done() else None
        return outcome

    async def look(
        self, call_ids: Collection[str], *, characters: int = 2000
    ) -> dict[str, CallReport]:
        known = {each: self._outcomes[each] for each in call_ids if each in self._outcomes}
        return {
            each: CallReport(
                not isinstance(found, RunningCommand) or found.outcome.done(),
                1.0,
                found.output[-characters:],
            )
            for each, found in known.items()
        }

    async def kill(self, call_id: str) -> None:
        self.killed.append(call_id)
        outcome = self._outcomes.get(call_id)
        if isinstance(outcome, RunningCommand):
            outcome.finish(exit_code=-15, cause="cancelled")

    # --- files ------------------------------------------------------------------------------------

    async def read_lines(self, path: str, *, first: int = 1, count: int = 2000) -> FileLines:
        plain, data = self._file(path)
        digest = hashlib.sha256(data).hexdigest()
        binary = binary_kind(data[:SAMPLE_BYTES])
        if binary:
            return FileLines(plain, "", 0, 0, 0, len(data), digest, binary=binary)
        content = TextContent(data)
        return FileLines(
            plain,
            size=len(data),
            digest=digest,
            encoding=content.encoding.name,
            line_ends=content.line_ends,
            **line_window(content.lines(), first, count),
        )

    async def read(self, path: str, *, offset: int = 0, limit: int = 1 << 20) -> bytes:
        return self._file(path)[1][offset : offset + limit]

    async def stat(self, path: str) -> FileInfo:
        plain = _plain(path)
        if plain in self.files:
            return FileInfo(plain, "file", len(self.files[plain]), 0.0)
        if plain in self._folders():
            return FileInfo(plain, "directory", 0, 0.0)
        raise NoSuchFile()

    async def list(self, path: str = ".", *, depth: int = 1, limit: int = 500) -> list[FileInfo]:
        folder = await self.stat(path)
        if folder.kind != "directory":
            raise NotAFile("This is not a directory.")
        prefix = "" if folder.path == "." else f"{folder.path}/"
        names = sorted(
            (
                name
                for name in {*self.files, *self._folders()}
                if name != "." and name.startswith(prefix)
            ),
            key=lambda name: name.split("/"),
        )
        near = [name for name in names if name[len(prefix) :].count("/") < depth]
        return [await self.stat(name) for name in near[:limit]]

    async def write(
        self,
        call_id: str,
        path: str,
        content: bytes,
        *,
        expected_digest: str | None = None,
        keep_form: bool = False,
    ) -> FileChange:
        def edit(data: bytes) -> bytes:
            return rewrite_text(data, content) if keep_form else content

        return self._change(call_id, path, edit, expected_digest, make=True)

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
        def edit(data: bytes) -> bytes:
            return replace_text(data, old, new, every=every)

        return self._change(call_id, path, edit, expected_digest, make=False)

    def _change(
        self,
        call_id: str,
        path: str,
        edit: Callable[[bytes], bytes],
        expected: str | None,
        *,
        make: bool,
    ) -> FileChange:
        if call_id in self._changes:
            return self._changes[call_id]
        plain = _plain(path)
        if plain in self._folders():
            raise NotAFile()
        before = self.files.get(plain)
        if before is None and not make:
            raise NoSuchFile()
        if expected is not None and (
            before is None or hashlib.sha256(before).hexdigest() != expected
        ):
            raise FileChanged()
        try:
            after = edit(before or b"")
        except RequestError as error:
            raise ERRORS_BY_CODE[error.code](error.detail or None) from None
        self.files[plain] = after
        made = FileChange(**describe_change(plain, before, after))
        self._changes[call_id] = made
        return made

    def _file(self, path: str) -> tuple[str, bytes]:
        plain = _plain(path)
        if plain in self._folders():
            raise NotAFile("This is a directory, not a regular file.")
        if plain not in self.files:
            raise NoSuchFile()
        return plain, self.files[plain]

    def _folders(self) -> set[str]:
        folders = {"."}
        for path in self.files:
            while path := posixpath.dirname(path):
                folders.add(path)
        return folders


def _bytes(content: bytes | str) -> bytes:
    return content.encode() if isinstance(content, str) else content


def _plain(path: str) -> str:
    if "\0" in path:
        raise NoSuchFile()
    whole = posixpath.normpath(posixpath.join("/workspace", path))
    climbing = 0
    for part in path.removeprefix("/workspace").split("/"):
        climbing += {"..": -1, "": 0, ".": 0}.get(part, 1)
        if climbing < 0:
            raise OutsideWorkspace()
    if whole != "/workspace" and not whole.startswith("/workspace/"):
        raise OutsideWorkspace()
    return posixpath.relpath(whole, "/workspace")
