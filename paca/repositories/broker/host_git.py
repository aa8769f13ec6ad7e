"""Runs git on the host for mirrors: without hooks, without configuration of the system or a user, and bounded.

The credential of a repository reaches it in an anonymous file in memory: it is in no file, argument or variable.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import resource
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from paca.repositories.broker.routes import Route

ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "LC_ALL": "C.UTF-8",
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "/bin/false",
    "GIT_ALLOW_PROTOCOL": "http:https",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
}
# What holds for every command. A mirror has a configuration of its own, which only Paca writes.
CONFIG = """[core]
\thooksPath = /dev/null
\tfsmonitor = false
\tbigFileThreshold = 16m
\tpackedGitLimit = 256m
\tdeltaBaseCacheLimit = 64m
[pack]
\tthreads = 1
\twindowMemory = 64m
[gc]
\tauto = 0
[maintenance]
\tauto = false
[fetch]
\tunpackLimit = 1
\trecurseSubmodules = false
\twriteCommitGraph = false
[protocol]
\tversion = 2
[safe]
\tdirectory = *
[credential]
\thelper =
[uploadpack]
\tallowFilter = true
\tallowAnySHA1InWant = true
[http]
\tfollowRedirects = false
\tproxy =
\tsslVerify = true
"""
PR_SET_PDEATHSIG = 1
CPU_SECONDS = 3600
_libc = ctypes.CDLL(None, use_errno=True)


MAX_OUTPUT_BYTES, MAX_SAID_BYTES = 256 << 20, 1 << 20


class GitFailed(Exception):
    """Git on the host has not done what it was asked; the text is the end of what it said, without secrets."""


class TooMuchOutput(GitFailed):
    """A command printed more than was wanted of it."""


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def config_for(route: Route | None, addresses: Sequence[str] = ()) -> str:
    """The configuration, with what the server of the route needs. ``addresses``: those that were checked."""
    if route is None:
        return CONFIG
    host, port = route.server
    pinned = ",".join(map(_bracketed, addresses))
    lines = [f"\tcurloptResolve = {_quoted(f'{host}:{port}:{pinned}')}"]
    if route.ca_file:
        lines.append(f"\tsslCAInfo = {_quoted(route.ca_file)}")
    if route.header:
        lines.append(f"\textraHeader = {_quoted(f'Authorization: {route.header}')}")
    return CONFIG + "\n".join(lines) + "\n"


def _bracketed(address: str) -> str:
    return f"[{address}]" if ":" in address else address


@contextmanager
def config_file(text: str) -> Iterator[int]:
    """The descriptor of a file in memory with the configuration, which a process that inherits it can open."""
    descriptor = os.memfd_create("git", 0)
    try:
        os.write(descriptor, text.encode())
        yield descriptor
    finally:
        os.close(descriptor)


class HostGit:
    """Starts git commands. ``max_bytes``: how large a file may become that they write. ``max_memory``: how much they may
    map; 0 for no bound."""

    def __init__(self, max_bytes: int, *, max_memory: int = 0) -> None:
        self._max_bytes, self._max_memory = max_bytes, max_memory

    async def start(
        self,
        *arguments: str,
        config: int,
        protocol: str = "",
        stdin: int | None = asyncio.subprocess.DEVNULL,
        inherited: tuple[int, ...] = (),
    ) -> asyncio.subprocess.Process:
        """A running command. ``config``: a descriptor of ``config_file``; it and ``inherited`` stay open there."""
        environment = {**ENVIRONMENT, "GIT_CONFIG_GLOBAL": f"/proc/self/fd/{config}"}
        if protocol:
            environment["GIT_PROTOCOL"] = protocol
        return await asyncio.create_subprocess_exec(
            "git",
            *arguments,
            env=environment,
            cwd="/",
            stdin=stdin,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            pass_fds=(config, *inherited),
            start_new_session=True,
            preexec_fn=self._bound,
            limit=1 << 17,
        )

    async def run(
        self,
        *arguments: str,
        route: Route | None = None,
        addresses: Sequence[str] = (),
        seconds: float,
        inherited: tuple[int, ...] = (),
    ) -> str:
        """What a command printed. Raises ``GitFailed`` or ``TimeoutError``; it is killed then."""
        with config_file(config_for(route, addresses)) as config:
            output = await self._output(
                *arguments, config=config, inherited=inherited, seconds=seconds
            )
        return output.decode("utf-8", "replace")

    async def read(
        self, *arguments: str, given: bytes = b"", max_output: int, seconds: float
    ) -> bytes:
        """What a command printed that reads ``given`` and asks no server.

        Raises ``TooMuchOutput`` as soon as it prints more than ``max_output`` bytes, and what else ``run`` raises.
        """
        with config_file(config_for(None)) as config, config_file("") as stdin:
            os.write(stdin, given)
            os.lseek(stdin, 0, os.SEEK_SET)
            return await self._output(
                *arguments, config=config, stdin=stdin, max_output=max_output, seconds=seconds
            )

    async def _output(
        self,
        *arguments: str,
        config: int,
        seconds: float,
        stdin: int = asyncio.subprocess.DEVNULL,
        inherited: tuple[int, ...] = (),
        max_output: int = MAX_OUTPUT_BYTES,
    ) -> bytes:
        try:
            process = await self.start(*arguments, config=config, stdin=stdin, inherited=inherited)
        except OSError as error:
            raise GitFailed(
                f"git does not start on the server of Paca: {error.strerror}"
            ) from error
        assert process.stdout is not None
        assert process.stderr is not None
        said = asyncio.create_task(_all_of(process.stderr, MAX_SAID_BYTES))
        try:
            async with asyncio.timeout(seconds):
                output = await _all_of(process.stdout, max_output)
                problem = await said
                await process.wait()
        finally:
            said.cancel()
            kill(process)
            await process.wait()
        if process.returncode:
            raise GitFailed(problem[-1000:].decode("utf-8", "replace").strip() or "it was ended")
        return output

    def _bound(self) -> None:
        """Called in the child: it ends with this process, and within its bounds."""
        _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        resource.setrlimit(resource.RLIMIT_FSIZE, (self._max_bytes, self._max_bytes))
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if self._max_memory:
            resource.setrlimit(resource.RLIMIT_AS, (self._max_memory, self._max_memory))


async def _all_of(stream: asyncio.StreamReader, limit: int) -> bytes:
    found = bytearray()
    while piece := await stream.read(1 << 16):
        found += piece
        # guard: git-output-is-bounded
        if len(found) > limit:
            raise TooMuchOutput("it printed more than was wanted")
    return bytes(found)


def kill(process: asyncio.subprocess.Process) -> None:
    """End a command with all that it started, if it still runs."""
    if process.returncode is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def size_of(folder: Path) -> int:
    """The bytes that the files below a folder take. Files that vanish meanwhile count for nothing."""
    total = 0
    for path, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                total += (Path(path) / name).lstat().st_size
    return total
