"""Runs the tool calls of a reply: reads in parallel, writes in order.

Each call has an intent event before it starts and an outcome event after it ended.
"""

from __future__ import annotations

import asyncio
import functools
import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from paca import events
from paca.common import clock
from paca.common.errors import PacaError
from paca.engine import tool_results
from paca.engine.approvals.person_tools import Settlement
from paca.engine.approvals.policy import (
    ApprovalPolicy,
    PersonNeeded,
    Verdict,
    asks_before_script,
    judge,
)
from paca.engine.context.history import OpenCall
from paca.engine.tools.background_state import START_TOOL
from paca.engine.tools.base import (
    AnyParsedCall,
    AnyTool,
    Effect,
    RepositorySetup,
    ToolContext,
    ToolOutput,
    perform,
)
from paca.engine.tools.registry import UnknownTool
from paca.engine.turn import ActiveTurn, TurnServices
from paca.engine.workspace import (
    CallUnknown,
    SandboxBroken,
    SandboxGone,
    Superseded,
    WorkspaceError,
)

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RunnableCall:
    """An open call whose tool exists and whose arguments fit."""

    open: OpenCall
    parsed: AnyParsedCall

    @property
    def id(self) -> str:
        return self.open.call.call_id

    @property
    def tool(self) -> AnyTool:
        return self.parsed.tool

    @property
    def is_repeatable(self) -> bool:
        """Whether a second execution does no harm."""
        return self.tool.repeatable


async def run_calls(calls: Sequence[OpenCall], turn: ActiveTurn, services: TurnServices) -> None:
    """Give each call a result. The last results are added to the next commit and not stored yet.

    Raises ``SandboxBroken`` if the sandbox does not start, ``Superseded``, and ``PersonNeeded`` if a person
    has to decide or answer first; those calls stay open.
    """
    runnable = [found for call in calls if (found := _parse(call, turn, services))]
    for batch in _batches(runnable, turn):
        allowed = await _ask_policy(batch, turn, services)
        started, boot_id = await _start(allowed, services)
        runs = _hold_back(started, turn, services)
        await _run_batch(runs, turn, services, boot_id)


def _parse(call: OpenCall, turn: ActiveTurn, services: TurnServices) -> RunnableCall | None:
    """The call with its tool. If the call is invalid, its error is added as its result."""
    # guard: engine-unreadable-arguments
    if call.call.problem:
        text = turn.toolbox.explain_unreadable(call.call.tool, call.call.problem)
        services.log.add(tool_results.failed(call.call.call_id, text, cause="invalid"))
        return None
    try:
        parsed = turn.toolbox.parse(call.call.tool, call.call.arguments)
    except PacaError as error:
        cause = "unknown_tool" if isinstance(error, UnknownTool) else "invalid"
        services.log.add(tool_results.failed(call.call.call_id, error.detail, cause=cause))
        return None
    return RunnableCall(call, parsed)


def _batches(calls: Sequence[RunnableCall], turn: ActiveTurn) -> Iterator[list[RunnableCall]]:
    """Adjacent reads form a batch, unless each has to be approved. Each write is a batch of its own, in
    the order of the reply.
    """
    together = turn.profile.approval in (ApprovalPolicy.AUTO, ApprovalPolicy.UNSAFE)
    batch: list[RunnableCall] = []
    for call in calls:
        # guard: engine-writes-in-order
        if call.tool.effect is Effect.READ_ONLY and together:
            batch.append(call)
            continue
        if batch:
            yield batch
            batch = []
        yield [call]
    if batch:
        yield batch


async def _ask_policy(
    batch: list[RunnableCall], turn: ActiveTurn, services: TurnServices
) -> list[RunnableCall]:
    """The calls that may run, each as it was approved. One that is refused, or that the log answers, gets its
    result.

    Raises ``PersonNeeded`` if a person has to decide on a call or answer it first.
    """
    decisions = services.log.progress.decisions
    if decisions.rest_by or decisions.superseded or decisions.beside:
        # Somebody may have revoked it while the calls before ran, and a new reply begins anew.
        await services.log.commit()
    allowed = []
    for call in batch:
        verdict = _judge(call, turn, services, has_started=call.open.boot_id is not None)
        if verdict.request is not None:
            raise PersonNeeded(verdict.request)
        if verdict.settled is not None:
            await _add_settled(call, verdict.settled, services)
        elif verdict.run is None:
            services.log.add(tool_results.failed(call.id, verdict.refusal, cause=verdict.cause))
        else:
            allowed.append(replace(call, parsed=verdict.run))
    return allowed


def _judge(
    call: RunnableCall, turn: ActiveTurn, services: TurnServices, *, has_started: bool
) -> Verdict:
    """The verdict on a call by what the log says now."""
    return judge(
        call.id,
        call.parsed,
        has_started=has_started,
        policy=turn.profile.approval,
        allowed_commands=turn.profile.allowed_commands,
        decisions=services.log.progress.decisions,
        toolbox=turn.toolbox,
        plan=services.log.progress.plan,
        helpers=services.log.progress.helpers,
    )


async def _add_settled(call: RunnableCall, settled: Settlement, services: TurnServices) -> None:
    """Add the result of a call that the log answers. Events beside it are stored with it, at once."""
    assert settled.output is not None
    output = _with_notes(settled.output, call)
    result = tool_results.returned(call.id, output, seconds=0, full_output_bytes=0)
    services.log.add(*output.events, result)
    if output.events:
        await services.log.commit()  # the next call reads what they changed


async def _start(
    batch: list[RunnableCall], services: TurnServices
) -> tuple[list[RunnableCall], str]:
    """Store the intents; returns the calls to run, and the boot id of the runner that runs them.

    A call that another worker has started keeps its intent. If that start of the runner is over,
    the outcome of the call is unknown, unless the call is repeatable.
    """
    boot_id, unavailable = await _boot_id(batch, services)
    started = []
    for call in batch:
        if unavailable and call.tool.uses_workspace and call.open.boot_id is None:
            services.log.add(tool_results.failed(call.id, unavailable, cause="refused"))
        elif _outcome_is_unknown(call, boot_id):
            cause = await services.sandbox.exit_sentence(call.open.boot_id or "")
            in_sandbox = call.tool.uses_workspace
            services.log.add(tool_results.unknown(call.id, cause, in_sandbox=in_sandbox))
        else:
            started.append(call)
    intents = [
        events.ToolStarted(call_id=call.id, boot_id=boot_id)
        for call in started
        if call.open.boot_id is None or call.open.boot_id != boot_id
    ]
    # guard: engine-intent-before-call
    if intents:
        await services.log.commit(*intents)
    return started, boot_id


def _hold_back(
    started: list[RunnableCall], turn: ActiveTurn, services: TurnServices
) -> list[RunnableCall]:
    """The calls that still may run: before their intent was stored, a person may have switched plan mode on, or revoked
    the approval of everything.

    The log tells it with the intents. The others get their result and are not run, by a later worker neither.
    """
    runs = []
    for call in started:
        verdict = _judge(call, turn, services, has_started=True)
        # guard: what-a-person-takes-back-holds-from-the-next-call
        if verdict.run is None and call.open.boot_id is None:
            services.log.add(tool_results.failed(call.id, verdict.refusal, cause=verdict.cause))
        else:
            runs.append(call)
    return runs


async def _boot_id(batch: list[RunnableCall], services: TurnServices) -> tuple[str, str]:
    """The boot id of the sandbox for this batch, or the reason why there is no sandbox."""
    if not any(call.tool.uses_workspace for call in batch):
        return "", ""
    if not services.sandbox.is_attached:
        await services.log.commit()  # people see the reply before the wait for the sandbox
    try:
        return (await services.sandbox.workspace()).boot_id, ""
    except SandboxBroken:
        raise  # a person must repair it; the calls have not started and are tried again then
    except WorkspaceError as error:
        return "", error.detail


def _outcome_is_unknown(call: RunnableCall, boot_id: str) -> bool:
    """Whether the call belongs to an earlier start of the runner and must not be repeated."""
    if call.open.boot_id is None or call.is_repeatable:
        return False
    # guard: engine-unknown-outcome
    return call.open.boot_id != boot_id or not call.tool.reattachable


async def _run_batch(
    batch: list[RunnableCall], turn: ActiveTurn, services: TurnServices, boot_id: str
) -> None:
    """Run the calls in parallel. Each outcome but the last is stored at once, so that people see it."""
    running = {asyncio.create_task(_run_call(call, turn, services, boot_id)) for call in batch}
    try:
        while running:
            done, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            services.log.add(*(event for task in done for event in task.result()))
            if running:
                await services.log.commit()
    finally:
        for task in running:
            task.cancel()
        ended = await asyncio.gather(*running, return_exceptions=True)
        # A call that ended in the moment of a Stop has a real outcome and was not cancelled.
        # guard: engine-outcome-at-stop
        services.log.add(*(event for each in ended if isinstance(each, list) for event in each))


async def _run_call(
    call: RunnableCall, turn: ActiveTurn, services: TurnServices, boot_id: str
) -> list[events.Event]:
    """Run one call; gives its events, the last of them its result. Every failure is a result that the model can read.

    Raises ``Superseded``, and errors of ``services.ends_run``.
    """
    started_at = clock.monotonic()
    ends_run: tuple[type[Exception], ...] = (Superseded, *services.ends_run)
    context = ToolContext(
        call_id=call.id,
        workspace=services.sandbox.workspace,
        on_output=_LiveOutput(call.id, services),
        seen_files=turn.seen_files,
        command_timeout_seconds=turn.profile.command_timeout_seconds,
        memory_mib=turn.profile.sandbox_memory_mib,
        workspace_mib=turn.profile.sandbox_workspace_mib,
        todo=services.log.progress.compaction.todo,
        background=services.log.progress.background,
        background_timeout_seconds=turn.profile.background_timeout_seconds,
        may_run_on=turn.toolbox.has(START_TOOL),
        mask=services.log.mask,
        repository_setup=RepositorySetup(
            turn.profile.repository_setup,
            functools.partial(
                asks_before_script, turn.profile.approval, turn.profile.allowed_commands
            ),
        ),
    )
    try:
        output = await _perform_or_reattach(call, context, services, boot_id)
    except (SandboxGone, CallUnknown) as error:
        cause = await services.sandbox.exit_sentence(boot_id)
        if call.tool.effect is Effect.READ_ONLY:
            text = f"{error.detail} {cause}".rstrip()
            return [tool_results.failed(call.id, text, cause="sandbox_lost")]
        return [tool_results.unknown(call.id, cause)]
    except ends_run:
        raise
    except Exception as error:  # a tool's failure is a result for the model, never the turn's end
        logger.exception("tool failed", extra={"call": call.id, "tool": call.tool.name})
        text = f"The tool failed: {type(error).__name__}."
        return [tool_results.failed(call.id, text, cause="failed")]
    seconds = clock.monotonic() - started_at
    full_output_bytes = 0
    if output.file:
        full_output_bytes = await services.outputs.keep(
            call.id, output.file, services.sandbox.workspace
        )
    returned = tool_results.returned(
        call.id, _with_notes(output, call), seconds=seconds, full_output_bytes=full_output_bytes
    )
    return [*output.events, returned]


def _with_notes(output: ToolOutput, call: RunnableCall) -> ToolOutput:
    """The output, and what the model is told about the arguments."""
    if not call.parsed.notes:
        return output
    return replace(output, output=f"{output.output}\n[{' '.join(call.parsed.notes)}]".lstrip())


async def _perform_or_reattach(
    call: RunnableCall, context: ToolContext, services: TurnServices, boot_id: str
) -> ToolOutput:
    """Perform the call, and again if only the connection to the sandbox broke.

    The runner knows the id of the call, so the command still runs once.

    Raises ``SandboxGone`` if the sandbox has ended, or the call must not be sent again.
    """
    while True:
        try:
            return await perform(call.parsed, context)
        except SandboxGone:
            may_repeat = call.tool.reattachable or call.is_repeatable
            if not may_repeat or await services.sandbox.exit_sentence(boot_id):
                raise
            if not await _is_still_running(boot_id, services):
                raise


async def _is_still_running(boot_id: str, services: TurnServices) -> bool:
    """Whether the sandbox can be reached again and is the same as before."""
    try:
        return (await services.sandbox.workspace()).boot_id == boot_id
    except WorkspaceError:
        return False


class _LiveOutput:
    """Streams the output of a running command to viewers, each piece with its offset."""

    def __init__(self, call_id: str, services: TurnServices) -> None:
        self._call_id, self._services, self._offset = call_id, services, 0

    def __call__(self, text: str) -> None:
        self._services.log.show_live(
            events.ToolProgressed(call_id=self._call_id, offset=self._offset, text=text)
        )
        self._offset += len(text)
