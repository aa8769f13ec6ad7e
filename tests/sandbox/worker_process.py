"""A worker process: opens a sandbox, runs one command and prints what happens."""

import asyncio
import sys
import uuid
from pathlib import Path

from paca.engine.workspace import Command
from paca.sandbox.base import SandboxSpec
from tests.sandbox.conftest import BACKENDS


async def run_command(
    kind: str, data_dir: str, conversation: str, epoch: str, call_id: str, line: str
) -> None:
    backend = BACKENDS[kind](Path(data_dir))
    sandbox = await backend.open(SandboxSpec(uuid.UUID(conversation)), epoch=int(epoch))
    print("attached", sandbox.boot_id, flush=True)
    outcome = await sandbox.run(
        Command(call_id, shell=line), lambda text: print("saw", repr(text), flush=True)
    )
    print("ended", outcome.exit_code, repr(outcome.output), flush=True)
    await sandbox.detach()


if __name__ == "__main__":
    asyncio.run(run_command(*sys.argv[1:]))
