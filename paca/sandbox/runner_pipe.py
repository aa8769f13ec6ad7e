"""A process of the sandbox that the worker talks with, reached through the runner."""

from __future__ import annotations

import asyncio
from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from contextlib import suppress

from paca.engine.workspace import Command, CommandOutcome, SandboxGone, WorkspaceError
from paca.sandbox.runner_answers import parse_outcome
from paca.sandbox.runner_client import Attachment, FollowedCall

PART_BYTES = 1 << 18
MAX_SECONDS = 86_400.0


class RunnerPipe:
    """Satisfies ``engine.workspace.ProcessPipe``. The runner sends more only when what came was received."""

    def __init__(self, attachment: Attachment, call_id: str) -> None:
        self._attachment = attachment
        self._call_id = call_id
        self._received: asyncio.Queue[bytes] = asyncio.Queue()
        self._call: FollowedCall | None = None

    @classmethod
    async def open(
        cls, attachment: Attachment, command: Command, env: dict[str, str]
    ) -> RunnerPipe:
        """Start the command. Raises ``WorkspaceError``."""
        pipe = cls(attachment, command.call_id)
        pipe._call = await attachment.open_call(
            command.call_id,
            pipe._take,
            shell=command.shell,
            argv=list(command.argv) if command.argv is not None else None,
            cwd=command.cwd,
            timeout=MAX_SECONDS,
            env=env,
        )
        # All output comes before the outcome.
        pipe._call.outcome.add_done_callback(lambda _: pipe._received.put_nowait(b""))
        return pipe

    def _take(self, data: str) -> None:
        with suppress(NotBase64):
            if decoded := b64decode(data, validate=True):
                self._received.put_nowait(decoded)

    async def send(self, data: bytes) -> None:
        for start in range(0, len(data), PART_BYTES):
            part = b64encode(data[start : start + PART_BYTES]).decode("ascii")
            await self._attachment.request("send", call_id=self._call_id, data=part)

    async def receive(self) -> bytes:
        data = await self._received.get()
        if not data:
            self._received.put_nowait(b"")  # for the next one who asks
            await self.outcome()  # raises if there is none, because the sandbox is gone
            return b""
        with suppress(WorkspaceError):  # if the sandbox is gone, the next one who asks is told
            await self._attachment.request("taken", call_id=self._call_id)
        return data

    async def outcome(self) -> CommandOutcome:
        """How it ended, when it has. Raises ``SandboxGone``."""
        if self._call is None:
            raise SandboxGone
        return parse_outcome(await asyncio.shield(self._call.outcome))

    async def close(self) -> None:
        try:
            with suppress(WorkspaceError):
                await self._attachment.request("kill", call_id=self._call_id)
        finally:
            if self._call is not None:
                self._attachment.unfollow(self._call_id, self._call)
