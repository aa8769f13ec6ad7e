"""The life of a sandbox's process, as other worker processes find it: written down, and looked up."""

import asyncio
import fcntl
import json
import os
import signal
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from paca.common import clock
from paca.engine.workspace import SandboxUnavailable

LOCK_SECONDS = 20.0
END_SECONDS = 5.0
LOOK_SECONDS, MOST_LOOKS = 0.01, 100
STOPPED, GONE = "T", "X"
DEAD = {"Z", GONE}
STILL = {STOPPED, "t", *DEAD}


@dataclass(frozen=True, slots=True)
class RunnerProcess:
    """Process 1 of a sandbox as the host sees it. ``started`` tells it from a later process of its pid.

    ``epoch``: the highest that ever opened this sandbox, also kept when the process is gone. ``kills``:
    how many processes in it had been ended for lack of memory when it was opened.
    """

    pid: int = 0
    started: int = 0
    epoch: int = 0
    kills: int = 0

    @property
    def is_alive(self) -> bool:
        return self.pid > 0 and start_time(self.pid) == self.started

    @property
    def is_stopped(self) -> bool:
        """Whether it stands still, as ``freeze`` leaves it."""
        return self.is_alive and state(self.pid) == STOPPED

    def kill(self) -> None:
        """Kill it, and with it everything inside."""
        self._send_signal(signal.SIGKILL)

    def pause(self) -> bool:
        """Stop it first, so that it neither ends nor begins anything; then all that it has begun, until
        none is left that was begun meanwhile. False if it is gone, or will not stand still."""
        for _ in range(MOST_LOOKS):
            moving = [each for each in self._process_tree() if state(each.pid) not in STILL]
            if not moving:
                return self.is_stopped
            for each in moving:
                each._send_signal(signal.SIGSTOP)
            time.sleep(LOOK_SECONDS)
        self.resume()
        return False

    def resume(self) -> None:
        """Let all of it go on; the runner last, which then finds its processes as it left them."""
        for each in reversed(self._process_tree()):
            each._send_signal(signal.SIGCONT)

    def _process_tree(self) -> "list[RunnerProcess]":
        """It and all below it, parents before children: whoever loses its parent inside becomes its own."""
        if not self.is_alive:
            return []
        below: dict[int, list[RunnerProcess]] = {}
        for process in processes():
            below.setdefault(process.parent, []).append(RunnerProcess(process.pid, process.started))
        found = [self]
        for each in found:  # it grows while it is walked
            found += below.get(each.pid, [])
        return found

    def _send_signal(self, number: signal.Signals) -> None:
        with self._open_pidfd() as descriptor:
            if descriptor is not None:
                signal.pidfd_send_signal(descriptor, number)

    async def kill_and_wait(self) -> None:
        """Kill it; returns when it is gone."""
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
        """A descriptor of the process, so that what is checked is what is killed; None if it is gone."""
        try:
            descriptor = os.pidfd_open(self.pid)
        except (OSError, ValueError):
            yield None
            return
        try:
            yield descriptor if self.is_alive else None
        finally:
            os.close(descriptor)


@dataclass(frozen=True, slots=True)
class Process:
    """What /proc says of a process of this machine."""

    pid: int
    state: str
    parent: int
    started: int


def process(pid: int) -> Process | None:
    """As it is now; None if there is none."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return Process(pid, fields[0], int(fields[1]), int(fields[19]))


def processes() -> Iterator[Process]:
    """All of this machine."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and (found := process(int(entry.name))) is not None:
            yield found


def state(pid: int) -> str:
    """The letter that /proc has for what a process does; ``X`` for one that is gone."""
    found = process(pid)
    return GONE if found is None else found.state


def start_time(pid: int) -> int | None:
    """When a process began, in ticks; None if there is none, or only its zombie."""
    found = process(pid)
    return None if found is None or found.state in DEAD else found.started


def read_record(folder: Path) -> RunnerProcess:
    """What was written down last; nothing readable is no life."""
    try:
        return RunnerProcess(**json.loads((folder / "life.json").read_text()))
    except (OSError, ValueError, TypeError):
        return RunnerProcess()


def write_record(folder: Path, life: RunnerProcess) -> None:
    """Write it down, whole or not at all."""
    temporary = folder / "life.json.new"
    temporary.write_text(json.dumps(asdict(life)))
    temporary.replace(folder / "life.json")


@asynccontextmanager
async def directory_lock(folder: Path) -> AsyncIterator[None]:
    """Hold the folder's lock: of all workers only one opens or ends a sandbox at a time.

    Who holds it may remove the folder, lock and all; who waited for that lock has nothing by it.
    """
    deadline = clock.monotonic() + LOCK_SECONDS
    while (descriptor := _try_lock(folder)) is None:
        if clock.monotonic() > deadline:
            raise SandboxUnavailable("Another worker is busy with this sandbox.")
        await asyncio.sleep(0.02)
    try:
        yield
    finally:
        os.close(descriptor)


def _try_lock(folder: Path) -> int | None:
    """A descriptor of the folder's lock that holds it; None while somebody else does."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    lock = folder / "lock"
    descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        held = os.path.samestat(os.fstat(descriptor), lock.stat())
    except (BlockingIOError, FileNotFoundError):
        held = False
    if held:
        return descriptor
    os.close(descriptor)
    return None
