"""Renews leases from a thread of its own, so that a busy event loop never loses one."""

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
from paca.conversations.models import Conversation
from paca.conversations.store import Lease
from paca.worker.worker_registry import HEARTBEAT_SECONDS, Presence

logger = logging.getLogger(__name__)


class LeaseKeeper(threading.Thread):
    """Renews all held leases every third of their length, and the worker's heartbeat with them."""

    def __init__(
        self, presence: Presence, *, seconds: float, lost: Callable[[Lease], None]
    ) -> None:
        """``lost`` is called in this thread with each lease that is no longer ours."""
        super().__init__(name="paca-lease-keeper", daemon=True)
        self._presence = presence
        self._seconds = seconds
        self._lost = lost
        self._held: dict[Lease, float] = {}
        self._lock = threading.Lock()
        self._ended = threading.Event()

    def hold(self, lease: Lease) -> None:
        """Renew this lease from now on."""
        with self._lock:
            self._held[lease] = clock.monotonic()

    def drop(self, lease: Lease) -> None:
        """Renew it no longer."""
        with self._lock:
            self._held.pop(lease, None)

    def end(self) -> None:
        """Stop renewing anything."""
        self._ended.set()
        self.join()

    def run(self) -> None:
        usual = pause = min(self._seconds / 3, HEARTBEAT_SECONDS)
        while not self._ended.wait(pause):
            pause = usual
            with self._lock:
                held = dict(self._held)
            try:
                close_old_connections()
                if not self._renew(held):
                    pause = usual / 5
            except DatabaseError as error:
                logger.exception("leases could not be renewed")
                database_errors.note_disk_full(error)
                self._give_up_the_stale(held)
        connection.close()

    def _renew(self, held: dict[Lease, float]) -> bool:
        """Renew those that are still ours; False if some are to be tried again soon.

        It waits for nobody: a row that somebody holds on to must not cost all the others their lease.
        """
        began = clock.monotonic()
        self._presence.beat()
        if not held:
            return True
        ours = Q()
        for lease in held:
            ours |= Q(pk=lease.conversation_id, lease_epoch=lease.epoch)
        mine = Conversation.objects.filter(ours, lease_owner=self._presence.id)
        with transaction.atomic():
            # guard: worker-lease-skips-locked-rows
            free = mine.select_for_update(of=("self",), no_key=True, skip_locked=True)
            renewed = set(free.values_list("pk", flat=True))
            mine.filter(pk__in=renewed).update(lease_until=Now() + timedelta(seconds=self._seconds))
        rest = {lease: at for lease, at in held.items() if lease.conversation_id not in renewed}
        ours_still = set(mine.values_list("pk", flat=True)) if rest else renewed
        for lease in held:
            if lease not in rest:
                self._renewed(lease, began)
            elif lease.conversation_id not in ours_still:
                self._let_go(lease)
        self._give_up_the_stale(rest)
        return not rest

    def _renewed(self, lease: Lease, at: float) -> None:
        with self._lock:
            if lease in self._held:
                self._held[lease] = at

    def _give_up_the_stale(self, held: dict[Lease, float]) -> None:
        """Who could not renew cannot know; well before the lease ends we stop to act on it."""
        for lease, renewed in held.items():
            if clock.monotonic() - renewed > self._seconds * 0.8:
                self._let_go(lease)

    def _let_go(self, lease: Lease) -> None:
        with self._lock:
            known = self._held.pop(lease, None) is not None
        if known:
            self._lost(lease)
