"""A broker and a gate in this process, a git server, and git as it runs in a sandbox."""

from __future__ import annotations

import asyncio
import os
import socket
from dataclasses import replace
from pathlib import Path
from uuid import UUID, uuid4

from paca.common.network_policy import EgressPolicy
from paca.repositories.broker.mirrors import Mirrors
from paca.repositories.broker.requests import Refused
from paca.repositories.broker.routes import Grant, Route
from paca.repositories.broker.serving import Broker
from paca.sandbox.egress import request_head, unix_sockets
from paca.sandbox.egress.booking import Booking
from paca.sandbox.egress.gate import Gate
from paca.sandbox.egress.repositories import Repositories, broker_socket
from tests.support.git_server import ENVIRONMENT, HEADER, GitServer

ZEROS = "0" * 40


class BrokerWorld:
    """``conversation`` may use ``repository``, which is ``app`` of the server."""

    def __init__(self, folder: Path, server: GitServer) -> None:
        self.folder, self.server = folder, server
        self.conversation, self.repository = uuid4(), uuid4()
        self.route = Route(
            server.url("app"),
            header=HEADER,
            name="app",
            private=(f"127.0.0.1:{server.port}",),
        )
        self.grants: list[Grant] = []
        self.asked = asyncio.Event()
        self.mirrors = Mirrors(folder / "mirrors", max_bytes=1 << 30, max_age_seconds=1e6)
        self.broker = Broker(self._route, self._granted, self.mirrors)
        self.budget = EgressPolicy()
        self.is_linked = True

    async def _route(self, conversation_id: UUID, repository_id: UUID) -> Route:
        wanted = conversation_id, repository_id
        if wanted != (self.conversation, self.repository) or not self.is_linked:
            raise Refused("This repository is not one of yours.")
        self.asked.set()
        return self.route

    def _granted(self, conversation_id: UUID, repository_id: UUID) -> list[Grant]:
        wanted = conversation_id, repository_id
        return [g for g in self.grants if (g.conversation_id, g.repository_id) == wanted]

    def grant(self, branch: str, new: str, old: str = ZEROS) -> None:
        self.grants.append(
            Grant(self.conversation, self.repository, f"refs/heads/{branch}", old, new)
        )

    def with_mirror(self) -> None:
        self.route = replace(self.route, mirror="ab" * 16)

    async def fill_mirror(self) -> None:
        """Let the repository have a mirror, as the server is now."""
        self.with_mirror()
        await self.mirrors.fill(self.route)

    async def __aenter__(self) -> BrokerWorld:
        broker = broker_socket(self.folder / "gates")
        broker.parent.mkdir(parents=True)
        self._serving = await unix_sockets.serve(
            unix_sockets.listen(broker),
            self.broker.serve,
            limit=request_head.MAX_HEAD_BYTES,
        )
        self._gates = []
        self.proxy = await self.gate_of(self.conversation)
        return self

    async def gate_of(self, conversation_id: UUID) -> str:
        """The address of the gate of a conversation, as a proxy."""
        gate = Gate(
            lambda: self.budget,
            Booking(self.folder / f"{conversation_id}.jsonl"),
            broker=Repositories(self._connect, conversation_id),
        )
        server = await asyncio.start_server(
            gate.serve, "127.0.0.1", 0, limit=request_head.MAX_HEAD_BYTES
        )
        self._gates.append(server)
        return f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"

    async def _connect(self) -> socket.socket:
        return unix_sockets.connect(broker_socket(self.folder / "gates"))

    async def __aexit__(self, *_: object) -> None:
        for usage in self.mirrors._used.values():
            if usage.filling is not None:
                await asyncio.wait({usage.filling})
        for server in (self._serving, *self._gates):
            server.close()

    @property
    def url(self) -> str:
        return f"http://repositories.paca/{self.repository}/"

    async def git(
        self,
        *arguments: str,
        proxy: str = "",
        cwd: Path | None = None,
        stdin: bytes = b"",
    ) -> tuple[int, str]:
        """The exit code and the output of git in the sandbox."""
        process = await asyncio.create_subprocess_exec(
            "git",
            *arguments,
            cwd=cwd or self.folder,
            env={**ENVIRONMENT, "http_proxy": proxy or self.proxy, "GIT_TERMINAL_PROMPT": "0"},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        output, _ = await process.communicate()
        return process.returncode or 0, output.decode()

    async def clone(self, *options: str, to: str = "clone") -> Path:
        code, output = await self.git("clone", "-q", *options, self.url, to)
        assert code == 0, output
        return self.folder / to

    async def commit(self, clone: Path, name: str = "new.txt", size: int = 10) -> str:
        (clone / name).write_bytes(os.urandom(size))
        for arguments in (("add", "-A"), ("commit", "-q", "-m", "new")):
            code, output = await self.git(*arguments, cwd=clone)
            assert code == 0, output
        return (await self.git("rev-parse", "HEAD", cwd=clone))[1].strip()

    async def connect(self, proxy: str = "") -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A connection to the gate."""
        port = int((proxy or self.proxy).rpartition(":")[2])
        return await asyncio.open_connection("127.0.0.1", port)

    async def ask(self, *parts: bytes, proxy: str = "") -> bytes:
        """All that a request of bytes gets."""
        reader, writer = await self.connect(proxy)
        for part in parts:
            writer.write(part)
        try:
            return await reader.read(-1)
        finally:
            writer.close()

    def get(self, path: str) -> bytes:
        """A request of git by GET, for the repository."""
        return f"GET {self.url}{path} HTTP/1.1\r\nHost: repositories.paca\r\n\r\n".encode()

    def post(self, service: str, headers: str, body: bytes) -> bytes:
        """A request of git by POST, for the repository."""
        return (
            f"POST {self.url}{service} HTTP/1.1\r\nHost: repositories.paca\r\n"
            f"Content-Type: application/x-{service}-request\r\n{headers}\r\n\r\n"
        ).encode() + body
