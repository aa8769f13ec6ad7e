"""A workspace without a sandbox, for the tools' tests: real files and commands in a temporary folder."""

import asyncio
import os
import signal
import time
from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path
from typing import Any

from paca.engine.workspace import (
    CallReport,
    CallUnknown,
    Command,
    CommandOutcome,
    FileChange,
    FileInfo,
    FileLines,
    NoSuchFile,
    OnOutput,
    OutsideWorkspace,
)
from paca.sandbox.runner.errors import RequestError
from paca.sandbox.runner.files import WorkspaceFiles
from paca.sandbox.runner_client import ERRORS_BY_CODE

KEPT = 40_000


class HostSandboxWorkspace:
    """Implements ``SandboxWorkspace`` as far as the tools need it."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self.boot_id = "host"
        self.executed: list[Command] = []
        self.killed: list[str] = []
        self._calls: dict[str, asyncio.Task[CommandOutcome]] = {}
        self._files = WorkspaceFiles(str(self.root))

    def locate(self, path: str) -> Path:
        inside = (
            path.removeprefix("/workspace").lstrip("/") if path.startswith("/workspace") else path
        )
        found = Path(os.path.realpath(self.root / inside))
        if not found.is_relative_to(self.root):
            raise OutsideWorkspace
        return found

    async def run(self, command: Command, on_output: OnOutput | None = None) -> CommandOutcome:
        if command.call_id not in self._calls:
            self.executed.append(command)
            self._calls[command.call_id] = asyncio.ensure_future(self._execute(command, on_output))
        return await asyncio.shield(self._calls[command.call_id])

    async def run_for(
        self, seconds: float, command: Command, on_output: OnOutput | None = None
    ) -> CommandOutcome | None:
        call = asyncio.ensure_future(self.run(command, on_output))
        done, _ = await asyncio.wait({call}, timeout=seconds)
        return call.result() if done else None

    async def look(
        self, call_ids: Collection[str], *, characters: int = 2000
    ) -> dict[str, CallReport]:
        known = {each: self._calls[each] for each in call_ids if each in self._calls}
        return {each: CallReport(call.done(), 1.0, "") for each, call in known.items()}

    async def attach(self, call_id: str, on_output: OnOutput | None = None) -> CommandOutcome:
        if call_id not in self._calls:
            raise CallUnknown
        return await asyncio.shield(self._calls[call_id])

    async def kill(self, call_id: str) -> None:
        self.killed.append(call_id)

    async def _execute(self, command: Command, on_output: OnOutput | None) -> CommandOutcome:
        words = command.argv or ("/bin/bash", "-c", command.shell or "")
        quiet = {"GIT_TERMINAL_PROMPT": "0", "GIT_EDITOR": "false", "TERM": "dumb"}
        for who in ("AUTHOR", "COMMITTER"):
            quiet |= {f"GIT_{who}_NAME": "paca-agent", f"GIT_{who}_EMAIL": "agent@localhost"}
        began = time.monotonic()
        process = await asyncio.create_subprocess_exec(
            *words,
            cwd=self.locate(command.cwd),
            env={"PATH": os.environ["PATH"], "HOME": str(self.root), **quiet, **command.env},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
        )
        cause = ""
        try:
            raw, _ = await asyncio.wait_for(process.communicate(), command.timeout_seconds)
        except TimeoutError:
            os.killpg(process.pid, signal.SIGKILL)
            raw, cause = b"", "timed_out"
            await process.wait()
        text = raw.decode(errors="replace").replace("\0", "␀")
        if on_output:
            on_output(text)
        code, seconds = process.returncode, time.monotonic() - began
        if len(text) <= KEPT:
            return CommandOutcome(code, text, seconds, cause=cause)
        (self.root / "all.txt").write_text(text)
        short = text[: KEPT // 2] + text[-KEPT // 2 :]
        return CommandOutcome(code, short, seconds, truncated=True, file="all.txt", cause=cause)

    async def read_lines(self, path: str, *, first: int = 1, count: int = 2000) -> FileLines:
        return FileLines(**self._carry_out(self._files.read_lines, path, first, count))

    async def read(self, path: str, *, offset: int = 0, limit: int = 1 << 20) -> bytes:
        return self._carry_out(self._files.read, path, offset, limit)

    async def stat(self, path: str) -> FileInfo:
        return FileInfo(**self._carry_out(self._files.stat, path))

    async def list(self, path: str = ".", *, depth: int = 1, limit: int = 500) -> list[FileInfo]:
        return [
            FileInfo(**entry) for entry in self._carry_out(self._files.list, path, depth, limit)
        ]

    async def write(
        self,
        call_id: str,
        path: str,
        content: bytes,
        *,
        expected_digest: str | None = None,
        keep_form: bool = False,
    ) -> FileChange:
        write = partial(self._files.write, keep_form=keep_form)
        return FileChange(**self._carry_out(write, call_id, path, content, expected_digest))

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
        replace = self._files.replace
        return FileChange(
            **self._carry_out(replace, call_id, path, old, new, every, expected_digest)
        )

    def forget_calls(self) -> None:
        """Forget the earlier writes, as a new runner does."""
        self._files = WorkspaceFiles(str(self.root))

    def _carry_out(self, act: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return act(*arguments)
        except FileNotFoundError:
            raise NoSuchFile from None
        except RequestError as error:
            raise ERRORS_BY_CODE[error.code](error.detail or None) from None
