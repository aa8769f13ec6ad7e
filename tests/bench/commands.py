"""Wall time of a trivial command: through a sandbox's runner, and as a process of our own."""

from __future__ import annotations

import asyncio
import subprocess
import time
from pathlib import Path
from statistics import median
from uuid import uuid4

from paca.engine.workspace import Command
from paca.sandbox.base import Sandbox, SandboxSpec
from paca.sandbox.manager import SandboxManager
from tests.bench.figures import Figure

WARM_UP = 10
ROUNDS = 200


def echo(folder: Path) -> Figure:
    """The store has no part in it: this is what the sandbox adds to a command."""
    ours, bare = asyncio.run(_echoes(folder))
    return Figure(
        "echo",
        median(ours),
        median(bare),
        "ms",
        'argv ["echo", "x"], median: through the runner of a bubblewrap sandbox that runs / '
        "subprocess.run; no database",
        most_times=3,
    )


async def _echoes(folder: Path) -> tuple[list[float], list[float]]:
    manager = SandboxManager(kind="bubblewrap", data_dir=folder, install_id="bench")
    sandbox = await manager.open(SandboxSpec(uuid4()), epoch=1)
    ours, bare = [], []
    try:
        for _ in range(WARM_UP + ROUNDS):
            ours.append(await _through_the_runner(sandbox))
            bare.append(_as_our_own())
    finally:
        await sandbox.end(keep_files=False)
    return ours[WARM_UP:], bare[WARM_UP:]


async def _through_the_runner(sandbox: Sandbox) -> float:
    began = time.perf_counter()
    outcome = await sandbox.run(Command(uuid4().hex, argv=("echo", "x")))
    took = time.perf_counter() - began
    assert (outcome.exit_code, outcome.output) == (0, "x\n")
    return took * 1000


def _as_our_own() -> float:
    began = time.perf_counter()
    done = subprocess.run(["echo", "x"], stdout=subprocess.PIPE, text=True, check=True)
    took = time.perf_counter() - began
    assert done.stdout == "x\n"
    return took * 1000
