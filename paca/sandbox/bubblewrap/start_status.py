"""The status file of one start: the process that bwrap made for the runner, and how that ended.

By this file the next start finds a runner whose worker was killed before it could record it.
"""

import asyncio
import fcntl
import json
import os
import secrets
from pathlib import Path
from typing import Any, BinaryIO

from paca.common import clock
from paca.sandbox.bubblewrap.host_process import RunnerProcess
from paca.sandbox.runner import proc

SPAWN_SECONDS = 20.0  # bwrap reports the process it has made within milliseconds
POLL_SECONDS = 0.01
MAX_COMMAND_BYTES = 1 << 17
MARK_KEY = "start_mark"


def create(path: Path) -> tuple[BinaryIO, str]:
    """A new status file, to which bwrap appends, and the mark that the runner's arguments must contain.

    The file stays locked until the last process that has it open has ended, which is bwrap. Raises ``OSError``.
    """
    path.unlink(missing_ok=True)  # a bwrap that is ending may still write to the old one
    file = path.open("xb")
    fcntl.flock(file, fcntl.LOCK_EX)
    mark = secrets.token_hex(16)
    file.write(json.dumps({MARK_KEY: mark}).encode() + b"\n")
    file.flush()
    return file, mark


def exit_code(path: Path) -> int | None:
    """The runner's exit code, as bwrap wrote it; None while the runner has not ended."""
    code = _read(path).get("exit-code")
    return code if isinstance(code, int) else None


def runner_pid(path: Path) -> int | None:
    """The pid of the process that bwrap has made for the runner; None before."""
    pid = _read(path).get("child-pid")
    return pid if isinstance(pid, int) else None


async def find_runner(path: Path) -> RunnerProcess:
    """The living runner of the start that wrote this file; one with pid 0 if none lives.

    Waits while bwrap has been started and has made no process yet. The caller holds the lock of the sandbox.
    """
    deadline = clock.monotonic() + SPAWN_SECONDS
    while clock.monotonic() < deadline:
        found = _read(path)
        if "child-pid" in found:
            if (runner := _marked_process(found)) is not None:
                return runner
        elif not _is_open_elsewhere(path):
            break
        await asyncio.sleep(POLL_SECONDS)
    return RunnerProcess()


def _marked_process(found: dict[str, Any]) -> RunnerProcess | None:
    """The process that bwrap reported, if it is still that one: its arguments contain the mark.

    None while that is not known: a process that changes its program has no arguments for a moment.
    """
    pid, mark = found["child-pid"], found.get(MARK_KEY)
    if not isinstance(pid, int) or not isinstance(mark, str):
        return RunnerProcess()
    start_time = proc.start_time(pid)
    runner = RunnerProcess(pid, start_time or 0)
    command = proc.read_whole(f"/proc/{pid}/cmdline", MAX_COMMAND_BYTES)
    if not command and proc.start_time(pid) is not None:
        return None
    is_marked = mark.encode() in command
    # Alive after its arguments were read: so they were those of the process that started at this time.
    return runner if start_time and is_marked and runner.is_alive else RunnerProcess()


def _is_open_elsewhere(path: Path) -> bool:
    """Whether a bwrap has the file open, or a process that becomes one."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def _read(path: Path) -> dict[str, Any]:
    """All facts in the file; a line that is not complete yet has none."""
    facts: dict[str, Any] = {}
    try:
        lines = path.read_text().splitlines()
    except (OSError, ValueError):
        return facts
    for line in lines:
        try:
            facts |= json.loads(line)
        except (ValueError, TypeError):
            continue
    return facts
