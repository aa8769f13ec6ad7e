"""Runs commands in a sandbox as an unprivileged user, and prints their outcomes as JSON."""

import asyncio
import dataclasses
import json
import sys
import uuid
from pathlib import Path

from paca.engine.workspace import Command
from paca.sandbox.base import SandboxFile, SandboxLimits, SandboxSpec
from paca.sandbox.manager import SandboxManager


async def read_files() -> tuple[SandboxFile, ...]:
    return (SandboxFile("boats/plan.md", b"Twelve ribs"),)


async def run_commands(data_dir: str, memory_mib: int, lines: list[str]) -> None:
    manager = SandboxManager(kind="bubblewrap", data_dir=Path(data_dir), install_id="unprivileged")
    reason = await manager.unavailable_reason()
    outcomes, memory_by_kernel = [], False
    if reason is None:
        limits = SandboxLimits(memory_mib=memory_mib, processes=64, workspace_mib=64)
        spec = SandboxSpec(uuid.uuid4(), limits=limits, read_files=read_files)
        sandbox = await manager.open(spec, epoch=1)
        memory_by_kernel = sandbox.memory_by_kernel
        for line in lines:
            outcome = await sandbox.run(Command(line, shell=line, timeout_seconds=20))
            outcomes.append(dataclasses.asdict(outcome))
        await sandbox.end(keep_files=False)
    left = [str(path) for path in Path(data_dir).glob("workspaces/*")]
    found = {"outcomes": outcomes, "memory_by_kernel": memory_by_kernel, "left": left}
    print(json.dumps({"reason": reason, **found}))


if __name__ == "__main__":
    asyncio.run(run_commands(sys.argv[1], int(sys.argv[2]), sys.argv[3:]))
