"""Carrying out the calls of a reply: reads side by side, writes in order, each with its intent
before and its outcome after."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from paca import events
from paca.common import clock
from paca.common.errors import PacaError
from paca.engine.context.history import OpenCall
from paca.engine.ports import RunServices, ToolServices
from paca.engine.run import Run
from paca.engine.tools.base import Effect, Tool, ToolArguments, ToolContext, ToolOutput, perform
from paca.engine.tools.shaping import head_and_tail, screen_text
from paca.engine.workspace import (
    CallUnknown,
    SandboxBroken,
    SandboxGone,
    Superseded,
    WorkspaceError,
)

logger = logging.getLogger(__name__)

STOP_SECONDS = 2.0
MAY_BE_REPEATED = (Effect.READ_ONLY, Effect.IDEMPOTENT)
REATTACH_SECONDS = 10.0  # to stop what a worker that is gone has begun
UNKNOWN = (
    "Outcome unknown: the {what} was lost while this ran. {cause}It was not run again. "
    "Check the state before you repeat it."
)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A call whose tool exists and whose arguments fit."""

    open: OpenCall
    tool: Tool
    arguments: ToolArguments

    @property
    def id(self) -> str:
        return self.open.call.call_id


async def carry_out(calls: Sequence[OpenCall], run: Run, services: RunServices) -> None:
    """Give every call its result. The last outcomes are noted for the next commit, not stored."""
    prepared = [found for call in calls if (found := _prepare(call, run, services))]
    for batch in _batches(prepared):
        begun, boot_id = await _begin(batch, services)
        await _finish(begun, run, services, boot_id)


def _prepare(call: OpenCall, run: Run, services: RunServices) -> Prepared | None:
    """The call made ready, or its error noted as the result."""
    try:
        tool, arguments = run.toolbox.parse(call.call.tool, call.call.arguments)
    except PacaError as error:
        services.log.add(_refused(call.call.call_id, error.detail, cause="invalid"))
        return None
    return Prepared(call, tool, arguments)


def _batches(calls: Sequence[Prepared]) -> Iterator[list[Prepared]]:
    """Neighbouring reads together; each write alone, in the order the model gave."""
    batch: list[Prepared] = []
    for call in calls:
        if call.tool.effect is Effect.READ_ONLY:
            batch.append(call)
            continue
        if batch:
            yield batch
            batch = []
        yield [call]
    if batch:
        yield batch


async def _begin(batch: list[Prepared], services: RunServices) -> tuple[list[Prepared], str]:
    """Store the intents, which name the life of the runner that the calls begin in; gives it too.

    A call that another worker has begun keeps its intent; if that life of the runner is over,
    its outcome is unknown unless it may be done twice.
    """
    boot_id, unavailable = await _boot(batch, services)
    begun = []
    for call in batch:
        if unavailable and call.tool.uses_workspace and call.open.boot_id is None:
            services.log.add(_refused(call.id, unavailable, cause="refused"))
        elif _is_unknown(call, boot_id):
            services.log.add(
                _unknown(
                    call.id, "sandbox", await services.sandbox.exit_cause(call.open.boot_id or "")
                )
            )
        else:
            begun.append(call)
    intents = [
        events.ToolStarted(call_id=call.id, boot_id=boot_id)
        for call in begun
        if call.open.boot_id is None or call.open.boot_id != boot_id
    ]
    if intents:
        await services.log.commit(*intents)
    return begun, boot_id


async def _boot(batch: list[Prepared], services: RunServices) -> tuple[str, str]:
    """The runner's life these calls will begin in, or why there is none."""
    if not any(call.tool.uses_workspace for call in batch):
        return "", ""
    if not services.sandbox.is_attached:
        await services.log.commit()  # the reply is seen before the wait for the sandbox
    try:
        return (await services.sandbox.workspace()).boot_id, ""
    except SandboxBroken:
        raise  # told to people, who can mend it: these calls have not begun and are tried again
    except WorkspaceError as error:
        return "", error.detail


def _is_unknown(call: Prepared, boot_id: str) -> bool:
    """Begun in a life of the runner that is over, and not harmless to do twice."""
    if call.open.boot_id is None or call.tool.effect in MAY_BE_REPEATED:
        return False
    # guard: engine-unknown-outcome
    return call.open.boot_id != boot_id or not call.tool.reattachable


async def _finish(batch: list[Prepared], run: Run, services: RunServices, boot_id: str) -> None:
    """Run the batch; each outcome but the last is stored at once, so that people see it."""
    running = {asyncio.create_task(_act(call, run, services, boot_id)) for call in batch}
    try:
        while running:
            done, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            services.log.add(*(task.result() for task in done))
            if running:
                await services.log.commit()
    finally:
        for task in running:
            task.cancel()
        ended = await asyncio.gather(*running, return_exceptions=True)
        # What had ended in the moment of a Stop ended well: it is no cancelled call.
        services.log.add(*(event for event in ended if isinstance(event, events.Event)))


async def _act(call: Prepared, run: Run, services: RunServices, boot_id: str) -> events.Event:
    """Do one call; whatever happens becomes a result that the model can read."""
    began = clock.monotonic()
    context = ToolContext(
        call_id=call.id,
        workspace=services.sandbox.workspace,
        on_output=_Progress(call.id, services),
        seen=run.seen_files,
        command_timeout_seconds=run.profile.command_timeout_seconds,
        memory_mib=run.profile.sandbox_memory_mib,
        workspace_mib=run.profile.sandbox_workspace_mib,
    )
    try:
        output = await _performed(call, context, services, boot_id)
    except (SandboxGone, CallUnknown) as error:
        cause = await services.sandbox.exit_cause(boot_id)
        if call.tool.effect is Effect.READ_ONLY:
            return _refused(call.id, f"{error.detail} {cause}".rstrip(), cause="sandbox_lost")
        return _unknown(call.id, "sandbox", cause)
    except Superseded:
        raise
    except Exception as error:  # a tool's failure is a result for the model, never the run's end
        logger.exception("a tool failed", extra={"call": call.id, "tool": call.tool.name})
        return _refused(call.id, f"The tool failed: {type(error).__name__}.", cause="failed")
    return events.ToolReturned(
        call_id=call.id,
        output=output.output,
        failed=output.failed,
        exit_code=output.exit_code,
        seconds=round(clock.monotonic() - began, 3),
        truncated=output.truncated,
        file=output.file,
        cause=output.cause,
    )


async def _performed(
    call: Prepared, context: ToolContext, services: RunServices, boot_id: str
) -> ToolOutput:
    """Do it; again, if only the connection broke. The runner knows the call: it runs once all the same."""
    repeatable = call.tool.reattachable or call.tool.effect in MAY_BE_REPEATED
    while True:
        try:
            return await perform(call.tool, call.arguments, context)
        except SandboxGone:
            if not repeatable or await services.sandbox.exit_cause(boot_id):
                raise
            if not await _lives(boot_id, services):
                raise


async def _lives(boot_id: str, services: RunServices) -> bool:
    """Whether the sandbox is the same as before, once it can be reached again."""
    try:
        return (await services.sandbox.workspace()).boot_id == boot_id
    except WorkspaceError:
        return False


async def cancel(calls: Sequence[OpenCall], run: Run, services: ToolServices, *, why: str) -> None:
    """End what runs and note a result for each open call: within two seconds, unless the sandbox
    has yet to be attached to."""
    begun = [call for call in calls if call.boot_id is not None]
    ended = await asyncio.gather(*(_end(call, run, services) for call in begun))
    outputs = dict(zip((call.call.call_id for call in begun), ended, strict=True))
    for call in calls:
        call_id = call.call.call_id
        text = f"{why} {outputs[call_id]}".rstrip() if call_id in outputs else f"Not run. {why}"
        services.log.add(_refused(call_id, text, cause="cancelled"))


async def _end(call: OpenCall, run: Run, services: ToolServices) -> str:
    """Kill one call's process tree; what it had put out until then."""
    if not call.boot_id or not services.sandbox.may_be_running(call.boot_id):
        return ""
    limit = STOP_SECONDS if services.sandbox.is_attached else REATTACH_SECONDS
    try:
        if not run.toolbox.get(call.call.tool).reattachable:
            return ""
        async with asyncio.timeout(limit):
            workspace = await services.sandbox.workspace()
            if workspace.boot_id != call.boot_id:
                return ""
            await workspace.kill(call.call.call_id)
            outcome = await workspace.attach(call.call.call_id)
    except (PacaError, TimeoutError):
        return ""
    output, _ = head_and_tail(screen_text(outcome.output))
    return f"Output until then:\n{output}" if output.strip() else ""


def _refused(call_id: str, text: str, *, cause: str) -> events.ToolReturned:
    return events.ToolReturned(call_id=call_id, output=text, failed=True, cause=cause)


def _unknown(call_id: str, what: str, cause: str = "") -> events.ToolOutcomeUnknown:
    text = UNKNOWN.format(what=what, cause=f"{cause} " if cause else "")
    return events.ToolOutcomeUnknown(call_id=call_id, output=text, reason=f"{what}_lost")


class _Progress:
    """Shows a running command's output, each piece at its offset."""

    def __init__(self, call_id: str, services: RunServices) -> None:
        self._call_id, self._world, self._offset = call_id, services, 0

    def __call__(self, text: str) -> None:
        self._world.log.show_live(
            events.ToolProgressed(call_id=self._call_id, offset=self._offset, text=text)
        )
        self._offset += len(text)
