"""Docker sandboxes against Docker alone: a command, a start, a removal. Needs the daemon and the image."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any
from uuid import uuid4

from paca.engine.workspace import Command
from paca.sandbox.base import Sandbox, SandboxSpec
from paca.sandbox.docker.backend import Docker
from paca.sandbox.docker.engine import DockerEngine
from paca.sandbox.docker.warm_sandboxes import WarmSandboxes
from tests.bench.figures import Figure
from tests.support import docker_backend

ECHO = ["echo", "x"]
ROUNDS, WARM_UP, COMMANDS, EXECS = 4, 3, 25, 12
SETTLED_SECONDS = 1.0
STARTS = 12


def echo(folder: Path) -> Figure:
    """Time of a short command in a running sandbox."""
    ours, exec_ms = asyncio.run(_echoes())
    return Figure(
        "echo-docker",
        ours,
        exec_ms,
        "ms",
        'argv ["echo", "x"], median: through the runner of a Docker sandbox that runs / exec create and '
        "start by the API, connection kept, in a plain container of the same image; bar: 30x faster",
        most_times=round(1 / 30, 4),
    )


def ready(folder: Path) -> Figure:
    """Time until the first output in a new conversation's sandbox: container, volume and runner."""
    ours, bare = asyncio.run(_starts())
    return Figure(
        "sandbox-docker",
        ours,
        bare,
        "ms",
        "median: a new conversation's sandbox until its first command's output / create, start and exec of "
        "the same command by the API, a plain container of the same image",
        most_times=1.2,
    )


def warm_start(folder: Path) -> Figure:
    """Time until the first output in a sandbox from the warm pool."""
    ours, made = asyncio.run(_warm_starts())
    return Figure(
        "pool-docker",
        ours,
        made,
        "ms",
        "median: until a new conversation's first command's output, from a sandbox of the warm pool "
        "(SANDBOX_POOL_SIZE) / from a new one; bar: half",
        most_times=0.5,
    )


def removal(folder: Path) -> Figure:
    """Time to remove a sandbox. `docker stop` would wait ten seconds for a process 1 that ignores TERM."""
    ours, bare = asyncio.run(_removals())
    return Figure(
        "removal-docker",
        ours,
        bare,
        "ms",
        "median: a sandbox that runs a command until its container is gone / forced removal by the API of "
        "a plain container of the same image that sleeps",
        at_most=500,
    )


async def _echoes() -> tuple[float, float]:
    backend, spec = _backend(), SandboxSpec(uuid4())
    sandbox = await backend.open(spec, epoch=1)
    plain = await backend.engine.call(_plain)
    ours: list[float] = []
    bare: list[float] = []
    try:
        for _ in range(ROUNDS):
            # The daemon cleans up after an exec. That work would slow the next measured command.
            await asyncio.sleep(SETTLED_SECONDS)
            ours += [await _command(sandbox) for _ in range(WARM_UP + COMMANDS)][WARM_UP:]
            execs = _timed(lambda client: _exec(client, plain))
            bare += [await backend.engine.call(execs) for _ in range(WARM_UP + EXECS)][WARM_UP:]
    finally:
        await sandbox.end(keep_files=False)
        await backend.engine.call(lambda client: client.remove_container(plain, force=True))
    return median(ours), median(bare)


async def _command(sandbox: Sandbox) -> float:
    began = time.perf_counter()
    outcome = await sandbox.run(Command(uuid4().hex, argv=tuple(ECHO)))
    took = time.perf_counter() - began
    assert outcome.output == "x\n"
    return took * 1000


async def _starts() -> tuple[float, float]:
    backend = _backend()
    ours, bare = [], []
    for _ in range(1 + STARTS):
        began = time.perf_counter()
        sandbox = await backend.open(SandboxSpec(uuid4()), epoch=1)
        outcome = await sandbox.run(Command(uuid4().hex, argv=tuple(ECHO)))
        ours.append((time.perf_counter() - began) * 1000)
        assert outcome.output == "x\n"
        await sandbox.end(keep_files=False)
        began = time.perf_counter()
        plain = await backend.engine.call(_plain)
        await backend.engine.call(lambda client, plain=plain: _exec(client, plain))
        bare.append((time.perf_counter() - began) * 1000)
        await backend.engine.call(
            lambda client, plain=plain: client.remove_container(plain, force=True)
        )
    return median(ours[1:]), median(bare[1:])


async def _warm_starts() -> tuple[float, float]:
    backend = _backend()
    pool = WarmSandboxes(backend)
    taken, made = [], []
    for _ in range(1 + STARTS):
        ready = await pool.create(SandboxSpec(uuid4()), pool.new_volume(), owner="bench")
        spec = SandboxSpec(uuid4(), volume=ready.volume)
        began = time.perf_counter()
        assert await pool.assign(ready, spec.conversation_id)
        taken.append(await _first_output(backend, spec, began))
        made.append(await _first_output(backend, SandboxSpec(uuid4()), time.perf_counter()))
    return median(taken[1:]), median(made[1:])


async def _first_output(backend: Docker, spec: SandboxSpec, began: float) -> float:
    sandbox = await backend.open(spec, epoch=1)
    outcome = await sandbox.run(Command(uuid4().hex, argv=tuple(ECHO)))
    took = (time.perf_counter() - began) * 1000
    assert outcome.output == "x\n"
    await sandbox.end(keep_files=False)
    return took


async def _removals() -> tuple[float, float]:
    backend = _backend()
    ours, bare = [], []
    for _ in range(1 + STARTS):
        spec = SandboxSpec(uuid4())
        sandbox = await backend.open(spec, epoch=1)
        await sandbox.run(Command(uuid4().hex, shell="sleep 600 & echo x"))
        began = time.perf_counter()
        await sandbox.end(keep_files=True)
        ours.append((time.perf_counter() - began) * 1000)
        await backend.remove(spec.conversation_id)
        plain = await backend.engine.call(_plain)
        remove = _timed(lambda client, plain=plain: client.remove_container(plain, force=True))
        bare.append(await backend.engine.call(remove))
    return median(ours[1:]), median(bare[1:])


def _backend() -> Docker:
    docker_backend.skip_without()
    return Docker(DockerEngine(), f"bench-{uuid4().hex[:8]}", image=docker_backend.IMAGE)


def _plain(client: Any) -> str:
    """Start a container with Docker's defaults, but without a network, which would take longer."""
    host = client.create_host_config(network_mode="none")
    made = client.create_container(docker_backend.IMAGE, ["sleep", "600"], host_config=host)
    client.start(made["Id"])
    return str(made["Id"])


def _exec(client: Any, container: str) -> None:
    made = client.exec_create(container, ECHO)
    # Docker sometimes loses the output of a command as short as this.
    assert client.exec_start(made["Id"]) in (b"x\n", b"")


def _timed(work: Callable[[Any], Any]) -> Callable[[Any], float]:
    def run(client: Any) -> float:
        began = time.perf_counter()
        work(client)
        return (time.perf_counter() - began) * 1000

    return run
