"""Reads why a sandbox ended: bwrap writes the exit code of its runner, and the kernel counts what it killed."""

import asyncio

from paca.common import clock
from paca.sandbox.bubblewrap import host_process, start_status
from paca.sandbox.bubblewrap.sandbox_directory import SandboxDirectory
from paca.sandbox.exit_cause import ExitCause, ExitKind, classify_exit

REPORT_SECONDS = 1.0  # how long after the runner's end bwrap may write the exit code


async def read(directory: SandboxDirectory, *, just_lost: bool) -> ExitCause | None:
    """Why the sandbox ended; None while it runs. See ``Backend.find_exit_cause``."""
    deadline = clock.monotonic() + REPORT_SECONDS
    while True:
        runner = host_process.read_record(directory.folder)
        code = start_status.exit_code(directory.status)
        is_late = clock.monotonic() > deadline
        if runner.is_alive and (not just_lost or is_late):
            return None
        if runner.pid == 0:
            return ExitCause(ExitKind.REMOVED)
        if code is not None or (not runner.is_alive and is_late):
            break
        await asyncio.sleep(0.02)
    if code is None:
        return ExitCause(ExitKind.KILLED)
    out_of_memory = directory.control_group.oom_kills() > runner.oom_kills
    return classify_exit(code, out_of_memory=out_of_memory)
