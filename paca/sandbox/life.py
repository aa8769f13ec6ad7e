"""The life of a sandbox's process, as other worker processes find it: written down, and looked up."""

import asyncio
import fcntl
import json
import os
import signal
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from paca.engine.workspace import SandboxUnavailable

LOCK_SECONDS = 20.0
END_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Life:
    """Process 1 of a sandbox as the host sees it. ``started`` tells it from a later process of its pid.

    ``epoch``: the highest that ever opened this sandbox, also kept when the process is gone.
    """

    pid: int = 0
    started: int = 0
    epoch: int = 0

    @property
    def is_alive(self) -> bool:
        return self.pid > 0 and start_time(self.pid) == self.started

    def kill(self) -> None:
        """Kill it, and with it everything inside."""
        with self._pinned() as descriptor:
            if descriptor is not None:
                signal.pidfd_send_signal(descriptor, signal.SIGKILL)

    async def end(self) -> None:
        """Kill it; returns when it is gone."""
        with self._pinned() as descriptor:
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
    def _pinned(self) -> Iterator[int | None]:
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


def start_time(pid: int) -> int | None:
    """When a process began, in ticks; None if there is none, or only its zombie."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in {"Z", "X"} else int(fields[19])


def read(folder: Path) -> Life:
    """What was written down last; nothing readable is no life."""
    try:
        return Life(**json.loads((folder / "life.json").read_text()))
    except (OSError, ValueError, TypeError):
        return Life()


def write(folder: Path, life: Life) -> None:
    """Write it down, whole or not at all."""
    temporary = folder / "life.json.new"
    temporary.write_text(json.dumps(asdict(life)))
    temporary.replace(folder / "life.json")


@asynccontextmanager
async def alone(folder: Path) -> AsyncIterator[None]:
    """Hold the folder's lock: of all workers only one opens or ends a sandbox at a time."""
    descriptor = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        deadline = time.monotonic() + LOCK_SECONDS
        while True:
            with suppress(BlockingIOError):
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            if time.monotonic() > deadline:
                raise SandboxUnavailable("Another worker is busy with this sandbox.")
            await asyncio.sleep(0.02)
        yield
    finally:
        os.close(descriptor)
