"""One claimed conversation, run turn after turn: connects the engine with the database."""

from __future__ import annotations

import asyncio
import functools
import logging
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from uuid import UUID

from django.db import Error as DatabaseError
from django.utils import timezone

from paca.agents.skill_tools import SkillLibrary
from paca.agents.toolbox import make_toolbox
from paca.bus import get_bus
from paca.common import clock, database_errors, disk_space, logs
from paca.common.errors import PacaError
from paca.conversations.store import Fenced, Lease
from paca.engine.call_traces import NoCallTraces
from paca.engine.loop import run_until_done
from paca.engine.mcp.group import ServerGroup
from paca.engine.mcp.settings import McpServers
from paca.engine.model_state import OWN_MODEL
from paca.engine.request_size import window_of
from paca.engine.tools.registry import Toolbox
from paca.engine.turn import (
    ActiveTurn,
    LendSlot,
    RefreshTools,
    ToolServices,
    TurnOutcome,
    TurnServices,
)
from paca.engine.workspace import SandboxBroken, Superseded
from paca.sandbox.manager import SandboxManager
from paca.worker import claim, run_errors, turn_end, turn_waits
from paca.worker.after_turn import AnsweredTurn
from paca.worker.agent_tasks import read_open_tasks
from paca.worker.assembly import AssembledTurn, assemble_next_turn, assemble_turn
from paca.worker.background_monitor import BackgroundMonitor
from paca.worker.clones_at_start import clone_at_start
from paca.worker.control_protocol import (
    EFFECTS,
    RELEASE,
    Action,
    ControlRequest,
    Effect,
    Phase,
    cancel_open_calls,
    pending_requests,
    stronger,
)
from paca.worker.database import Database
from paca.worker.event_masking import masked_outcome
from paca.worker.full_output_store import FullOutputStore
from paca.worker.mcp_access import RunMcpServers, refresh_tools
from paca.worker.memory_access import RunMemoryAccess
from paca.worker.project_access import RunProjectAccess
from paca.worker.repository_access import RepositoryBroker, RunRepositoryAccess
from paca.worker.run_log import HistoryCache, RunLog
from paca.worker.run_traces import RunTraces
from paca.worker.sandboxes.run_sandbox import RunSandbox
from paca.worker.sandboxes.warm_pool import WarmPool
from paca.worker.skill_access import RunSkillAccess
from paca.worker.stream_buffer import StreamBuffer
from paca.worker.team_access import RunTeamAccess
from paca.worker.turn_limits import give_team_anew, read_limits

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class WorkerResources:
    """What all conversations of a worker share."""

    database: Database
    sandbox_manager: SandboxManager
    warm_pool: WarmPool | None = None
    after_answers: Sequence[Callable[[AnsweredTurn], None]] = ()
    history_cache: HistoryCache = field(default_factory=HistoryCache)
    mcp_servers: Callable[[UUID, Database], McpServers] = RunMcpServers
    broker: RepositoryBroker | None = None


class ConversationRun:
    """Runs a claimed conversation, and obeys the requests of the control protocol."""

    def __init__(
        self, claimed: claim.Claimed, resources: WorkerResources, lend_slot: LendSlot = nullcontext
    ) -> None:
        """``lend_slot``: a context in which the run only waits, and other conversations use its slot."""
        self.lease: Lease = claimed.lease
        self._lend_slot = lend_slot
        self._claimed = claimed
        self._resources = resources
        rows, lease, database = claimed.rows, claimed.lease, resources.database
        self._project_access = RunProjectAccess(lease, rows.agent.pk, database)
        self._skill_access = RunSkillAccess(rows.agent.pk, database)
        self._mcp_servers = resources.mcp_servers(rows.agent.pk, database)
        self._memory_access = RunMemoryAccess(lease, rows.agent.pk, self._project_access)
        self._repositories = RunRepositoryAccess(rows.conversation, resources.broker, database)
        self._stream_buffer = StreamBuffer(lease.conversation_id, get_bus())
        self._traces = RunTraces(lease.conversation_id, rows.agent.pk, database)
        self._log: RunLog | None = None
        self._active_turn: ActiveTurn | None = None
        self._engine: asyncio.Task[TurnOutcome] | None = None
        self._turn_is_ending = False
        self._request: ControlRequest | None = None
        self._received: set[UUID] = set()
        self.turns = 1

    @property
    def conversation_id(self) -> UUID:
        return self.lease.conversation_id

    # --- requests -----------------------------------------------------------------------------

    @property
    def phase(self) -> Phase:
        if self._engine is None or self._log is None:
            return Phase.ENDING if self._turn_is_ending else Phase.STARTING
        return Phase.TOOL_CALLS if self._log.history.open_calls() else Phase.MODEL_CALL

    def receive(self, request: ControlRequest) -> None:
        """Do what the control protocol says. A control command counts once, however often it is read."""
        if request.trigger_id in self._received:
            return
        effect = EFFECTS[self.phase, request.action]
        # guard: worker-commands-wait-for-their-phase
        if effect is Effect.LEAVE_IN_INBOX:
            return
        if request.trigger_id is not None:
            self._received.add(request.trigger_id)
        if effect is Effect.PAUSE_AFTER_STEP and self._active_turn is not None:
            self._active_turn.pause_asked_by = request.by or "someone"
            return
        self._request = stronger(self._request, request)
        if self._engine is not None:
            self._engine.cancel()

    def request_release(self) -> None:
        """Ask the run to end and to give up the claim: the worker drains, or another one has the lease."""
        self.receive(RELEASE)

    def resend_live_text(self) -> None:
        """Send the text of the running call again, for a viewer who has just connected."""
        self._stream_buffer.resend()

    # --- turns --------------------------------------------------------------------------------

    async def answer_inbox(self) -> None:
        """Run turn after turn until the inbox is empty.

        Errors of the database and refused writes are logged, and end the run; its claim is released.
        """
        with logs.log_context(conversation=str(self.conversation_id), epoch=self.lease.epoch):
            try:
                await self._run_turns()
            except (Fenced, Superseded):
                logger.warning("superseded by another worker")
            except DatabaseError as error:
                # The log holds exactly what viewers were shown. The lease runs out or is released,
                # and the next worker that claims the conversation carries on from its log.
                logger.exception("run failed at the database")
                if database_errors.note_disk_full(error):
                    # A full disk is no fault of the step, but each new claim would ask the model again.
                    await self._release_claim(pause_seconds=disk_space.FULL_SECONDS)
                else:
                    await self._release_claim(step_failed=True)
            except PacaError:
                logger.exception("run failed at a write that was refused")
                await self._release_claim(step_failed=True)
            finally:
                self._stream_buffer.close()
                await self._traces.close()

    async def _run_turns(self) -> None:
        database = self._resources.database
        if self._claimed.taken_over:
            # A stop may have ended the wait for a person: it is obeyed before anything runs.
            for _, request in await database.call(pending_requests, [self.conversation_id]):
                self.receive(request)
        turn = self._claimed.turn or await self._read_first_turn()
        log = self._log = RunLog(
            self.lease,
            turn.cached,
            turn.new_events,
            database=database,
            stream_buffer=self._stream_buffer,
            claimed_seq=self._claimed.claimed_seq,
            mask=turn.mask,
        )
        sandbox = RunSandbox(
            self._skill_access.with_files(turn.sandbox, turn.skills),
            turn.sandbox_boot_id,
            manager=self._resources.sandbox_manager,
            log=log,
            database=database,
            # A helper uses the sandbox of another conversation.
            warm_pool=None if turn.sandbox.session else self._resources.warm_pool,
            lend_slot=self._lend_slot,
        )
        servers = ServerGroup(self._mcp_servers, sandbox.workspace)
        monitor = BackgroundMonitor(log, sandbox, database)
        monitor.start()
        try:
            await clone_at_start(turn, self._repositories, log, sandbox, database)
            while await self._run_turn(turn, log, sandbox, servers):
                turn = await database.call(assemble_next_turn, self.lease, log.cached_history)
            await log.catch_up()
            self._resources.history_cache.put(self.conversation_id, log.cached_history)
        finally:
            await servers.close()
            await monitor.close()
            await sandbox.detach()

    async def _read_first_turn(self) -> AssembledTurn:
        cached = self._resources.history_cache.pop(self.conversation_id)
        return await self._resources.database.call(
            assemble_turn, self._claimed.rows, self._claimed.turn_started_at, cached
        )

    @property
    def _turn_number(self) -> int:
        return self._claimed.rows.conversation.turn_number + self.turns - 1

    async def _run_turn(
        self, turn: AssembledTurn, log: RunLog, sandbox: RunSandbox, servers: ServerGroup
    ) -> bool:
        """Run one turn to its end; True if the next one has started."""
        log.mask = turn.mask
        with logs.log_context(turn=self._turn_number):
            # A server may do anything, also when it starts: a read-only run connects none.
            sandbox.use_variables(turn.sandbox.variables)
            settings = () if turn.read_only else await self._mcp_servers.settings()
            await servers.begin_turn(settings, beside_secrets=bool(turn.sandbox.variables.secrets))

            limits, database = turn.profile.limits, self._resources.database
            if turn.lead_id is not None:
                await give_team_anew(self.lease, limits, log.progress, database)
            team = RunTeamAccess(self._project_access, log, lambda: active.profile.limits)

            def new_toolbox() -> Toolbox:
                return make_toolbox(
                    self._project_access,
                    SkillLibrary(turn.skills, self._skill_access),
                    memory=self._memory_access,
                    remembers=turn.remembers,
                    chosen=turn.tools,
                    window=window_of(turn.profile, log.progress),
                    read_only=turn.read_only,
                    helpers=turn.most_helpers,
                    is_helper=turn.family is not None,
                    team=team,
                    team_role=turn.team_role,
                    of_servers=servers.tools(),
                    linked=self._repositories if turn.repositories else None,
                )

            active = self._active_turn = ActiveTurn(
                turn.profile,
                new_toolbox(),
                started_at=clock.monotonic()
                - (timezone.now() - turn.turn_started_at).total_seconds()
                + log.progress.decisions.waited_seconds
                + log.progress.helpers.waited_seconds,
                seen_files=log.seen_files,
                key_owner=turn.models.key_owner,
            )
            refresh = (
                None if servers.is_empty else functools.partial(refresh_tools, servers, new_toolbox)
            )
            outcome = await self._run_engine(active, turn, log, sandbox, refresh)
            if self._request is RELEASE and outcome is run_errors.INTERNAL:
                await log.commit()  # known results, and the usage of the cancelled call
                await self._release_claim()
                return False
            return await self._end_turn(active, turn, outcome, log, sandbox)

    async def _run_engine(
        self,
        active: ActiveTurn,
        turn: AssembledTurn,
        log: RunLog,
        sandbox: RunSandbox,
        refresh: RefreshTools | None,
    ) -> TurnOutcome:
        """The engine's outcome. Its errors become outcomes that people can read."""
        try:
            database, agent_id = self._resources.database, self._claimed.rows.agent.pk
            self._traces.turn = self._turn_number
            opened = turn.models.open(OWN_MODEL)
            active.profile = opened.profile  # it says whose key is used
            services = TurnServices(
                log,
                sandbox,
                opened.llm,
                FullOutputStore(database, log.mask),
                functools.partial(database.call, read_limits, agent_id, turn.family, turn.lead_id),
                self._lend_slot,
                compaction_llm=opened.compaction_llm,
                open_tasks=functools.partial(read_open_tasks, self._project_access),
                traces=self._traces if turn.is_traced else NoCallTraces(),
                ends_run=(Fenced, *database_errors.UNAVAILABLE_ERRORS),
                open_model=turn.models.open,
                refresh_tools=refresh,
            )
            if self._request is None:
                self._engine = asyncio.create_task(run_until_done(active, services))
                return await self._engine
        except asyncio.CancelledError:
            if self._request is None:
                await self._cancel_engine()
                raise
        except (Fenced, Superseded, *database_errors.UNAVAILABLE_ERRORS):
            raise
        except (SandboxBroken, PacaError) as error:
            return run_errors.outcome_of(error)
        except Exception:  # the top of a run: people see that it failed
            logger.exception("run failed")
        finally:
            self._engine = None
            self._turn_is_ending = True
        return run_errors.INTERNAL

    async def _cancel_engine(self) -> None:
        if self._engine is not None:
            self._engine.cancel()
            await asyncio.wait({self._engine})

    async def _end_turn(
        self,
        active: ActiveTurn,
        turn: AssembledTurn,
        outcome: TurnOutcome,
        log: RunLog,
        sandbox: RunSandbox,
    ) -> bool:
        """Store the end of the turn; True if the next one has started."""
        by, command_seq = active.pause_asked_by, None
        if (request := self._request) is not None and request is not RELEASE:
            self._request = None
            await cancel_open_calls(request, active, ToolServices(log, sandbox))
            stopped = request.action is Action.STOP
            outcome = TurnOutcome("stopped", request.reason if stopped else "interrupted")
            by, command_seq = request.by, request.seq
        if outcome.request is not None:
            paused_by = await turn_waits.begin(
                outcome.request, active, log, sandbox, database=self._resources.database
            )
            if paused_by is None:
                return False
            outcome, by = turn_waits.PAUSED, paused_by
        outcome = masked_outcome(outcome, log.mask)
        follows = await self._resources.database.call(
            turn_end.end_turn,
            self.lease,
            log.take_pending(),
            outcome,
            steps=log.progress.steps,
            by=by,
            command_seq=command_seq,
        )
        fields = {
            "status": outcome.status,
            "reason": outcome.reason,
            "seconds": round(active.seconds, 3),
        }
        logger.info("turn ended", extra={**fields, "steps": log.progress.steps})
        is_answered = (outcome.status, outcome.reason) == ("finished", "answered")
        if is_answered:
            shared_key = active.choice.shared_key
            answered = AnsweredTurn(
                self.conversation_id, self._turn_number, turn, log.progress, shared_key
            )
            for begin in self._resources.after_answers:
                begin(answered)
        if follows:
            self._start_next_turn()
            await log.catch_up()
        return follows

    def _start_next_turn(self) -> None:
        """Forget the requests of the turn that ended. Commands still in the inbox are read again."""
        if self._request is not RELEASE:
            self._request = None
        self._received.clear()
        self._turn_is_ending = False
        self.turns += 1

    async def _release_claim(self, *, step_failed: bool = False, pause_seconds: float = 0) -> None:
        try:
            await self._resources.database.call(
                claim.release, self.lease, step_failed=step_failed, pause_seconds=pause_seconds
            )
        except DatabaseError:
            logger.warning("lease could not be released; it will run out")
