"""A workspace without a sandbox, for the tools' tests: real files and commands in a temporary folder."""

import asyncio
import difflib
import hashlib
import os
import signal
import time
from pathlib import Path

from paca.engine.workspace import (
    CallUnknown,
    Command,
    CommandOutcome,
    FileChange,
    FileChanged,
    FileInfo,
    FileLines,
    NoSuchFile,
    NoSuchText,
    NotAFile,
    OnOutput,
    OutsideWorkspace,
    TextNotUnique,
)

KEPT = 40_000
KINDS = {b"%PDF": "PDF", b"\x89PNG": "PNG image", b"\x1f\x8b": "gzip"}


def digest_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


class HostSandboxWorkspace:
    """Implements ``SandboxWorkspace`` as far as the tools need it."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self.boot_id = "host"
        self.executed: list[Command] = []
        self.killed: list[str] = []
        self._calls: dict[str, asyncio.Task[CommandOutcome]] = {}
        self._changes: dict[str, FileChange] = {}

    def locate(self, path: str) -> Path:
        inside = (
            path.removeprefix("/workspace").lstrip("/") if path.startswith("/workspace") else path
        )
        found = Path(os.path.realpath(self.root / inside))
        if not found.is_relative_to(self.root):
            raise OutsideWorkspace
        return found

    def plain(self, path: Path) -> str:
        return str(path.relative_to(self.root))

    async def run(self, command: Command, on_output: OnOutput | None = None) -> CommandOutcome:
        if command.call_id not in self._calls:
            self.executed.append(command)
            self._calls[command.call_id] = asyncio.ensure_future(self._execute(command, on_output))
        return await asyncio.shield(self._calls[command.call_id])

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
        file = self._file(path)
        raw = file.read_bytes()
        digest = digest_of(raw)
        name, size = self.plain(file), len(raw)
        binary = next((kind for magic, kind in KINDS.items() if raw.startswith(magic)), "")
        if binary or b"\0" in raw:
            return FileLines(name, "", 0, 0, 0, size, digest, binary=binary or "unknown kind")
        lines = raw.decode(errors="replace").splitlines(keepends=True)
        shown = lines[first - 1 : first - 1 + count]
        last = first + len(shown) - 1
        text = "".join(shown)
        return FileLines(name, text, first, last, len(lines), size, digest, last < len(lines))

    def _file(self, path: str) -> Path:
        file = self.locate(path)
        if not file.exists():
            raise NoSuchFile
        if not file.is_file():
            raise NotAFile
        return file

    async def read(self, path: str, *, offset: int = 0, limit: int = 1 << 20) -> bytes:
        return self._file(path).read_bytes()[offset : offset + limit]

    async def stat(self, path: str) -> FileInfo:
        file = self.locate(path)
        if not file.exists():
            raise NoSuchFile
        return self._info(file)

    def _info(self, file: Path) -> FileInfo:
        facts = file.lstat()
        kind = "link" if file.is_symlink() else "file" if file.is_file() else "other"
        kind = "directory" if kind == "other" and file.is_dir() else kind
        return FileInfo(self.plain(file), kind, facts.st_size, facts.st_mtime)

    async def list(self, path: str = ".", *, depth: int = 1, limit: int = 500) -> list[FileInfo]:
        folder = self.locate(path)
        if not folder.exists():
            raise NoSuchFile
        if not folder.is_dir():
            raise NotAFile
        below = [f for f in sorted(folder.rglob("*")) if len(f.relative_to(folder).parts) <= depth]
        return [self._info(file) for file in below[:limit]]

    async def write(
        self, call_id: str, path: str, content: bytes, *, expected_digest: str | None = None
    ) -> FileChange:
        if call_id in self._changes:
            return self._changes[call_id]
        file = self.locate(path)
        if file.is_dir():
            raise NotAFile
        old = file.read_bytes() if file.exists() else None
        if expected_digest and (old is None or digest_of(old) != expected_digest):
            raise FileChanged
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        change = self._change(file, old, content)
        self._changes[call_id] = change
        return change

    def _change(self, file: Path, old: bytes | None, new: bytes) -> FileChange:
        before, after = (old or b"").decode(errors="replace"), new.decode(errors="replace")
        rows = list(difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm=""))
        added = sum(row.startswith("+") and not row.startswith("+++") for row in rows)
        removed = sum(row.startswith("-") and not row.startswith("---") for row in rows)
        digest = digest_of(new)
        return FileChange(self.plain(file), old is None, digest, added, removed, "\n".join(rows))

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
        if call_id in self._changes:
            return self._changes[call_id]
        text = self._file(path).read_bytes().decode(errors="replace")
        if expected_digest and digest_of(text.encode()) != expected_digest:
            raise FileChanged
        if old not in text:
            raise NoSuchText
        if text.count(old) > 1 and not every:
            raise TextNotUnique
        return await self.write(call_id, path, text.replace(old, new).encode())
