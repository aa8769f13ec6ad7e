"""Runs git on the host: without hooks, without configuration of the system or a user, and bounded.

The credential of a repository reaches it in an anonymous file in memory: it is in no file, argument or variable.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import signal
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from paca.repositories.broker.bodies import PIECE_BYTES
from paca.repositories.broker.git_config import config_file, config_for
from paca.repositories.broker.routes import Route
from paca.repositories.broker.watching import while_watched

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
CPU_SECONDS = 3600
MEMORY_BYTES = 2 << 30
MAX_OUTPUT_BYTES, MAX_PROBLEM_BYTES = 64 << 20, 4 << 10
LOOK_SECONDS, VERSION_SECONDS = 1.0, 15.0
# The first one that connects to an address that was checked before.
OLDEST_GIT = (2, 37)
# Each program with the package that has it.
PROGRAMS = {"git": "git", "setpriv": "util-linux", "prlimit": "util-linux"}
MISSING = "{} is missing on the server of Paca, and git does not run there without it. An operator can install {}."
TOO_OLD = "git on the server of Paca is too old: {}.{} is needed. An operator can install it."
Look = Callable[[], Awaitable[None]]


class GitFailed(Exception):
    """Git on the host has not done what it was asked; the text is the end of what it said, without secrets.

    ``code`` is its exit code; None if it was ended.
    """

    def __init__(self, problem: str, code: int | None = None) -> None:
        super().__init__(problem)
        self.code = code


class GitUnusable(GitFailed):
    """Git cannot be used on this machine until an operator installs something; the text says what."""


class TooMuchOutput(GitFailed):
    """A command printed more than was wanted of it."""


def missing_programs() -> list[str]:
    """The programs that are not there, of those with which git runs on the host."""
    return [name for name in PROGRAMS if shutil.which(name, path=ENVIRONMENT["PATH"]) is None]


class HostGit:
    """Starts git commands. ``max_bytes``: how large a file may become that they write. ``max_memory``: how much they may
    map; 0 for no bound but that of what they take for themselves."""

    def __init__(self, max_bytes: int, *, max_memory: int = 0) -> None:
        self._max_bytes, self._max_memory = max_bytes, max_memory
        self._keeps_to_addresses = False

    async def start(
        self,
        *arguments: str,
        config: int,
        protocol: str = "",
        stdin: int | BinaryIO | None = asyncio.subprocess.DEVNULL,
        inherited: tuple[int, ...] = (),
    ) -> asyncio.subprocess.Process:
        """A running command. ``config``: a descriptor of ``config_file``; it and ``inherited`` stay open there.

        Raises ``GitUnusable`` or ``OSError``.
        """
        if missing := missing_programs():
            raise GitUnusable(MISSING.format(missing[0], PROGRAMS[missing[0]]))
        environment = {**ENVIRONMENT, "GIT_CONFIG_GLOBAL": f"/proc/self/fd/{config}"}
        if protocol:
            environment["GIT_PROTOCOL"] = protocol
        return await asyncio.create_subprocess_exec(
            *self._bounds(),
            "git",
            *arguments,
            env=environment,
            cwd="/",
            stdin=stdin,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            pass_fds=(config, *inherited),
            start_new_session=True,
            limit=1 << 17,
        )

    async def run(
        self,
        *arguments: str,
        route: Route | None = None,
        addresses: Sequence[str] = (),
        seconds: float,
        inherited: tuple[int, ...] = (),
        stdin: int | BinaryIO | None = asyncio.subprocess.DEVNULL,
        max_output: int = MAX_OUTPUT_BYTES,
        look: Look | None = None,
    ) -> str:
        """What a command printed. ``look`` is called each second meanwhile, and ends it by what it raises.

        Raises ``GitFailed`` or ``TimeoutError``; it is killed then. Raises ``GitUnusable`` if git is too old to keep to
        the addresses that were checked.
        """
        if route is not None:
            await self._require_checked_addresses()
        with config_file(config_for(route, addresses)) as config:
            output = await self._output(
                *arguments,
                config=config,
                inherited=inherited,
                stdin=stdin,
                max_output=max_output,
                seconds=seconds,
                look=look,
            )
        return output.decode("utf-8", "replace")

    async def _require_checked_addresses(self) -> None:
        """An older git would resolve the name of the server anew. Raises ``GitUnusable``."""
        # guard: git-keeps-to-checked-addresses
        if not self._keeps_to_addresses and (await self.version())[:2] < OLDEST_GIT:
            raise GitUnusable(TOO_OLD.format(*OLDEST_GIT))
        self._keeps_to_addresses = True

    async def version(self) -> tuple[int, ...]:
        """The version of git; empty if it says none. Raises ``GitFailed`` or ``TimeoutError``."""
        found = re.search(r"\d+(?:\.\d+)+", await self.run("--version", seconds=VERSION_SECONDS))
        return tuple(map(int, found[0].split("."))) if found else ()

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
        stdin: int | BinaryIO | None,
        max_output: int,
        seconds: float,
        inherited: tuple[int, ...] = (),
        look: Look | None = None,
    ) -> bytes:
        try:
            process = await self.start(*arguments, config=config, inherited=inherited, stdin=stdin)
        except OSError as error:
            raise GitFailed(
                f"git does not start on the server of Paca: {error.filename}: {error.strerror}"
            ) from error
        try:
            async with asyncio.timeout(seconds):
                reading = _read(process, max_output)
                watched = while_watched(reading, look, seconds=LOOK_SECONDS) if look else reading
                output, problem = await watched
        finally:
            kill(process)
            await process.wait()
        if process.returncode:
            said = problem.decode("utf-8", "replace").strip() or "it was ended"
            raise GitFailed(said[-1000:], process.returncode)
        return output

    def _bounds(self) -> list[str]:
        """The programs of util-linux that become git: it ends with this process, and within its bounds.

        Code of Python between fork and exec could wait for ever for a lock that another thread holds.
        """
        limits = {"fsize": self._max_bytes, "data": MEMORY_BYTES, "cpu": CPU_SECONDS, "core": 0}
        if self._max_memory:
            limits["as"] = self._max_memory
        # guard: git-on-the-host-is-bounded
        bounds = [f"--{name}={value}" for name, value in limits.items()]
        return ["setpriv", "--pdeathsig", "KILL", "prlimit", *bounds]


async def _read(process: asyncio.subprocess.Process, most: int) -> tuple[bytes, bytes]:
    """What a process prints until it ends, and the end of what it says of problems. Raises ``GitFailed``."""
    assert process.stdout is not None
    assert process.stderr is not None
    reading_problem = asyncio.create_task(_read_end(process.stderr))
    try:
        output = await _read_all(process.stdout, most)
        problem = await reading_problem
        await process.wait()
        return output, problem
    finally:
        reading_problem.cancel()


async def _read_all(stream: asyncio.StreamReader, most: int) -> bytes:
    pieces, size = [], 0
    while piece := await stream.read(PIECE_BYTES):
        pieces.append(piece)
        size += len(piece)
        # guard: git-output-is-bounded
        if size > most:
            raise TooMuchOutput("git printed more than was wanted")
    return b"".join(pieces)


async def _read_end(stream: asyncio.StreamReader) -> bytes:
    end = b""
    while piece := await stream.read(PIECE_BYTES):
        end = (end + piece)[-MAX_PROBLEM_BYTES:]
    return end


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
