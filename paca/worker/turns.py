"""One conversation, held until it rests: the bridge between the engine and the database."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field
from uuid import UUID

from django.db import Error as DatabaseError
from django.utils import timezone

from paca.bus import get_bus
from paca.common import clock, database_errors, disk_space, logs
from paca.common.errors import PacaError
from paca.conversations.models import ControlCommand
from paca.conversations.store import Fenced, Lease
from paca.engine import acting
from paca.engine.llm.base import LLM
from paca.engine.llm.registry import open_llm
from paca.engine.llm.text_tool_calls.adapter import TextCallingLLM
from paca.engine.loop import run_until_done
from paca.engine.ports import RunServices, ToolServices
from paca.engine.run import Run, TurnOutcome
from paca.engine.tools.registry import Toolbox, workspace_tools
from paca.engine.workspace import SandboxBroken, Superseded
from paca.sandbox.manager import SandboxManager
from paca.worker import turn_end
from paca.worker.assembly import Assembled, assemble_next, assemble_run
from paca.worker.claim import Claimed, release
from paca.worker.database import Database
from paca.worker.history_cache import Folds
from paca.worker.run_log import RunLog
from paca.worker.sandboxes.run_sandbox import RunSandboxes
from paca.worker.sandboxes.warm_pool import Pool
from paca.worker.stream_buffer import Live

logger = logging.getLogger(__name__)

INTERNAL = TurnOutcome(
    "failed",
    "internal",
    "This server failed while it worked on the conversation. Everything up to here is kept.",
    "Press Continue. If it fails again, look into the server's log.",
)


@dataclass(frozen=True, slots=True)
class Services:
    """What all runs of a worker share."""

    database: Database
    sandboxes: SandboxManager
    pool: Pool | None = None
    folds: Folds = field(default_factory=Folds)


@dataclass(frozen=True, slots=True)
class Order:
    """What somebody wants of the run, other than that it goes on; ``id`` is its trigger's."""

    id: UUID
    control: ControlCommand
    by: str
    reason: str


class Held:
    """A conversation this worker holds. Orders reach the engine by cancelling its task."""

    def __init__(self, claimed: Claimed, services: Services) -> None:
        self.lease: Lease = claimed.lease
        self._claimed = claimed
        self._services = services
        self._live = Live(claimed.lease.conversation_id, get_bus())
        self._engine: asyncio.Task[TurnOutcome] | None = None
        self._order: Order | None = None
        self._heard: set[UUID] = set()
        self._let_go = False
        self._run: Run | None = None
        self.turns = 1

    @property
    def conversation_id(self) -> UUID:
        return self.lease.conversation_id

    # --- from outside -------------------------------------------------------------------------

    def order(self, order: Order) -> None:
        """Stop and interrupt act at once; pause at the next step. A stop outranks an interrupt.

        The inbox is read again and again until the order is carried out: it counts once.
        """
        if order.id in self._heard:
            return
        self._heard.add(order.id)
        if order.control is ControlCommand.PAUSE:
            if self._run is not None:
                self._run.pause_asked_by = order.by or "someone"
            return
        if self._order is None or order.control is ControlCommand.STOP:
            self._order = order
        self._cancel_engine()

    def let_go(self) -> None:
        """End without a word: the worker shuts down, or another one has taken over."""
        self._let_go = True
        self._cancel_engine()

    def repeat_live(self) -> None:
        """A viewer has come in the middle."""
        self._live.repeat()

    def _cancel_engine(self) -> None:
        if self._engine is not None:
            self._engine.cancel()

    # --- the run ------------------------------------------------------------------------------

    async def work(self) -> None:
        """Run turn after turn until the conversation rests. Raises nothing but cancellation."""
        with logs.log_context(conversation=str(self.conversation_id), epoch=self.lease.epoch):
            try:
                await self._work()
            except (Fenced, Superseded):
                logger.warning("superseded by another worker")
            except DatabaseError as error:
                # What is stored is right and what is not is not shown: the lease runs out or is
                # released, and whoever claims the conversation next goes on from its log.
                logger.exception("the database failed a run")
                if database_errors.note_disk_full(error):
                    # No fault of the step; but each worker that took it over would ask the model anew.
                    await self._release(pause_seconds=disk_space.FULL_SECONDS)
                else:
                    await self._release(in_vain=True)
            finally:
                self._live.close()

    async def _work(self) -> None:
        known = self._services.folds.take(self.conversation_id)
        assembled = await self._services.database.call(
            assemble_run, self._claimed.rows, self._claimed.turn_began, known
        )
        log = RunLog(
            self.lease,
            assembled.known,
            assembled.recorded,
            database=self._services.database,
            live=self._live,
        )
        sandboxes = RunSandboxes(
            assembled.sandbox,
            assembled.sandbox_boot_id,
            manager=self._services.sandboxes,
            log=log,
            database=self._services.database,
            pool=self._services.pool,
        )
        try:
            while await self._turn(assembled, log, sandboxes):
                assembled = await self._services.database.call(assemble_next, self.lease, log.fold)
            await log.catch_up()
            self._services.folds.keep(self.conversation_id, log.fold)
        finally:
            await sandboxes.let_go()

    async def _turn(self, assembled: Assembled, log: RunLog, sandboxes: RunSandboxes) -> bool:
        """One turn from where it stands to its end; True if the next has begun."""
        with logs.log_context(turn=self._number):
            return await self._run_turn(assembled, log, sandboxes)

    @property
    def _number(self) -> int:
        return self._claimed.rows.conversation.turn_number + self.turns - 1

    async def _run_turn(self, assembled: Assembled, log: RunLog, sandboxes: RunSandboxes) -> bool:
        run = self._run = Run(
            assembled.profile,
            Toolbox(workspace_tools()),
            began=clock.monotonic() - (timezone.now() - assembled.turn_began).total_seconds(),
            seen_files=log.seen_files,
        )
        outcome = await self._run_engine(run, assembled, log, sandboxes)
        if self._let_go and outcome is INTERNAL:
            await log.commit()  # outcomes that are known, and what the attempt has used
            await self._release()
            return False
        order, self._order = self._order, None
        if order is not None:
            await self._cancel_calls(order, run, log, sandboxes)
            stopped = order.control is ControlCommand.STOP
            outcome = TurnOutcome("stopped", order.reason if stopped else "interrupted")
        follows = await self._services.database.call(
            turn_end.end_turn,
            self.lease,
            log.take_noted(),
            outcome,
            steps=log.progress.steps,
            by=order.by if order else run.pause_asked_by,
        )
        told = {
            "status": outcome.status,
            "reason": outcome.reason,
            "seconds": round(run.seconds, 3),
        }
        logger.info("a turn has ended", extra={**told, "steps": log.progress.steps})
        if follows:
            self._begin_next_turn()
            await log.catch_up()
        return follows

    def _begin_next_turn(self) -> None:
        """What was heard up to here was for the turn before. What still waits is heard again."""
        self._order = None
        self._heard.clear()
        self.turns += 1

    async def _run_engine(
        self, run: Run, assembled: Assembled, log: RunLog, sandboxes: RunSandboxes
    ) -> TurnOutcome:
        """The engine's outcome; whatever else it raises ends the turn, told to people."""
        try:
            services = RunServices(log, sandboxes, _model_of(assembled))
            if self._order is None and not self._let_go:
                self._engine = asyncio.create_task(run_until_done(run, services))
                return await self._engine
        except asyncio.CancelledError:
            if self._order is None and not self._let_go:
                await self._end_engine()
                raise
        except (Fenced, Superseded, *database_errors.UNAVAILABLE_ERRORS):
            raise
        except SandboxBroken as error:
            logger.warning("a sandbox does not start")
            return TurnOutcome("failed", "sandbox_error", error.detail, "Mend it, then try again.")
        except PacaError as error:
            logger.warning("a run failed")
            return TurnOutcome(
                "failed", "configuration", error.detail, "Correct it, then try again."
            )
        except Exception:  # the top of a run: told to people, never silent
            logger.exception("a run failed")
        finally:
            self._engine = None
        return INTERNAL

    async def _end_engine(self) -> None:
        if self._engine is not None:
            self._engine.cancel()
            await asyncio.wait({self._engine})

    async def _cancel_calls(
        self, order: Order, run: Run, log: RunLog, sandboxes: RunSandboxes
    ) -> None:
        """Store what the engine had noted, then end each open call with a result."""
        await log.commit()
        verb = "Stopped" if order.control is ControlCommand.STOP else "Interrupted"
        why = f"{verb} by {order.by or 'a person'}."
        services = ToolServices(log, sandboxes)
        await acting.cancel(log.history.open_calls(), run, services, why=why)

    async def _release(self, *, in_vain: bool = False, pause_seconds: float = 0) -> None:
        try:
            await self._services.database.call(
                release, self.lease, in_vain=in_vain, pause_seconds=pause_seconds
            )
        except DatabaseError:
            logger.warning("a lease could not be released; it will run out")


def _model_of(assembled: Assembled) -> LLM:
    """The way to the agent's model, and around it the one by which it calls tools in words."""
    profile = assembled.profile
    llm = open_llm(profile.model, base_url=profile.base_url, api_key=assembled.api_key)
    return TextCallingLLM(llm) if profile.text_tool_calls else llm
