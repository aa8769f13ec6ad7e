"""Renews leases from a thread of its own, so that a busy event loop never loses one."""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

from django.db import Error as DatabaseError
from django.db import close_old_connections, connection
from django.db.models import Q
from django.db.models.functions import Now

from paca.conversations.models import Conversation, Worker
from paca.conversations.store import Lease

logger = logging.getLogger(__name__)


def process_started(pid: int) -> str:
    """When a process began, in clock ticks since boot; empty if there is none, or only a zombie.

    A pid alone says nothing: it may be another process by now, or one that is dead and unreaped.
    """
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    state, started = fields[0], fields[19]
    return "" if state in ("Z", "X") else started


def register(concurrency: int) -> str:
    """Enter this process as a worker; gives its id."""
    host, pid = socket.gethostname(), os.getpid()
    started = process_started(pid) or str(time.time_ns())
    worker_id = f"{host}-{pid}-{started}"[:100]
    Worker.objects.update_or_create(
        id=worker_id,
        defaults={
            "host": host,
            "pid": pid,
            "process_started": started,
            "concurrency": concurrency,
            "draining": False,
            "heartbeat_at": Now(),
        },
    )
    return worker_id


def free_leases_of_the_dead(me: str) -> int:
    """End the leases of workers on this host whose process is gone, without waiting for the time.

    Gives how many conversations came free.
    """
    dead = [
        worker.id
        for worker in Worker.objects.filter(host=socket.gethostname()).exclude(id=me)
        if process_started(worker.pid) != worker.process_started
    ]
    freed = Conversation.objects.filter(lease_owner__in=dead, lease_until__isnull=False).update(
        lease_until=None
    )
    Worker.objects.filter(id__in=dead).delete()
    return freed


class LeaseKeeper(threading.Thread):
    """Renews all held leases every third of their length, and the worker's heartbeat with them."""

    def __init__(self, worker_id: str, *, seconds: float, lost: Callable[[Lease], None]) -> None:
        """``lost`` is called in this thread with each lease that is no longer ours."""
        super().__init__(name="paca-lease-keeper", daemon=True)
        self._worker_id = worker_id
        self._seconds = seconds
        self._lost = lost
        self._held: dict[Lease, float] = {}
        self._lock = threading.Lock()
        self._ended = threading.Event()

    def hold(self, lease: Lease) -> None:
        """Renew this lease from now on."""
        with self._lock:
            self._held[lease] = time.monotonic()

    def drop(self, lease: Lease) -> None:
        """Renew it no longer."""
        with self._lock:
            self._held.pop(lease, None)

    def end(self) -> None:
        """Stop renewing anything."""
        self._ended.set()
        self.join()

    def run(self) -> None:
        while not self._ended.wait(self._seconds / 3):
            with self._lock:
                held = dict(self._held)
            try:
                close_old_connections()
                self._renew(held)
            except DatabaseError:
                logger.exception("leases could not be renewed")
                self._give_up_the_stale(held)
        connection.close()

    def _renew(self, held: dict[Lease, float]) -> None:
        """One statement for all, then one to see which of them were still ours."""
        began = time.monotonic()
        Worker.objects.filter(id=self._worker_id).update(heartbeat_at=Now())
        if not held:
            return
        ours = Q()
        for lease in held:
            ours |= Q(pk=lease.conversation_id, lease_epoch=lease.epoch)
        mine = Conversation.objects.filter(ours, lease_owner=self._worker_id)
        mine.update(lease_until=Now() + timedelta(seconds=self._seconds))
        kept = set(mine.values_list("pk", flat=True))
        for lease in held:
            if lease.conversation_id in kept:
                self._renewed(lease, began)
            else:
                self._let_go(lease)

    def _renewed(self, lease: Lease, at: float) -> None:
        with self._lock:
            if lease in self._held:
                self._held[lease] = at

    def _give_up_the_stale(self, held: dict[Lease, float]) -> None:
        """Without the database we cannot know; well before the lease ends we stop to act on it."""
        for lease, renewed in held.items():
            if time.monotonic() - renewed > self._seconds * 0.8:
                self._let_go(lease)

    def _let_go(self, lease: Lease) -> None:
        with self._lock:
            known = self._held.pop(lease, None) is not None
        if known:
            self._lost(lease)
