"""A workspace reached through a runner; every backend's sandbox is one of these."""

from base64 import b64decode, b64encode
from typing import Any, TypeVar

from paca.engine.workspace import (
    Command,
    CommandOutcome,
    FileChange,
    FileInfo,
    FileLines,
    OnOutput,
    SandboxGone,
)
from paca.sandbox.runner_client import Attachment

Answer = TypeVar("Answer")


class RunnerWorkspace:
    """The ``SandboxWorkspace`` Protocol over one attachment. ``environment``: what commands find besides what
    the runner gives to all."""

    def __init__(self, attachment: Attachment, environment: dict[str, str]) -> None:
        self._attachment = attachment
        self._environment = environment

    @property
    def boot_id(self) -> str:
        return self._attachment.boot_id

    @property
    def lost(self) -> bool:
        """The runner is gone or another worker holds it: open the sandbox anew."""
        return self._attachment.lost

    @property
    def resumed(self) -> bool:
        return self._attachment.resumed

    async def wait_until_lost(self) -> None:
        await self._attachment.wait_until_lost()

    async def run(self, command: Command, on_output: OnOutput | None = None) -> CommandOutcome:
        outcome = await self._attachment.run_call(
            "run",
            command.call_id,
            on_output,
            shell=command.shell,
            argv=list(command.argv) if command.argv is not None else None,
            cwd=command.cwd,
            timeout=command.timeout_seconds,
            env={**self._environment, **command.env},
        )
        return _parse(CommandOutcome, outcome)

    async def attach(self, call_id: str, on_output: OnOutput | None = None) -> CommandOutcome:
        return _parse(CommandOutcome, await self._attachment.run_call("follow", call_id, on_output))

    async def kill(self, call_id: str) -> None:
        await self._attachment.request("kill", call_id=call_id)

    async def read_lines(self, path: str, *, first: int = 1, count: int = 2000) -> FileLines:
        return _parse(FileLines, await self._ask("read_lines", path=path, first=first, count=count))

    async def read(self, path: str, *, offset: int = 0, limit: int = 1 << 20) -> bytes:
        return b64decode(await self._ask("read", path=path, offset=offset, limit=limit))

    async def stat(self, path: str) -> FileInfo:
        return _parse(FileInfo, await self._ask("stat", path=path))

    async def list(self, path: str = ".", *, depth: int = 1, limit: int = 500) -> list[FileInfo]:
        entries = await self._ask("list", path=path, depth=depth, limit=limit)
        return [_parse(FileInfo, entry) for entry in entries]

    async def write(
        self, call_id: str, path: str, content: bytes, *, expected_digest: str | None = None
    ) -> FileChange:
        encoded = b64encode(content).decode("ascii")
        change = await self._ask(
            "write", call_id=call_id, path=path, content=encoded, expected=expected_digest
        )
        return _parse(FileChange, change)

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
        change = await self._ask(
            "replace",
            call_id=call_id,
            path=path,
            old=old,
            new=new,
            every=every,
            expected=expected_digest,
        )
        return _parse(FileChange, change)

    async def detach(self) -> None:
        self._attachment.close()

    async def _ask(self, op: str, **fields: Any) -> Any:
        return await self._attachment.request(op, **fields)


def _parse(cls: type[Answer], facts: Any) -> Answer:
    try:
        return cls(**facts)
    except TypeError:
        raise SandboxGone("The sandbox gave an answer that makes no sense.") from None
