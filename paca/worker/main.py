"""The worker: claims conversations, runs them, delivers control commands to them, and drains."""

from __future__ import annotations

import asyncio
import functools
import logging
from collections.abc import Callable
from uuid import UUID

from django.conf import settings
from django.db import Error as DatabaseError

from paca.agents import selectors
from paca.bus import get_bus
from paca.bus.base import ConversationSignal, Hint, HintsLost, Signal, TriggerDue
from paca.common import clock, disk_space
from paca.common.best_effort import tolerated
from paca.conversations import services
from paca.conversations.services import delivery, helpers, person_requests
from paca.conversations.services.teams import settling
from paca.conversations.store import Lease
from paca.engine.llm import registry
from paca.engine.llm.http_pool import close_connections
from paca.sandbox.base import IdlePolicy
from paca.sandbox.manager import SandboxManager
from paca.worker import background_watch, checkins, checkpoints, old_data
from paca.worker import lease as leases
from paca.worker.assembly import default_sandbox_spec
from paca.worker.claim import claim_with_turns
from paca.worker.control_protocol import pending_requests
from paca.worker.database import Database
from paca.worker.external_triggers import ExternalTriggerHandler
from paca.worker.file_requests import FileServer
from paca.worker.memory_reviewer import MemoryReviewer
from paca.worker.repository_access import RepositoryBroker
from paca.worker.sandboxes import availability, cache_keeper, sweeper
from paca.worker.sandboxes.network_gates import GateKeeper
from paca.worker.sandboxes.warm_pool import WarmPool
from paca.worker.slots import Slot, Slots
from paca.worker.telemetry import TelemetryExporter
from paca.worker.title_writer import TitleWriter
from paca.worker.turns import ConversationRun, WorkerResources
from paca.worker.worker_registry import WorkerRegistration
from paca.worker.worker_settings import WorkerSettings

logger = logging.getLogger(__name__)

SWEEP_SECONDS = 1.0
COMMANDS_AFTER_CLAIM_SECONDS = 0.05
DRAIN_SECONDS = 20.0


class Worker:
    """Runs conversations in the current event loop until ``drain``."""

    def __init__(self, settings: WorkerSettings, sandbox_manager: SandboxManager) -> None:
        self._settings = settings
        self._database = Database()
        self._runs: dict[UUID, ConversationRun] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._has_claimed = False
        self._work_available = asyncio.Event()
        self._draining = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._slots = Slots(settings.concurrency, self._work_available.set)
        self._registration = WorkerRegistration(settings.concurrency)
        self.id = self._registration.id
        self._warm_pool = WarmPool(
            default_sandbox_spec(),
            settings.pool_size,
            worker_id=self.id,
            sandbox_manager=sandbox_manager,
            database=self._database,
            has_disk_space=has_disk_space,
        )
        warm_pool = self._warm_pool if settings.pool_size else None
        self._titles = TitleWriter(self._database)
        self._memory_reviewer = MemoryReviewer(self._database)
        after_answers = (self._titles.begin, self._memory_reviewer.begin)
        self._broker = RepositoryBroker(sandbox_manager.gates, self._database)
        self._resources = WorkerResources(
            self._database, sandbox_manager, warm_pool, after_answers, broker=self._broker
        )
        self.last_sweep_at = clock.monotonic()

    async def run(self, ready: Callable[[], None] = lambda: None) -> None:
        """Work until drained. ``ready`` is called once conversations can be claimed."""
        await self._database.call(self._registration.register)
        self._lease_keeper = leases.LeaseKeeper(
            self._registration,
            seconds=self._settings.lease_seconds,
            on_lost=self._on_lease_lost_in_thread,
        )
        self._lease_keeper.start()
        try:
            handler = ExternalTriggerHandler(self._database, self._slots_for_external_triggers)
            async with TelemetryExporter(self._database):
                async with (
                    get_bus().listen((ConversationSignal, HintsLost), self._on_hint),
                    get_bus().consume_triggers(self._on_hint, handler),
                ):
                    await self._work_until_drained(ready)
                with tolerated("report of the drain"):
                    await self._database.call(self._registration.update, draining=True)
                await asyncio.gather(self._release_runs(), self._warm_pool.drain())
                await asyncio.gather(self._titles.drain(), self._memory_reviewer.drain())
        finally:
            self._lease_keeper.stop()
            await close_connections()
            with tolerated("removal from the worker registry"):
                await self._database.call(self._registration.unregister)
            self._database.close()

    async def _work_until_drained(self, ready: Callable[[], None]) -> None:
        async with asyncio.TaskGroup() as group:
            managers = self._resources.sandbox_manager.per_backend()
            background = [
                group.create_task(
                    availability.report_repeatedly(
                        self._resources.sandbox_manager,
                        self._registration,
                        self._database,
                        self._draining,
                    )
                ),
                group.create_task(self._warm_pool.keep_filled()),
                group.create_task(
                    old_data.remove_repeatedly(self._database, self._draining.is_set)
                ),
                group.create_task(checkins.start_repeatedly(self._database, self._draining)),
                group.create_task(
                    background_watch.watch_repeatedly(
                        self._database, self._resources.sandbox_manager, self._draining
                    )
                ),
                group.create_task(
                    GateKeeper(
                        self._resources.sandbox_manager.gates, self._database
                    ).keep_repeatedly(self._draining)
                ),
                group.create_task(
                    FileServer(self.id, self._database, self._resources.sandbox_manager).serve(
                        self._draining
                    )
                ),
                group.create_task(
                    cache_keeper.keep_repeatedly(
                        self._resources.sandbox_manager.package_caches,
                        self._database,
                        self._draining,
                    )
                ),
                group.create_task(self._broker.answer_repeatedly(self._draining)),
                group.create_task(self._warm_models()),
                group.create_task(
                    checkpoints.checkpoint_repeatedly(self._database, self._has_worked)
                ),
                *(
                    group.create_task(self._sweeper(each).sweep_repeatedly(lambda: set(self._runs)))
                    for each in managers
                ),
            ]
            working = [
                group.create_task(self._claim_until_drained()),
                group.create_task(self._sweep_until_drained()),
            ]
            self._work_available.set()
            ready()
            await asyncio.wait(working)
            for task in background:
                task.cancel()

    async def _warm_models(self) -> None:
        """Import what the models of this installation need, so that the first answer does not wait for it."""
        with tolerated("import for models"):
            await registry.warm(await self._database.call(selectors.models_in_use))

    def _sweeper(self, sandbox_manager: SandboxManager) -> sweeper.Sweeper:
        idle, paused = self._settings.sandbox_idle_seconds, self._settings.sandbox_paused_seconds
        return sweeper.Sweeper(
            self.id,
            self._database,
            sandbox_manager,
            IdlePolicy(idle, paused),
            orphan_seconds=sweeper.ORPHAN_SECONDS,
        )

    def drain(self) -> None:
        """Claim nothing more, and release what runs: the next worker carries it on."""
        self._draining.set()
        self._work_available.set()

    # --- claims -------------------------------------------------------------------------------

    async def _claim_until_drained(self) -> None:
        while not self._draining.is_set():
            await self._work_available.wait()
            self._work_available.clear()
            try:
                await self._claim()
            except DatabaseError:
                logger.exception("claiming failed; it is tried again within a second")

    def _free_slots(self) -> int:
        """How many more conversations this worker can run. Another thread calls it too."""
        return 0 if self._draining.is_set() else self._slots.free

    def _slots_for_external_triggers(self) -> int:
        """Like ``_free_slots``, but 0 on a full disk: entries of the bus then stay where they are."""
        return self._free_slots() if has_disk_space() else 0

    async def _claim(self) -> None:
        slots = self._free_slots()
        # Each turn that cannot be stored costs a model call.
        if slots <= 0 or disk_space.database_is_full():
            return
        claims = await self._database.call(
            claim_with_turns,
            self.id,
            lease_seconds=self._settings.lease_seconds,
            limit=slots,
            histories=self._resources.history_cache,
        )
        for claimed in claims:
            slot = self._slots.take()
            run = ConversationRun(claimed, self._resources, slot.lend)
            self._runs[run.conversation_id] = run
            self._lease_keeper.add(run.lease)
            task = asyncio.create_task(run.answer_inbox())
            self._tasks.add(task)
            task.add_done_callback(functools.partial(self._on_run_ended, run, slot))
        if claims:
            self._has_claimed = True
            # Commands that came during the claim reached no run. They are read a moment later, so
            # that the first queries of the new runs go first.
            self._loop.call_later(COMMANDS_AFTER_CLAIM_SECONDS, self._schedule_control_commands)

    def _has_worked(self) -> bool:
        """Whether conversations run, or were claimed since the last call."""
        worked, self._has_claimed = self._has_claimed or bool(self._runs), False
        return worked

    def _on_run_ended(self, run: ConversationRun, slot: Slot, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._lease_keeper.remove(run.lease)
        if self._runs.get(run.conversation_id) is run:
            del self._runs[run.conversation_id]
        if not task.cancelled() and (error := task.exception()) is not None:
            fields = {"conversation": str(run.conversation_id), "epoch": run.lease.epoch}
            logger.error("run ended with an error", exc_info=error, extra=fields)
        slot.end()

    # --- hints and control commands -----------------------------------------------------------

    def _on_hint(self, hint: Hint) -> None:
        if isinstance(hint, TriggerDue | HintsLost):
            self._work_available.set()
        if isinstance(hint, HintsLost):
            self._schedule_control_commands()
        elif isinstance(hint, ConversationSignal) and hint.conversation_id in self._runs:
            if hint.signal is Signal.ATTACH:
                self._runs[hint.conversation_id].resend_live_text()
            elif hint.signal is not Signal.FILES:
                self._schedule_control_commands()

    def _schedule_control_commands(self) -> None:
        if self._draining.is_set():
            return
        task = asyncio.create_task(self._deliver_control_commands())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _deliver_control_commands(self) -> None:
        """Read the inboxes, and hand each command to the turn that ran when it was read.

        A turn that has started since then has read the inbox itself.
        """
        before = {key: (run, run.turns) for key, run in self._runs.items()}
        try:
            found = await self._database.call(pending_requests, list(before))
        except DatabaseError:
            logger.exception("control commands could not be read; they are read again in a second")
            return
        for conversation_id, request in found:
            run, turns = before[conversation_id]
            if self._runs.get(conversation_id) is run and run.turns == turns:
                run.receive(request)

    def _on_lease_lost_in_thread(self, lease: Lease) -> None:
        self._loop.call_soon_threadsafe(self._on_lease_lost, lease)

    def _on_lease_lost(self, lease: Lease) -> None:
        run = self._runs.get(lease.conversation_id)
        if run is not None and run.lease == lease:
            run.request_release()

    # --- sweeping and draining ----------------------------------------------------------------

    async def _sweep_until_drained(self) -> None:
        """Find without hints what there is to do: the bus may lose any hint."""
        while not self._draining.is_set():
            self.last_sweep_at = clock.monotonic()
            delivered = 0
            with tolerated("worker sweep"):
                await self._end_leases_of_dead_workers()
            with tolerated("delivery of assignments and mentions"):
                delivered = await self._database.call(sweep_projects)
            await self._deliver_control_commands()
            self._work_available.set()
            try:
                # After a full batch more are due.
                async with asyncio.timeout(0 if delivered == delivery.BATCH else SWEEP_SECONDS):
                    await self._draining.wait()
            except TimeoutError:
                continue

    async def _end_leases_of_dead_workers(self) -> None:
        freed = await self._database.call(leases.end_leases_of_dead_workers, self.id)
        if freed:
            logger.warning("taking over from a dead worker", extra={"conversations": freed})

    async def _release_runs(self) -> None:
        for run in list(self._runs.values()):
            run.request_release()
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=DRAIN_SECONDS)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)


def sweep_projects() -> int:
    """Deliver assignments and mentions that wait, and stop work on what is deleted.

    Gives the number of the deliveries, at most ``delivery.BATCH``.
    """
    delivered = delivery.deliver_due()
    services.stop_conversations_of_deleted()
    person_requests.expire_due()
    helpers.settle_due()
    settling.settle_due()
    return delivered


def has_disk_space() -> bool:
    """Whether there is enough free disk space for new work."""
    return disk_space.has_space(settings.PACA_DATA_DIR)
