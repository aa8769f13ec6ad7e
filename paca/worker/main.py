"""The worker: takes conversations it has room for, runs them, hears orders, and drains."""

from __future__ import annotations

import asyncio
import functools
import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Self
from uuid import UUID

from django.conf import settings
from django.db import Error as DatabaseError

from paca.bus import get_bus
from paca.bus.base import ConversationSignal, Hint, HintsLost, Signal, TriggerDue
from paca.common import clock, disk_space
from paca.common.best_effort import tolerated
from paca.conversations.store import Lease
from paca.engine.llm.http_pool import close_connections
from paca.sandbox.base import IdlePolicy
from paca.sandbox.manager import SandboxManager
from paca.worker import lease as leases
from paca.worker.assembly import usual_sandbox
from paca.worker.claim import claim
from paca.worker.control_commands import orders_for
from paca.worker.database import Database
from paca.worker.external_triggers import ExternalTriggerHandler
from paca.worker.sandboxes import sweeper
from paca.worker.sandboxes.warm_pool import Pool
from paca.worker.turns import Held, Services
from paca.worker.worker_registry import Presence

logger = logging.getLogger(__name__)

SWEEP_SECONDS = 1.0
ORDERS_SECONDS = 0.05
DRAIN_SECONDS = 20.0
SANDBOX_WATCH_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """How much a worker takes on, and how long a lease is."""

    concurrency: int
    lease_seconds: float
    sandbox_idle_seconds: float
    sandbox_paused_seconds: float = 3600
    pool_size: int = 0

    @classmethod
    def as_set(cls, concurrency: int) -> Self:
        """The installation's settings, with this worker's own share of the work."""
        return cls(
            concurrency=concurrency,
            lease_seconds=settings.WORKER_LEASE_SECONDS,
            sandbox_idle_seconds=settings.SANDBOX_IDLE_SECONDS,
            sandbox_paused_seconds=settings.SANDBOX_PAUSED_SECONDS,
            pool_size=settings.SANDBOX_POOL_SIZE,
        )


class Worker:
    """Runs conversations in the current event loop until ``drain``."""

    def __init__(self, settings: WorkerSettings, sandboxes: SandboxManager) -> None:
        self._settings = settings
        self._database = Database()
        self._held: dict[UUID, Held] = {}
        self._runs: set[asyncio.Task[None]] = set()
        self._look = asyncio.Event()
        self._draining = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._presence = Presence(settings.concurrency)
        self.id = self._presence.id
        self._pool = Pool(
            usual_sandbox(),
            settings.pool_size,
            worker_id=self.id,
            sandboxes=sandboxes,
            database=self._database,
            room=has_room_on_disk,
        )
        pool = self._pool if settings.pool_size else None
        self._services = Services(self._database, sandboxes, pool)
        self.seen_at = clock.monotonic()

    async def run(self, ready: Callable[[], None] = lambda: None) -> None:
        """Work until drained. ``ready`` is called once conversations can be taken."""
        await self._database.call(self._presence.enter)
        self._keeper = leases.LeaseKeeper(
            self._presence, seconds=self._settings.lease_seconds, lost=self._lost_in_thread
        )
        self._keeper.start()
        try:
            handler = ExternalTriggerHandler(self._database, self._room_for_more)
            with get_bus().listen((ConversationSignal, HintsLost), self._hear):
                async with get_bus().consume_triggers(self._hear, handler):
                    await self._work_until_drained(ready)
            with tolerated("saying that the worker drains"):
                await self._database.call(self._presence.tell, draining=True)
            await asyncio.gather(self._let_go_of_runs(), self._pool.drain())
        finally:
            self._keeper.end()
            await close_connections()
            with tolerated("leaving the list of workers"):
                await self._database.call(self._presence.leave)
            self._database.close()

    async def _work_until_drained(self, ready: Callable[[], None]) -> None:
        async with asyncio.TaskGroup() as group:
            sweepers = [self._sweeper(each) for each in self._services.sandboxes.per_backend()]
            beside = [
                group.create_task(self._watch_sandboxes()),
                group.create_task(self._pool.keep()),
                *(
                    group.create_task(each.mind_sandboxes(lambda: set(self._held)))
                    for each in sweepers
                ),
            ]
            working = [
                group.create_task(self._claim_until_drained()),
                group.create_task(self._sweep_until_drained()),
            ]
            self._look.set()
            ready()
            await asyncio.wait(working)
            for task in beside:
                task.cancel()

    def _sweeper(self, sandboxes: SandboxManager) -> sweeper.Sweeper:
        idle, paused = self._settings.sandbox_idle_seconds, self._settings.sandbox_paused_seconds
        return sweeper.Sweeper(
            self.id,
            self._database,
            sandboxes,
            IdlePolicy(idle, paused),
            orphan_seconds=sweeper.ORPHAN_SECONDS,
        )

    def drain(self) -> None:
        """Take nothing more; runs under way are let go, for the next worker to carry on."""
        self._draining.set()
        self._look.set()

    # --- taking -------------------------------------------------------------------------------

    async def _claim_until_drained(self) -> None:
        while not self._draining.is_set():
            await self._look.wait()
            self._look.clear()
            try:
                await self._claim()
            except DatabaseError:
                logger.exception("claiming failed; it is tried again within a second")

    def _room(self) -> int:
        """How many more conversations this worker would take; also asked by another thread."""
        return 0 if self._draining.is_set() else self._settings.concurrency - len(self._held)

    def _room_for_more(self) -> int:
        """The same for work that is not stored yet: on a full disk it waits where it is."""
        return self._room() if has_room_on_disk() else 0

    async def _claim(self) -> None:
        most = self._room()
        # Each turn that cannot be stored costs a model call.
        if most <= 0 or disk_space.database_is_full():
            return
        taken = await self._database.call(
            claim, self.id, lease_seconds=self._settings.lease_seconds, room=most
        )
        for claimed in taken:
            held = Held(claimed, self._services)
            self._held[held.conversation_id] = held
            self._keeper.hold(held.lease)
            task = asyncio.create_task(held.work())
            self._runs.add(task)
            task.add_done_callback(functools.partial(self._ended, held))
        if taken:
            # What was ordered while they were taken reached no run. Their first questions go first.
            self._loop.call_later(ORDERS_SECONDS, self._spawn_bring_orders)

    def _ended(self, held: Held, task: asyncio.Task[None]) -> None:
        self._runs.discard(task)
        self._keeper.drop(held.lease)
        if self._held.get(held.conversation_id) is held:
            del self._held[held.conversation_id]
        if not task.cancelled() and (error := task.exception()) is not None:
            about = {"conversation": str(held.conversation_id), "epoch": held.lease.epoch}
            logger.error("a run ended badly", exc_info=error, extra=about)
        self._look.set()  # there is room again

    # --- hearing ------------------------------------------------------------------------------

    def _hear(self, hint: Hint) -> None:
        if isinstance(hint, TriggerDue | HintsLost):
            self._look.set()
        if isinstance(hint, HintsLost):
            self._spawn_bring_orders()
        elif isinstance(hint, ConversationSignal) and hint.conversation_id in self._held:
            if hint.signal is Signal.ATTACH:
                self._held[hint.conversation_id].repeat_live()
            else:
                self._spawn_bring_orders()

    def _spawn_bring_orders(self) -> None:
        if self._draining.is_set():
            return
        task = asyncio.create_task(self._bring_orders())
        self._runs.add(task)
        task.add_done_callback(self._runs.discard)

    async def _bring_orders(self) -> None:
        """What is read is for the turns that ran when it was read: one begun since has taken it up."""
        before = {key: (held, held.turns) for key, held in self._held.items()}
        try:
            found = await self._database.call(orders_for, list(before))
        except DatabaseError:
            logger.exception("orders could not be read; they are looked for again in a second")
            return
        for conversation_id, order in found:
            held, turns = before[conversation_id]
            if self._held.get(conversation_id) is held and held.turns == turns:
                held.order(order)

    def _lost_in_thread(self, lost: Lease) -> None:
        self._loop.call_soon_threadsafe(self._lost, lost)

    def _lost(self, lost: Lease) -> None:
        held = self._held.get(lost.conversation_id)
        if held is not None and held.lease == lost:
            held.let_go()

    # --- sweeping and draining ----------------------------------------------------------------

    async def _sweep_until_drained(self) -> None:
        """Find without a hint what hints should have said: the bus may lose any of them."""
        while not self._draining.is_set():
            self.seen_at = clock.monotonic()
            with tolerated("worker sweep"):
                await sweeper.free_what_the_dead_held(self.id, self._database)
            await self._bring_orders()
            self._look.set()
            try:
                async with asyncio.timeout(SWEEP_SECONDS):
                    await self._draining.wait()
            except TimeoutError:
                continue

    async def _watch_sandboxes(self) -> None:
        """Tell the others whether commands can run here. It costs little once they could."""
        sandboxes = self._services.sandboxes
        told = None
        # Not for ever: what tidies up after a cancellation may fail, and that is tolerated here.
        while not self._draining.is_set():
            with tolerated("looking after the sandboxes"):
                fault = await sandboxes.unavailable_reason() or ""
                if fault != told:
                    facts = {"sandbox": sandboxes.active_backend_name, "sandbox_fault": fault}
                    await self._database.call(self._presence.tell, **facts)
                    told = fault
            with suppress(TimeoutError):
                async with asyncio.timeout(SANDBOX_WATCH_SECONDS):
                    await self._draining.wait()

    async def _let_go_of_runs(self) -> None:
        for held in list(self._held.values()):
            held.let_go()
        if self._runs:
            _, late = await asyncio.wait(self._runs, timeout=DRAIN_SECONDS)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)


def has_room_on_disk() -> bool:
    """Whether new work may begin, as far as that goes."""
    return disk_space.has_space(settings.PACA_DATA_DIR)
