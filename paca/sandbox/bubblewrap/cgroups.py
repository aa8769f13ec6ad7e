"""Control groups, where this process may make them: the kernel then minds a sandbox's memory.

The number of processes needs none: each sandbox has a user, and so a limit, of its own.
"""

import os
import time
from contextlib import suppress
from pathlib import Path

from paca.sandbox.base import SandboxLimits

ROOT = Path("/sys/fs/cgroup")
CPU_PERIOD = 100_000
ABANDONED_SECONDS = 3600  # a group just made has no process yet either


class ControlGroup:
    """The groups of one sandbox: one in version 2, one a controller in version 1."""

    def __init__(self, name: str) -> None:
        self._unified = (ROOT / "cgroup.controllers").exists()
        if self._unified:
            self.folders = [ROOT / "paca" / f"paca-{name}"]
        else:
            # Below our own groups, so that what bounds Paca bounds its sandboxes too.
            own = _own_groups()
            self.folders = [
                own[key] / f"paca-{name}" for key in ("memory", "pids", "cpu") if key in own
            ]

    @property
    def oom_counter(self) -> Path:
        """The file that counts how often the kernel ended a process for lack of memory."""
        return self.folders[0] / ("memory.events" if self._unified else "memory.oom_control")

    def create(self, limits: SandboxLimits) -> bool:
        """Make them with these limits; False where that is not allowed (the runner then looks itself)."""
        if os.geteuid() != 0 or not self.folders:
            return False
        try:
            if self._unified:
                self._enable_controllers()
            for folder in self.folders:
                folder.mkdir(exist_ok=True)
                self._write_limits(folder, limits)
        except OSError:
            return False
        return self.oom_counter.exists()

    def _enable_controllers(self) -> None:
        parent = ROOT / "paca"
        parent.mkdir(exist_ok=True)
        for folder in (ROOT, parent):
            (folder / "cgroup.subtree_control").write_text("+memory +cpu")

    def _write_limits(self, folder: Path, limits: SandboxLimits) -> None:
        memory, quota = str(limits.memory_mib << 20), str(int(limits.cpus * CPU_PERIOD))
        values = {
            "memory.max": memory,
            "memory.swap.max": "0",
            "cpu.max": f"{quota} {CPU_PERIOD}",
            "memory.limit_in_bytes": memory,
            "memory.memsw.limit_in_bytes": memory,
            "cpu.cfs_quota_us": quota,
        }
        for name, value in values.items():
            if (folder / name).exists():  # each version and controller has its own of these
                (folder / name).write_text(value)

    def add_process(self, pid: int) -> None:
        """Put a process in. What it begins later is in as well."""
        for folder in self.folders:
            (folder / "cgroup.procs").write_text(str(pid))

    def oom_kills(self) -> int:
        """How often the kernel has ended a process in it for lack of memory, as far as that is counted."""
        try:
            lines = self.oom_counter.read_text().splitlines()
        except (OSError, IndexError):
            return 0
        return next((int(line[9:]) for line in lines if line.startswith("oom_kill ")), 0)

    def remove(self) -> None:
        """Give them back, once those in them are gone."""
        for folder in self.folders:
            for _ in range(20):
                try:
                    folder.rmdir()
                except FileNotFoundError:
                    break
                except OSError:
                    time.sleep(0.005)


def remove_abandoned() -> int:
    """Remove groups long empty: of sandboxes that ended by themselves, also of installations gone."""
    removed = 0
    for parent in {folder.parent for folder in ControlGroup("any").folders}:
        for folder in parent.glob("paca-*"):
            with suppress(OSError):  # one with processes cannot be removed, and shall not
                if time.time() - folder.stat().st_mtime > ABANDONED_SECONDS:
                    folder.rmdir()
                    removed += 1
    return removed


def _own_groups() -> dict[str, Path]:
    found = {}
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        folder = ROOT / controllers / path.lstrip("/")
        for controller in controllers.split(","):
            if controller and folder.is_dir():
                found[controller] = folder
    return found
