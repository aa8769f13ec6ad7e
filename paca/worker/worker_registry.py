"""Who this worker is, what it tells the others of itself, and which of them are gone."""

from __future__ import annotations

import functools
import hashlib
import os
import socket
import time
import uuid
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.db import transaction
from django.db.models.functions import Now

from paca.conversations.models import Conversation, Worker

HEARTBEAT_SECONDS = 5.0
# Long after its leases have run out: what is left of a worker on a host that nobody sees into.
FORGOTTEN_SECONDS = 120.0


class Presence:
    """This process among the workers: its row, which it keeps alive and takes away again."""

    def __init__(self, concurrency: int) -> None:
        host, pid = socket.gethostname(), os.getpid()
        try:
            started = process_started(pid)
        except OSError:
            started = str(time.time_ns())
        # Two containers may have the same name and pid, and have started in the same tick.
        where = hashlib.sha256(place().encode()).hexdigest()[:8]
        self.id = f"{host[:60]}-{pid}-{started}-{where}"
        self._facts: dict[str, Any] = {
            "host": host[:100],
            "place": place(),
            "pid": pid,
            "process_started": started,
            "concurrency": concurrency,
            "draining": False,
        }

    def enter(self) -> None:
        """Be seen by the others."""
        Worker.objects.update_or_create(id=self.id, defaults=self._facts | {"heartbeat_at": Now()})

    def beat(self) -> None:
        """Say that this worker lives; one that was given up, for its silence, enters itself again."""
        if not Worker.objects.filter(id=self.id).update(heartbeat_at=Now()):
            self.enter()

    def tell(self, **facts: Any) -> None:
        """Change what the others know."""
        self._facts |= facts
        Worker.objects.filter(id=self.id).update(**facts)

    def leave(self) -> None:
        """Be gone."""
        Worker.objects.filter(id=self.id).delete()


@functools.cache
def place() -> str:
    """Where a process id means the same process to everybody: one kernel's boot, one pid namespace.

    A host name says nothing of that: containers have each their own processes and may share a name.
    Where this cannot be known, the answer is like nobody else's, and time alone decides.
    """
    try:
        if Path("/proc/self").readlink().name != str(os.getpid()):
            raise OSError("/proc shows the processes of another namespace")
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        namespace = Path("/proc/self/ns/pid").readlink().name
    except OSError:
        return f"unknown {uuid.uuid4().hex}"
    # The name as well: two machines woken from one memory image have the same boot.
    return f"{boot} {namespace} {socket.gethostname()}"[:200]


def process_started(pid: int) -> str:
    """When a process began, in clock ticks since boot; empty for a zombie. Raises ``OSError``.

    A pid alone says nothing: it may be another process by now, or one that is dead and unreaped.
    """
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    state, started = fields[0], fields[19]
    return "" if state in ("Z", "X") else started


def is_gone(pid: int, started: str) -> bool:
    """Whether the process of this place that began then has ended. In doubt it has not."""
    try:
        # guard: worker-reused-pid
        return process_started(pid) != started
    except OSError:
        return not _can_be_signalled(pid)


def _can_be_signalled(pid: int) -> bool:
    """/proc may hide the processes of other accounts (hidepid), but not that they exist."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def free_leases_of_the_dead(me: str) -> int:
    """End the leases of workers whose process is seen to be gone, without waiting for the time.

    Gives how many conversations came free. Rows of workers elsewhere that have said nothing for
    long are tidied away; their leases have run out long before.
    """
    others = Worker.objects.exclude(id=me)
    dead = [
        worker.id
        for worker in others.filter(place=place())
        if is_gone(worker.pid, worker.process_started)
    ]
    left = Conversation.objects.filter(lease_owner__in=dead, lease_until__isnull=False)
    with transaction.atomic():
        found = list(left.for_update().values_list("pk", flat=True)) if dead else []
        freed = left.filter(pk__in=found).update(lease_until=None)
    Worker.objects.filter(id__in=dead).delete()
    others.filter(heartbeat_at__lt=Now() - timedelta(seconds=FORGOTTEN_SECONDS)).delete()
    return freed
