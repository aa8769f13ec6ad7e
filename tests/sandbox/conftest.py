"""Fixtures with a sandbox of each backend, and short methods for what tests do with it."""

import asyncio
import itertools
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from paca.engine.workspace import Command, CommandOutcome, OnOutput, SandboxWorkspace
from paca.sandbox.base import Backend, Sandbox, SandboxLimits, SandboxSpec
from paca.sandbox.bubblewrap.backend import Bubblewrap
from paca.sandbox.exit_cause import ExitCause
from tests.support import docker_backend

BACKENDS: dict[str, Callable[..., Backend]] = {
    "bubblewrap": lambda data_dir, idle_seconds=30: Bubblewrap(
        data_dir, "tests", idle_seconds=idle_seconds
    ),
    "docker": docker_backend.make,
}
# For tests that use files and processes which exist on the host with one backend only.
only_bubblewrap = pytest.mark.parametrize("backend", ["bubblewrap"], indirect=True)
only_docker = pytest.mark.parametrize(
    "backend", [pytest.param("docker", marks=pytest.mark.docker)], indirect=True
)
PARAMETERS = ["bubblewrap", pytest.param("docker", marks=pytest.mark.docker)]
call_numbers = itertools.count(1)


class SandboxHandle:
    """An open sandbox with short methods, which make up the call ids."""

    def __init__(self, sandbox: Sandbox, spec: SandboxSpec) -> None:
        self.sandbox = sandbox
        self.spec = spec

    async def bash(
        self,
        line: str,
        *,
        seconds: float = 20,
        call_id: str = "",
        cwd: str = ".",
        on_output: OnOutput | None = None,
        **env: str,
    ) -> CommandOutcome:
        return await self.sandbox.run(
            Command(
                call_id or f"call-{next(call_numbers)}",
                shell=line,
                cwd=cwd,
                timeout_seconds=seconds,
                env=env,
            ),
            on_output,
        )

    async def begin(self, line: str, **options: Any) -> "asyncio.Task[CommandOutcome]":
        """Start a command and wait until its shell runs. Its output starts with ``begun``."""
        begun = asyncio.Event()
        command = self.bash(f"echo begun; {line}", on_output=lambda _: begun.set(), **options)
        running = asyncio.create_task(command)
        async with asyncio.timeout(120):
            await begun.wait()
        return running

    async def write(self, path: str, content: bytes | str) -> None:
        await write_file(self.sandbox, path, content)

    async def processes(self) -> str:
        """The command lines of all processes inside, without those of this request."""
        found = await self.bash(
            "for p in /proc/[0-9]*; do [ $p != /proc/$$ ] && [ $p != /proc/1 ] &&"
            " tr '\\0' ' ' < $p/cmdline && echo; done 2>/dev/null"
        )
        return "\n".join(
            line for line in found.output.splitlines() if line and "/proc/[0-9]*" not in line
        )


async def wait_for_exit(backend: Backend, conversation_id: uuid.UUID) -> ExitCause:
    """Wait until the sandbox has ended by itself; gives its exit cause."""
    async with asyncio.timeout(60):
        while (cause := await backend.find_exit_cause(conversation_id)) is None:  # noqa: ASYNC110 - a state on the disk
            await asyncio.sleep(0.05)
    return cause


async def write_file(workspace: SandboxWorkspace, path: str, content: bytes | str) -> None:
    data = content.encode() if isinstance(content, str) else content
    await workspace.write(f"write-{next(call_numbers)}", path, data)


@pytest.fixture(params=PARAMETERS)
def backend(request, tmp_path) -> Backend:
    if request.param == "docker":
        docker_backend.skip_without()
    return BACKENDS[request.param](tmp_path)


@pytest.fixture
def another_backend(backend) -> Callable[..., Backend]:
    """Makes another backend of the same kind, which belongs to another installation if its folder differs."""
    return BACKENDS[backend.name]


OpenSandbox = Callable[..., Awaitable[SandboxHandle]]


@pytest.fixture
async def open_sandbox(backend, anyio_backend) -> AsyncIterator[OpenSandbox]:
    """Opens sandboxes and destroys them after the test."""
    opened: list[Sandbox] = []

    async def open_one(
        *,
        epoch: int = 1,
        conversation: uuid.UUID | None = None,
        session: str = "",
        **limits: float,
    ) -> SandboxHandle:
        spec = SandboxSpec(
            conversation or uuid.uuid4(), limits=SandboxLimits(**limits), session=session
        )
        opened.append(await backend.open(spec, epoch=epoch))
        return SandboxHandle(opened[-1], spec)

    yield open_one
    for sandbox in opened:
        await sandbox.end(keep_files=False)


@pytest.fixture
async def handle(open_sandbox) -> SandboxHandle:
    return await open_sandbox()
