"""Wall time of a clone: in a sandbox through the gate and the broker, and by git alone on the host."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from statistics import median
from uuid import uuid4

from paca.common.network_policy import EgressPolicy
from paca.engine.tools import repository_commands as commands
from paca.repositories.broker.routes import Route
from paca.repositories.broker.running import BrokerClient
from paca.sandbox.base import Sandbox, SandboxSpec
from paca.sandbox.manager import SandboxManager
from tests.bench.figures import Figure
from tests.support.git_server import ENVIRONMENT, HEADER, GitServer

ROUNDS = 3
FILES, FILE_BYTES = 200, 512 << 10  # 100 MB that do not compress
SECONDS = 600.0


def from_the_server(folder: Path) -> Figure:
    """The first clone of a repository on a machine."""
    return _figure(folder, "clone-server", "passed on to the server", mirrors_mib=0)


def from_the_mirror(folder: Path) -> Figure:
    """Each later clone."""
    return _figure(folder, "clone-mirror", "from the mirror of the machine", mirrors_mib=4096)


def _figure(folder: Path, name: str, how: str, *, mirrors_mib: int) -> Figure:
    with GitServer(folder / "server") as server:
        server.create("app", {f"{n}/data": os.urandom(FILE_BYTES) for n in range(FILES)})
        ours, bare = asyncio.run(_clones(folder, server, mirrors_mib))
    compared = (
        f"100 MB from git http-backend, median of {ROUNDS}: in a bubblewrap sandbox, {how} / git clone on the host;"
        " no database"
    )
    return Figure(name, median(ours), median(bare), "ms", compared, most_times=1.5)


async def _clones(
    folder: Path, server: GitServer, mirrors_mib: int
) -> tuple[list[float], list[float]]:
    manager = SandboxManager(kind="bubblewrap", data_dir=folder, install_id="bench")
    broker = BrokerClient(manager.gates.root, folder / "mirrors", mirrors_mib=mirrors_mib)
    route = Route(
        server.url("app"),
        header=HEADER,
        name="app",
        mirror="ab" * 16 if mirrors_mib else "",
        private=(f"127.0.0.1:{server.port}",),
    )
    inside = f"http://repositories.paca/{uuid4()}/"
    spec = SandboxSpec(uuid4(), egress=EgressPolicy(), repositories=((route.url, inside),))

    async def find(*_: object) -> Route:
        return route

    spec = await manager.with_gate(spec)
    await broker.ensure_process()
    answering = asyncio.create_task(broker.answer(find))
    sandbox = await manager.open(spec, epoch=1)
    ours, bare = [], []
    try:
        if mirrors_mib:
            await _fill(sandbox, route, inside, folder / "mirrors")
        for number in range(ROUNDS):
            ours.append(await _in_the_sandbox(sandbox, route, inside, f"app{number}"))
            bare.append(await asyncio.to_thread(_alone, server, folder / f"bare{number}"))
    finally:
        answering.cancel()
        await sandbox.end(keep_files=False)
        _end(broker)
        manager.gates.remove_all()
    return ours, bare


async def _fill(sandbox: Sandbox, route: Route, inside: str, mirrors: Path) -> None:
    await _in_the_sandbox(sandbox, route, inside, "first")
    async with asyncio.timeout(SECONDS):
        while not list(mirrors.glob("*.git")):  # noqa: ASYNC110 - another process makes it
            await asyncio.sleep(0.1)


async def _in_the_sandbox(sandbox: Sandbox, route: Route, inside: str, name: str) -> float:
    wanted = commands.Clone(name, route.url, inside)
    began = time.perf_counter()
    outcome = await sandbox.run(commands.clone_command(wanted, uuid4().hex, SECONDS))
    took = time.perf_counter() - began
    assert commands.read_clone(outcome), outcome.output
    await sandbox.run(commands.Command(uuid4().hex, argv=("rm", "-rf", name)))
    return took * 1000


def _alone(server: GitServer, folder: Path) -> float:
    began = time.perf_counter()
    subprocess.run(
        [
            "git",
            "-c",
            f"http.extraHeader=Authorization: {HEADER}",
            "clone",
            server.url("app"),
            str(folder),
        ],
        env=ENVIRONMENT,
        check=True,
        capture_output=True,
    )
    took = time.perf_counter() - began
    shutil.rmtree(folder)
    return took * 1000


def _end(broker: BrokerClient) -> None:
    for line in Path("/proc/locks").read_text().splitlines():
        fields = line.split()
        with suppress(OSError):
            if fields[5].endswith(f":{(broker.root / 'lock').stat().st_ino}"):
                os.kill(int(fields[4]), signal.SIGTERM)
