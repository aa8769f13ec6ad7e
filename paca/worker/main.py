"""The worker: takes conversations it has room for, runs them, hears orders, and drains."""

from __future__ import annotations

import asyncio
import functools
import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from uuid import UUID

from django.db import Error as DatabaseError

from paca.bus import get_bus
from paca.bus.base import Hint, Signal, Signalled, Woken
from paca.common.optional import tolerated
from paca.conversations.models import Worker as WorkerRow
from paca.conversations.store import Lease
from paca.engine.llm.connections import close_connections
from paca.sandbox.manager import SandboxManager
from paca.worker import lease as leases
from paca.worker import sweep
from paca.worker.claim import claim
from paca.worker.control import orders_for
from paca.worker.database import Database
from paca.worker.turns import Held, Services

logger = logging.getLogger(__name__)

SWEEP_SECONDS = 1.0
DRAIN_SECONDS = 20.0
RESTART_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """How much a worker takes on, and how long a lease is."""

    concurrency: int
    lease_seconds: float
    sandbox_idle_seconds: float


class Worker:
    """Runs conversations in the current event loop until ``drain``."""

    def __init__(self, settings: WorkerSettings, sandboxes: SandboxManager) -> None:
        self._settings = settings
        self._database = Database()
        self._services = Services(self._database, sandboxes)
        self._held: dict[UUID, Held] = {}
        self._runs: set[asyncio.Task[None]] = set()
        self._look = asyncio.Event()
        self._draining = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    async def run(self, ready: Callable[[], None] = lambda: None) -> None:
        """Work until drained. ``ready`` is called once conversations can be taken."""
        self.id = await self._database.call(leases.register, self._settings.concurrency)
        self._keeper = leases.LeaseKeeper(
            self.id, seconds=self._settings.lease_seconds, lost=self._lost_in_thread
        )
        self._keeper.start()
        try:
            with get_bus().listen((Woken, Signalled), self._hear):
                async with asyncio.TaskGroup() as group:
                    group.create_task(self._claim_until_drained())
                    group.create_task(self._sweep_until_drained())
                    self._look.set()
                    ready()
            await self._let_go_of_runs()
        finally:
            self._keeper.end()
            await close_connections()
            await self._database.call(WorkerRow.objects.filter(id=self.id).delete)
            self._database.close()

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

    async def _claim(self) -> None:
        room = self._settings.concurrency - len(self._held)
        if room <= 0 or self._draining.is_set():
            return
        taken = await self._database.call(
            claim, self.id, lease_seconds=self._settings.lease_seconds, room=room
        )
        for claimed in taken:
            held = Held(claimed, self._services)
            self._held[held.conversation_id] = held
            self._keeper.hold(held.lease)
            task = asyncio.create_task(held.work())
            self._runs.add(task)
            task.add_done_callback(functools.partial(self._ended, held))
        if taken:
            await self._bring_orders()

    def _ended(self, held: Held, task: asyncio.Task[None]) -> None:
        self._runs.discard(task)
        self._keeper.drop(held.lease)
        if self._held.get(held.conversation_id) is held:
            del self._held[held.conversation_id]
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error("a run ended badly", exc_info=error)
        self._look.set()  # there is room again

    # --- hearing ------------------------------------------------------------------------------

    def _hear(self, hint: Hint) -> None:
        if isinstance(hint, Woken):
            self._look.set()
        elif isinstance(hint, Signalled) and hint.conversation_id in self._held:
            if hint.what is Signal.ATTACH:
                self._held[hint.conversation_id].repeat_live()
            else:
                self._spawn_bring_orders()

    def _spawn_bring_orders(self) -> None:
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
        sweeper = sweep.Sweeper(
            self.id, self._database, self._services.sandboxes, self._settings.sandbox_idle_seconds
        )
        while not self._draining.is_set():
            # A file that cannot be removed or a sandbox that is locked must not end the worker.
            with tolerated("worker sweep"):
                await sweeper.sweep(set(self._held))
            await self._bring_orders()
            self._look.set()
            try:
                async with asyncio.timeout(SWEEP_SECONDS):
                    await self._draining.wait()
            except TimeoutError:
                continue

    async def _let_go_of_runs(self) -> None:
        for held in list(self._held.values()):
            held.let_go()
        if self._runs:
            _, late = await asyncio.wait(self._runs, timeout=DRAIN_SECONDS)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)


class WorkerThread(threading.Thread):
    """A worker with a thread and an event loop of its own, beside the web server."""

    def __init__(self, settings: WorkerSettings, sandboxes: SandboxManager) -> None:
        super().__init__(name="paca-worker", daemon=True)
        self._settings = settings
        self._sandboxes = sandboxes
        self._worker: Worker | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ready = threading.Event()
        self._over = threading.Event()
        self.error: BaseException | None = None

    def run(self) -> None:
        """Work until drained. One that ends badly is begun anew: the pages cannot do without."""
        while not self._over.is_set():
            try:
                asyncio.run(self._work())
            except BaseException as error:
                logger.exception("the worker ended badly")
                if not self._ready.is_set():  # it never came up: whoever waits for it is told
                    self.error = error
                    break
                self._over.wait(RESTART_SECONDS)
        self._ready.set()

    async def _work(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._worker = Worker(self._settings, self._sandboxes)
        await self._worker.run(ready=self._ready.set)

    def wait_until_ready(self, seconds: float = 30) -> None:
        """Return once it takes conversations. Raises what it died of."""
        if not self._ready.wait(seconds):
            raise TimeoutError("The worker did not start in time.")
        if self.error is not None:
            raise self.error

    def drain(self, timeout: float = DRAIN_SECONDS + 5) -> None:
        """Let the worker end in order; what runs is carried on at the next start."""
        self._over.set()
        if self._loop is not None and self._worker is not None and self.is_alive():
            with suppress(RuntimeError):  # its loop is closed: it ended a moment ago
                self._loop.call_soon_threadsafe(self._worker.drain)
        self.join(timeout)
