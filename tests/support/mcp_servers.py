"""MCP servers in memory, as the settings of an agent would have them, and processes on this machine for them."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from paca.engine.mcp.group import ServerGroup
from paca.engine.mcp.settings import (
    McpServerSettings,
    OfferedTool,
    PinnedTool,
    ServerOffer,
    ServerState,
)
from paca.engine.workspace import CallUnknown, Command, CommandOutcome
from tests.support.fake_sandbox_workspace import FakeSandboxWorkspace

SERVER = Path(__file__).with_name("mcp_stdio_server.py")


class HostPipe:
    """A ``ProcessPipe`` of a process on this machine."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self._errors = asyncio.create_task(self._read_errors())

    async def _read_errors(self) -> str:
        assert self.process.stderr is not None
        return (await self.process.stderr.read()).decode()[-2000:]

    async def send(self, data: bytes) -> None:
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(data)
            await self.process.stdin.drain()
        except (BrokenPipeError, ConnectionResetError):
            raise CallUnknown from None

    async def receive(self) -> bytes:
        assert self.process.stdout is not None
        return await self.process.stdout.read(1 << 16)

    async def outcome(self) -> CommandOutcome:
        code = await self.process.wait()
        return CommandOutcome(code, await self._errors, 0.0)

    async def close(self) -> None:
        if self.process.returncode is None:
            # Not ``kill`` of the process: it may take the exit code away from the event loop.
            with suppress(ProcessLookupError):
                os.kill(self.process.pid, signal.SIGKILL)
        # A reader that is full would hold the end up.
        self.process._transport.get_pipe_transport(1).close()  # type: ignore[attr-defined]
        await self.process.wait()
        self._errors.cancel()
        await asyncio.wait({self._errors})


class HostPipes(FakeSandboxWorkspace):
    """A fake workspace whose pipes are processes on this machine."""

    def __init__(self) -> None:
        super().__init__()
        self.pipes: list[HostPipe] = []

    async def open_pipe(self, command: Command) -> HostPipe:
        assert command.argv is not None
        process = await asyncio.create_subprocess_exec(
            *command.argv,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={"PATH": "/usr/bin:/bin", **command.env},
        )
        self.pipes.append(HostPipe(process))
        return self.pipes[-1]


@dataclass
class MemoryServers:
    """Satisfies ``McpServers``. ``accepts``: whether people accept new and changed tools at once."""

    servers: dict[str, McpServerSettings] = field(default_factory=dict)
    accepts: bool = True
    reports: list[tuple[str, str, str]] = field(default_factory=list)
    tokens: list[str] = field(default_factory=list)
    safe: bool = False

    def add(self, settings: McpServerSettings) -> McpServerSettings:
        self.servers[settings.id] = settings
        return settings

    def add_stdio(self, name: str, *faults: str, **options: Any) -> McpServerSettings:
        given = {"command": sys.executable, "args": (str(SERVER), *faults)} | options
        return self.add(McpServerSettings(name, name, "stdio", **given))

    def accept(self, server: str, tool: str, **changes: Any) -> None:
        """What a person does on the page."""
        settings = self.servers[server]
        pinned = replace(settings.tools[tool], accepted=True, **changes)
        self.servers[server] = replace(settings, tools={**settings.tools, tool: pinned})

    async def settings(self) -> tuple[McpServerSettings, ...]:
        return tuple(sorted(self.servers.values(), key=lambda each: each.name))

    async def access_token(self, server: McpServerSettings, refused: str = "") -> str:
        self.tokens.append(refused)
        return f"token-{len(self.tokens)}"

    async def decided(
        self, server: McpServerSettings, names: Sequence[str]
    ) -> Mapping[str, PinnedTool] | None:
        if server.id not in self.servers:
            return None
        tools = self.servers[server.id].tools
        return {name: tools[name] for name in names if name in tools}

    async def report(
        self,
        server: McpServerSettings,
        state: ServerState,
        error: str = "",
        offer: ServerOffer | None = None,
    ) -> Mapping[str, PinnedTool]:
        server_id = server.id
        self.reports.append((server_id, str(state), error))
        settings = self.servers[server_id]
        if offer is not None:
            pins = {
                tool.name: self._pin(settings.tools.get(tool.name), tool) for tool in offer.tools
            }
            settings = replace(
                settings, tools=pins, resources=offer.resources, prompts=offer.prompts
            )
            self.servers[server_id] = settings
        return settings.tools

    def _pin(self, before: PinnedTool | None, tool: OfferedTool) -> PinnedTool:
        if before is not None and before.hash == tool.hash:
            return before
        return PinnedTool(tool.hash, self.accepts, self.safe, True, tool)


def make_group(servers: MemoryServers, workspace: HostPipes | None = None) -> ServerGroup:
    """The group of a run over these servers."""
    pipes = workspace or HostPipes()

    async def open_workspace() -> Any:
        return pipes

    return ServerGroup(servers, open_workspace)
