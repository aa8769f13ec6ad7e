"""Control groups of sandboxes, where this process may make them: the kernel then limits their memory."""

import os
import threading
import time
from contextlib import suppress
from functools import cached_property
from pathlib import Path

from paca.sandbox.base import SandboxLimits
from paca.sandbox.bubblewrap import delegation

ROOT = Path("/sys/fs/cgroup")
CPU_PERIOD = 100_000
REMOVE_SECONDS = 3.0
ABANDONED_SECONDS = 3600  # a new group has no process yet either
# The limit of a sandbox's user ends a fork bomb before; its runner must then still start a command.
SPARE_PROCESSES = 32


class ControlGroup:
    """The control groups of one sandbox: one group in version 2, one for each controller in version 1."""

    def __init__(self, name: str) -> None:
        self._name = f"paca-{name}"
        self._unified = (ROOT / "cgroup.controllers").exists()

    @cached_property
    def folders(self) -> list[Path]:
        """The groups, made or not; none if this process may make none."""
        if self._unified:
            parent = delegation.find_parent(ROOT)
            return [] if parent is None else [parent / self._name]
        # Below Paca's own groups, so that limits on Paca apply to its sandboxes too.
        own_groups = _own_groups()
        return [
            own_groups[key] / self._name for key in ("memory", "pids", "cpu") if key in own_groups
        ]

    @property
    def oom_counter(self) -> Path:
        """The file in which the kernel counts the processes that it ended for lack of memory."""
        return self.folders[0] / ("memory.events" if self._unified else "memory.oom_control")

    @property
    def exists(self) -> bool:
        """Whether the groups are there: else the sandbox was started without."""
        return bool(self.folders) and self.oom_counter.exists()

    def create(self, limits: SandboxLimits) -> bool:
        """Make the groups with these limits; False if that is not allowed. The runner then limits memory itself."""
        if not self.folders or (os.geteuid() != 0 and not self._unified):
            return False
        try:
            if self._unified:
                delegation.prepare(self.folders[0].parent, ROOT)
            for folder in self.folders:
                folder.mkdir(exist_ok=True)
                self._write_limits(folder, limits)
        except OSError:
            return False
        return self.exists

    def _write_limits(self, folder: Path, limits: SandboxLimits) -> None:
        memory, quota = str(limits.memory_mib << 20), str(int(limits.cpus * CPU_PERIOD))
        values = {
            "memory.max": memory,
            "memory.swap.max": "0",
            "cpu.max": f"{quota} {CPU_PERIOD}",
            "memory.limit_in_bytes": memory,
            "memory.memsw.limit_in_bytes": memory,
            "cpu.cfs_quota_us": quota,
            "pids.max": str(limits.processes + SPARE_PROCESSES),
        }
        for name, value in values.items():
            if (folder / name).exists():  # the names depend on the version and the controller
                (folder / name).write_text(value)

    def enter(self) -> None:
        """Move this thread into the groups, and with it the processes that it starts from now on.

        To move a thread by itself takes microseconds. To move another process the kernel stops every fork
        on the machine for about 10 ms. In version 2 a group of threads has no limit on memory, so there
        this does nothing, and ``add_process`` follows. Raises ``OSError`` as that does.
        """
        if not self._unified:
            for folder in self.folders:
                (folder / "tasks").write_text("0")

    def add_process(self, pid: int) -> None:
        """Move a process into the groups, unless it was started by a thread in them.

        Processes that it starts later belong to them as well. Raises ``OSError`` if the groups are gone or
        may not be changed.
        """
        if self._unified:
            for folder in self.folders:
                (folder / "cgroup.procs").write_text(str(pid))

    def oom_kills(self) -> int:
        """How many processes in the groups the kernel has ended for lack of memory; 0 if nothing counts them."""
        try:
            lines = self.oom_counter.read_text().splitlines()
        except (OSError, IndexError):
            return 0
        return next((int(line[9:]) for line in lines if line.startswith("oom_kill ")), 0)

    def remove(self) -> None:
        """Remove the groups. Their processes must have been killed; it waits a while for the last to be gone.

        The last process leaves its groups when the file system of the workspace is unmounted and stored.
        """
        deadline = time.monotonic() + REMOVE_SECONDS
        pause = threading.Event()
        for folder in self.folders:
            while not _remove_group(folder) and time.monotonic() < deadline:
                pause.wait(0.005)


def _remove_group(folder: Path) -> bool:
    """Remove a group; False if it still has processes."""
    try:
        folder.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def remove_abandoned() -> int:
    """Remove groups that have been empty for long, and give their number.

    They belong to sandboxes that ended by themselves, also to those of removed installations.
    """
    removed = 0
    for parent in {folder.parent for folder in ControlGroup("any").folders}:
        for folder in parent.glob("paca-*"):
            with suppress(OSError):  # the kernel keeps a group that has processes
                if time.time() - folder.stat().st_mtime > ABANDONED_SECONDS:
                    folder.rmdir()
                    removed += 1
    return removed


def _own_groups() -> dict[str, Path]:
    """The groups of this process in version 1, by controller."""
    found = {}
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        folder = ROOT / controllers / path.lstrip("/")
        for controller in controllers.split(","):
            if controller and folder.is_dir():
                found[controller] = folder
    return found
