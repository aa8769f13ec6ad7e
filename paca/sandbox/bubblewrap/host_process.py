"""The runner's process as the host sees it, and the record by which other workers find it."""

import asyncio
import fcntl
import json
import os
import signal
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from paca.common import clock
from paca.engine.workspace import SandboxUnreachable
from paca.sandbox.runner import proc

LOCK_SECONDS = 20.0
BUSY = "Another worker is busy with this sandbox, or its files are being copied into a fork."
END_SECONDS = 5.0
STOP_CHECK_SECONDS, MAX_STOP_CHECKS = 0.01, 100
NOT_RUNNING_STATES = {proc.STOPPED, "t", *proc.DEAD_STATES}
RECORD = "life.json"
# The keys are a format on disk: a sandbox that an older version started is found by them.
RECORD_FIELDS = {"pid": "pid", "started": "start_time", "epoch": "epoch", "kills": "oom_kills"}


@dataclass(frozen=True, slots=True)
class RunnerProcess:
    """Process 1 of a sandbox. ``pid`` is 0 if the sandbox does not run.

    ``start_time`` (clock ticks since boot) tells the process from a later one with the same pid.
    ``epoch`` is the highest epoch that ever opened this sandbox; it is kept when the process is gone.
    ``oom_kills`` is how many processes in the sandbox the kernel had ended for lack of memory when the
    sandbox was last opened.
    """

    pid: int = 0
    start_time: int = 0
    epoch: int = 0
    oom_kills: int = 0

    @property
    def is_alive(self) -> bool:
        """Whether the process still runs or is paused."""
        return self.pid > 0 and proc.start_time(self.pid) == self.start_time

    @property
    def is_paused(self) -> bool:
        """Whether the process is stopped, as ``pause`` leaves it."""
        return self.is_alive and proc.state(self.pid) == proc.STOPPED

    def kill(self) -> None:
        """Kill the runner. The kernel then ends everything in the sandbox."""
        self._send_signal(signal.SIGKILL)

    def pause(self) -> bool:
        """Stop the runner and all processes below it; False if it is gone or cannot be stopped.

        The runner is stopped first, so that it neither ends nor starts anything. The other processes
        are stopped again and again, until none is left that was started meanwhile.
        """
        for _ in range(MAX_STOP_CHECKS):
            running = [
                process
                for process in self._process_tree()
                if proc.state(process.pid) not in NOT_RUNNING_STATES
            ]
            if not running:
                return self.is_paused
            for process in running:
                process._send_signal(signal.SIGSTOP)
            time.sleep(STOP_CHECK_SECONDS)
        self.resume()
        return False

    def resume(self) -> None:
        """Continue all processes. The runner comes last, so that it finds them as it left them."""
        for process in reversed(self._process_tree()):
            process._send_signal(signal.SIGCONT)

    def _process_tree(self) -> "list[RunnerProcess]":
        """The runner and all its descendants, parents before children.

        An orphan inside the sandbox becomes a child of the runner, so nothing is missed.
        """
        if not self.is_alive:
            return []
        children: dict[int, list[RunnerProcess]] = {}
        for process in proc.all_processes():
            child = RunnerProcess(process.pid, process.start_time)
            children.setdefault(process.parent, []).append(child)
        found = [self]
        for parent in found:  # the list grows while it is walked
            found += children.get(parent.pid, [])
        return found

    def _send_signal(self, number: signal.Signals) -> None:
        with self._open_pidfd() as descriptor:
            if descriptor is not None:
                signal.pidfd_send_signal(descriptor, number)

    async def kill_and_wait(self) -> None:
        """Kill the runner and wait until it is gone.

        Raises ``TimeoutError`` if it still exists after ``END_SECONDS``.
        """
        with self._open_pidfd() as descriptor:
            if descriptor is None:
                return
            signal.pidfd_send_signal(descriptor, signal.SIGKILL)
            gone = asyncio.Event()
            loop = asyncio.get_running_loop()
            loop.add_reader(descriptor, gone.set)
            try:
                async with asyncio.timeout(END_SECONDS):
                    await gone.wait()
            finally:
                loop.remove_reader(descriptor)

    @contextmanager
    def _open_pidfd(self) -> Iterator[int | None]:
        """A descriptor of the process, so that the checked process is the killed one; None if it is gone."""
        try:
            descriptor = os.pidfd_open(self.pid)
        except (OSError, ValueError):
            yield None
            return
        try:
            yield descriptor if self.is_alive else None
        finally:
            os.close(descriptor)


def read_record(folder: Path) -> RunnerProcess:
    """The runner as last recorded in ``folder``; one with pid 0 if no readable record exists."""
    try:
        record = dict(json.loads((folder / RECORD).read_text()))
        return RunnerProcess(**{RECORD_FIELDS[key]: value for key, value in record.items()})
    except (OSError, ValueError, LookupError, TypeError):
        return RunnerProcess()


def write_record(folder: Path, runner: RunnerProcess) -> None:
    """Record the runner in ``folder``, replacing the old record in one step."""
    record = {key: getattr(runner, field) for key, field in RECORD_FIELDS.items()}
    temporary = folder / f"{RECORD}.new"
    temporary.write_text(json.dumps(record))
    temporary.replace(folder / RECORD)


@asynccontextmanager
async def directory_lock(folder: Path) -> AsyncIterator[None]:
    """Hold the lock of a sandbox's folder: only one worker at a time opens or ends the sandbox.

    The holder may remove the folder together with the lock. A worker that waited for the removed lock
    takes a new one. Raises ``SandboxUnreachable`` if the lock is not free within ``LOCK_SECONDS``.
    """
    deadline = clock.monotonic() + LOCK_SECONDS
    while (descriptor := _try_lock(folder)) is None:
        if clock.monotonic() > deadline:
            raise SandboxUnreachable(BUSY)
        await asyncio.sleep(0.02)
    try:
        yield
    finally:
        os.close(descriptor)


def _try_lock(folder: Path) -> int | None:
    """A descriptor that holds the folder's lock; None while another worker holds it."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    lock = folder / "lock"
    descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # The previous holder may have removed the file: then this lock excludes no other worker.
        is_held = os.path.samestat(os.fstat(descriptor), lock.stat())
    except (BlockingIOError, FileNotFoundError):
        is_held = False
    if is_held:
        return descriptor
    os.close(descriptor)
    return None
