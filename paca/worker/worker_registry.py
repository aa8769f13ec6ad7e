"""The row of this worker in the registry, and which processes of other workers have ended."""

from __future__ import annotations

import functools
import hashlib
import os
import socket
import time
import uuid
from pathlib import Path
from typing import Any

from django.db.models.functions import Now

from paca.conversations.models import Worker
from paca.conversations.models.worker_versions import WORKER_VERSION
from paca.sandbox.runner import proc

HEARTBEAT_SECONDS = 5.0


class WorkerRegistration:
    """The row of this process in the table of workers."""

    def __init__(self, concurrency: int) -> None:
        host, pid = socket.gethostname(), os.getpid()
        try:
            start_time = process_start_time(pid)
        except OSError:
            start_time = str(time.time_ns())
        # Two containers may have the same name and pid, and have started in the same tick.
        namespace = hashlib.sha256(pid_namespace_id().encode()).hexdigest()[:8]
        self.id = f"{host[:60]}-{pid}-{start_time}-{namespace}"
        self._facts: dict[str, Any] = {
            "host": host[:100],
            "pid_namespace": pid_namespace_id(),
            "pid": pid,
            "process_started": start_time,
            "concurrency": concurrency,
            "draining": False,
            "version": WORKER_VERSION,
        }

    def register(self) -> None:
        """Write the row, with all facts that are known of this worker."""
        Worker.objects.update_or_create(id=self.id, defaults=self._facts | {"heartbeat_at": Now()})

    def heartbeat(self) -> None:
        """Record that this worker is alive. A row that others deleted for its silence is written anew."""
        if not Worker.objects.filter(id=self.id).update(heartbeat_at=Now()):
            self.register()

    def update(self, **facts: Any) -> None:
        """Change columns of the row."""
        self._facts |= facts
        Worker.objects.filter(id=self.id).update(**facts)

    def unregister(self) -> None:
        """Delete the row."""
        Worker.objects.filter(id=self.id).delete()


@functools.cache
def pid_namespace_id() -> str:
    """Identify the boot, the pid namespace and the host within which a pid names one process.

    A host name is not enough: containers have their own processes and may share a name. Where the
    namespace cannot be read, the value is unique, so that leases end by time alone.
    """
    try:
        if Path("/proc/self").readlink().name != str(os.getpid()):
            raise OSError("/proc shows the processes of another namespace")
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        namespace = Path("/proc/self/ns/pid").readlink().name
    except OSError:
        return f"unknown {uuid.uuid4().hex}"
    # With the host name: two machines that were resumed from one memory image have the same boot id.
    return f"{boot} {namespace} {socket.gethostname()}"[:200]


def process_start_time(pid: int) -> str:
    """When a process started, in clock ticks since boot; empty for a zombie.

    A pid alone is not enough: another process may have it by now. Raises ``ProcessLookupError`` if
    /proc does not show the process.
    """
    process = proc.read_stat(pid)
    if process is None:
        raise ProcessLookupError(f"/proc shows no process {pid}")
    return str(process.start_time) if process.is_alive else ""


def process_has_ended(pid: int, start_time: str) -> bool:
    """Whether the process of this namespace that started then has ended. False when in doubt."""
    try:
        # guard: worker-reused-pid
        return process_start_time(pid) != start_time
    except OSError:
        return not _process_exists(pid)


def _process_exists(pid: int) -> bool:
    """Ask by a signal: /proc may hide the processes of other accounts (hidepid)."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
