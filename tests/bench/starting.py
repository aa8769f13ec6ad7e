"""Wall time until a new sandbox is ready: with its runner, and for bare namespaces."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from uuid import uuid4

from paca.engine.workspace import Command
from paca.sandbox.base import SandboxSpec
from paca.sandbox.manager import SandboxManager
from paca.sandbox.runner_bundle import find_bwrap
from tests.bench.figures import Figure

WARM_UP = 2
ROUNDS = 15
MOUNTS = ("--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp")
# The same program as the runner's, with the same flags: what it costs to start is in both.
PYTHON = (str(Path(sys.executable).resolve()), "-I", "-S", "-X", "utf8", "-c", "print('x')")
ECHO = ("echo", "x")


def sandbox(folder: Path) -> Figure:
    """Ready means that the runner has answered for the first time.

    The runner loads the modules for commands after that, so the time of the first command is
    printed too, as is that of the emptiest possible sandbox.
    """
    ready, first_output, python, echo = asyncio.run(_starts(folder))
    return Figure(
        "sandbox",
        ready,
        python,
        "ms",
        "median: a new conversation's sandbox until its runner answers "
        f"(until the first command's output: {first_output:.0f} ms) / a bare bwrap --unshare-all on "
        f"a read-only system until a Python in it prints (until echo does: {echo:.0f} ms); "
        "no database",
        most_times=2,
    )


async def _starts(folder: Path) -> list[float]:
    """Medians: ours until ready and until a first output, bwrap with Python, bwrap with echo."""
    manager = SandboxManager(kind="bubblewrap", data_dir=folder, install_id="bench")
    rounds = [
        (*await _ours(manager), _bare(*PYTHON), _bare(*ECHO)) for _ in range(WARM_UP + ROUNDS)
    ]
    return [median(column) for column in zip(*rounds[WARM_UP:], strict=True)]


async def _ours(manager: SandboxManager) -> tuple[float, float]:
    began = time.perf_counter()
    sandbox = await manager.open(SandboxSpec(uuid4()), epoch=1)
    try:
        ready = time.perf_counter() - began
        outcome = await sandbox.run(Command(uuid4().hex, argv=ECHO))
        first_output = time.perf_counter() - began
        assert outcome.output == "x\n"
    finally:
        await sandbox.end(keep_files=False)
    return ready * 1000, first_output * 1000


def _bare(*program: str) -> float:
    bwrap = find_bwrap()
    assert bwrap is not None
    began = time.perf_counter()
    with subprocess.Popen(
        [bwrap, "--unshare-all", *MOUNTS, "--", *program], stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"x\n"
        return (time.perf_counter() - began) * 1000
