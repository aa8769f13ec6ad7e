"""The leases of a worker: their renewal in a thread of their own, and the end of those of dead workers."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from datetime import timedelta

from django.db import Error as DatabaseError
from django.db import close_old_connections, connection, transaction
from django.db.models import Q
from django.db.models.functions import Now

from paca.common import clock, database_errors
from paca.conversations import sandbox_setups
from paca.conversations.models import Conversation, Worker
from paca.conversations.store import Lease
from paca.worker import worker_registry
from paca.worker.worker_registry import HEARTBEAT_SECONDS, WorkerRegistration

logger = logging.getLogger(__name__)

# Rows of silent workers elsewhere are deleted long after their leases have run out.
FORGET_WORKER_SECONDS = 120.0


class LeaseKeeper(threading.Thread):
    """Renews all leases of the worker every third of their length, and its heartbeat with them.

    It is a thread of its own, so that a busy event loop never loses a lease.
    """

    def __init__(
        self, registration: WorkerRegistration, *, seconds: float, on_lost: Callable[[Lease], None]
    ) -> None:
        """``on_lost`` is called in this thread with each lease that is lost."""
        super().__init__(name="paca-lease-keeper", daemon=True)
        self._registration = registration
        self._seconds = seconds
        self._on_lost = on_lost
        self._renewed_at: dict[Lease, float] = {}
        self._lock = threading.Lock()
        self._stopping = threading.Event()

    def add(self, lease: Lease) -> None:
        """Renew this lease from now on."""
        with self._lock:
            self._renewed_at[lease] = clock.monotonic()

    def remove(self, lease: Lease) -> None:
        """Renew this lease no longer."""
        with self._lock:
            self._renewed_at.pop(lease, None)

    def stop(self) -> None:
        """Renew nothing more, and wait until the thread has ended."""
        self._stopping.set()
        self.join()

    def run(self) -> None:
        interval = pause = min(self._seconds / 3, HEARTBEAT_SECONDS)
        while not self._stopping.wait(pause):
            pause = interval
            with self._lock:
                renewed_at = dict(self._renewed_at)
            try:
                close_old_connections()
                if not self._renew(renewed_at):
                    pause = interval / 5
            except DatabaseError as error:
                logger.exception("leases could not be renewed")
                database_errors.note_disk_full(error)
                self._lose_stale_leases(renewed_at)
        connection.close()

    def _renew(self, renewed_at: dict[Lease, float]) -> bool:
        """Renew the leases that the worker still has; False if some are to be tried again soon.

        Rows that another transaction has locked are skipped: they must not cost the others their lease.
        """
        began = clock.monotonic()
        self._registration.heartbeat()
        if not renewed_at:
            return True
        same_epoch = Q()
        for lease in renewed_at:
            same_epoch |= Q(pk=lease.conversation_id, lease_epoch=lease.epoch)
        owned = Conversation.objects.filter(same_epoch, lease_owner=self._registration.id)
        with transaction.atomic():
            # guard: worker-lease-skips-locked-rows
            unlocked = owned.select_for_update(of=("self",), no_key=True, skip_locked=True)
            renewed = set(unlocked.values_list("pk", flat=True))
            owned.filter(pk__in=renewed).update(
                lease_until=Now() + timedelta(seconds=self._seconds)
            )
        skipped = {
            each: at for each, at in renewed_at.items() if each.conversation_id not in renewed
        }
        still_owned = set(owned.values_list("pk", flat=True)) if skipped else renewed
        for lease in renewed_at:
            if lease not in skipped:
                self._note_renewed(lease, began)
            elif lease.conversation_id not in still_owned:
                self._lose(lease)
        self._lose_stale_leases(skipped)
        return not skipped

    def _note_renewed(self, lease: Lease, at: float) -> None:
        with self._lock:
            if lease in self._renewed_at:
                self._renewed_at[lease] = at

    def _lose_stale_leases(self, renewed_at: dict[Lease, float]) -> None:
        """Give up leases that could not be renewed for long, well before another worker may take them."""
        for lease, at in renewed_at.items():
            if clock.monotonic() - at > self._seconds * 0.8:
                self._lose(lease)

    def _lose(self, lease: Lease) -> None:
        with self._lock:
            known = self._renewed_at.pop(lease, None) is not None
        if known:
            self._on_lost(lease)


def end_leases_of_dead_workers(own_id: str) -> int:
    """End the leases of workers whose process has ended, without waiting for the time.

    Returns the number of conversations that became free. Also deletes the rows of workers elsewhere
    that were silent for long.
    """
    others = Worker.objects.exclude(id=own_id)
    dead = [
        worker.id
        for worker in others.filter(pid_namespace=worker_registry.pid_namespace_id())
        if worker_registry.process_has_ended(worker.pid, worker.process_started)
    ]
    freed = _end_leases(dead) if dead else 0
    silent = others.filter(heartbeat_at__lt=Now() - timedelta(seconds=FORGET_WORKER_SECONDS))
    if silent.exists():  # asked first: a deletion locks the whole of SQLite, each second
        silent.delete()
    return freed


def _end_leases(dead: list[str]) -> int:
    leased = Conversation.objects.filter(lease_owner__in=dead, lease_until__isnull=False)
    with transaction.atomic():
        found = list(leased.for_update().values_list("pk", flat=True))
        freed = leased.filter(pk__in=found).update(lease_until=None)
    sandbox_setups.end_leases_of(dead)
    Worker.objects.filter(id__in=dead).delete()
    return freed
