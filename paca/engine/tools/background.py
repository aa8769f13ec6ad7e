"""The tools for commands that run on in the background: start, check and stop."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from pydantic import Field

from paca import events
from paca.common import clock
from paca.engine.tools import background_state as background
from paca.engine.tools.background_state import (
    MAX_RUNNING,
    START_TOOL,
    BackgroundCommand,
    BackgroundState,
)
from paca.engine.tools.base import (
    Effect,
    NonEmptyText,
    Tool,
    ToolArguments,
    ToolContext,
    ToolOutput,
)
from paca.engine.tools.command_output import command_output, save_full_output
from paca.engine.tools.formatting import (
    format_seconds,
    refused_remark,
    strip_terminal_codes,
    to_one_line,
    truncate_middle,
)
from paca.engine.workspace import CallReport, Command, CommandOutcome, SandboxWorkspace

MAX_SECONDS = 4 * 3600
AT_ONCE_SECONDS = 0.5  # a command that ends within this has its result at once, as with bash
LOOK_SECONDS = 0.25
MAX_WAIT_SECONDS = 300
SHOWN_CHARACTERS = 8_000
LISTED_CHARACTERS = 600
TOO_MANY = (
    f"Not run: {MAX_RUNNING} commands run in the background already. Stop one with stop_background, or wait for one"
    " to end."
)
LOST = "{} was lost with its sandbox."


class BackgroundRun(Tool["BackgroundRun.Arguments"]):
    """Start a command line in the background, such as a server or a long build, and go on working.

    You are told when it ends, also after your answer: do not poll. Else as bash.
    """

    name = START_TOOL
    effect = Effect.OPAQUE
    reattachable = True
    takes_command = True

    class Arguments(ToolArguments):
        command: NonEmptyText = Field(max_length=1_000_000, description="The command line.")
        timeout_seconds: int | None = Field(
            default=None, ge=1, le=MAX_SECONDS, description="End it after so many seconds."
        )

    def subject(self, arguments: Arguments) -> str:
        return to_one_line(arguments.command)

    async def act(self, arguments: Arguments, context: ToolContext) -> ToolOutput:
        # guard: background-commands-are-capped
        if len(context.background.running) >= MAX_RUNNING:
            return ToolOutput(TOO_MANY, failed=True, cause="refused")
        limit = float(arguments.timeout_seconds or context.background_timeout_seconds)
        workspace = await context.workspace()
        command = Command(context.call_id, shell=arguments.command, timeout_seconds=limit)
        outcome = await workspace.run_for(AT_ONCE_SECONDS, command)
        if outcome is not None:
            outcome = await save_full_output(outcome, context.call_id, workspace)
            return command_output(outcome, context, time_limit_seconds=limit)
        started = started_event(arguments.command, context, workspace, limit=limit)
        text = (
            f"{started.handle} runs in the background, for {format_seconds(limit)} at most. You are told when it"
            " ends."
        )
        return ToolOutput(text, events=(started,))


class CheckBackground(Tool["CheckBackground.Arguments"]):
    """See how background commands stand, with their newest output; waits a little for an end."""

    name = "check_background"
    effect = Effect.READ_ONLY
    timeout_seconds = MAX_WAIT_SECONDS
    uses_workspace = False  # it never starts a sandbox

    class Arguments(ToolArguments):
        id: str = Field(default="", max_length=20, description="Such as bg1; without it all.")
        wait_seconds: int = Field(
            default=10, ge=1, le=MAX_WAIT_SECONDS, description="At most, for an end."
        )

    def subject(self, arguments: Arguments) -> str:
        return to_one_line(arguments.id)

    def time_limit_seconds(self, arguments: Arguments, context: ToolContext) -> float:
        return float(arguments.wait_seconds)

    async def act(self, arguments: Arguments, context: ToolContext) -> ToolOutput:
        state = context.background
        found = state.find(arguments.id)
        commands = state.running if not arguments.id else (found,) if found else ()
        if not commands:
            return _of_ended(state, arguments.id)
        workspace = await context.workspace()
        lost = [each for each in commands if each.boot_id != workspace.boot_id]
        if lost:
            return ToolOutput(" ".join(LOST.format(each.handle) for each in lost), failed=True)
        reports = await _wait_for_end(workspace, commands, arguments.wait_seconds)
        if arguments.id:
            return await _of_one(commands[0], reports, workspace, context)
        return _of_all(commands, reports)


class StopBackground(Tool["StopBackground.Arguments"]):
    """Stop a background command with all its processes."""

    name = "stop_background"
    effect = Effect.IDEMPOTENT
    uses_workspace = False  # it never starts a sandbox

    class Arguments(ToolArguments):
        id: str = Field(min_length=1, max_length=20, description="Such as bg1.")

    def subject(self, arguments: Arguments) -> str:
        return to_one_line(arguments.id)

    async def act(self, arguments: Arguments, context: ToolContext) -> ToolOutput:
        command = context.background.find(arguments.id)
        if command is None:
            return _of_ended(context.background, arguments.id)
        workspace = await context.workspace()
        if command.boot_id != workspace.boot_id:
            return ToolOutput(LOST.format(command.handle), failed=True)
        await workspace.kill(command.call_id)
        return await _of_end(command, workspace, context)


def started_event(
    command: str,
    context: ToolContext,
    workspace: SandboxWorkspace,
    *,
    limit: float,
    moved: bool = False,
) -> events.BackgroundStarted:
    """The event that hands the call over to the background, where it may run for ``limit`` seconds more."""
    return events.BackgroundStarted(
        call_id=context.call_id,
        handle=context.background.next_handle,
        command=command[: background.MAX_COMMAND_CHARACTERS],
        boot_id=workspace.boot_id,
        timeout_seconds=limit,
        moved=moved,
    )


async def moved_output(
    command: str, context: ToolContext, workspace: SandboxWorkspace, *, limit: float
) -> ToolOutput:
    """The result of a command of bash that has reached its time limit and goes on in the background."""
    more = context.background_timeout_seconds
    started = started_event(command, context, workspace, limit=more, moved=True)
    reports = await workspace.look([context.call_id], characters=SHOWN_CHARACTERS)
    report = reports.get(context.call_id)
    text = _shown(report.output) if report else ""
    remark = (
        f"[It did not end within its time limit of {format_seconds(limit)}, and runs on in the background as"
        f" {started.handle}, for {format_seconds(more)} more at most. You are told when it ends.]"
    )
    return ToolOutput(f"{text}\n{remark}".lstrip(), events=(started,))


async def _wait_for_end(
    workspace: SandboxWorkspace, commands: Sequence[BackgroundCommand], seconds: float
) -> dict[str, CallReport]:
    """How the commands stand when one of them has ended, or after so many seconds."""
    give_up_at = clock.monotonic() + seconds
    call_ids = [each.call_id for each in commands]
    while True:
        reports = await workspace.look(call_ids, characters=SHOWN_CHARACTERS)
        left = give_up_at - clock.monotonic()
        if left <= 0 or any(call not in reports or reports[call].ended for call in call_ids):
            return reports
        await asyncio.sleep(min(LOOK_SECONDS, left))


async def _of_one(
    command: BackgroundCommand,
    reports: dict[str, CallReport],
    workspace: SandboxWorkspace,
    context: ToolContext,
) -> ToolOutput:
    report = reports.get(command.call_id)
    if report is None or report.ended:
        return await _of_end(command, workspace, context)
    return ToolOutput(f"{_shown(report.output)}\n{_running(command, report)}".lstrip())


async def _of_end(
    command: BackgroundCommand, workspace: SandboxWorkspace, context: ToolContext
) -> ToolOutput:
    """The result of a command that has ended. Its end is stored with it, and needs no note."""
    outcome, event = await read_end(command, workspace, told=True)
    output = command_output(outcome, context, time_limit_seconds=outcome.seconds)
    text = f"{output.output}\n[{command.handle} {background.end_in_words(event)}]"
    return ToolOutput(text, truncated=output.truncated, file=output.file, events=(event,))


async def read_end(
    command: BackgroundCommand, workspace: SandboxWorkspace, *, by: str = "", told: bool = False
) -> tuple[CommandOutcome, events.BackgroundFinished]:
    """The outcome of a command that has ended, and its event. A long output is written to a file.

    Raises ``CallUnknown`` if the runner does not know the command, and ``SandboxGone``.
    """
    outcome = await workspace.attach(command.call_id)
    outcome = await save_full_output(
        outcome, command.call_id, workspace, limit=background.MAX_OUTPUT_BYTES
    )
    return outcome, background.finished(command, outcome, by=by, told=told)


def _of_all(commands: Sequence[BackgroundCommand], reports: dict[str, CallReport]) -> ToolOutput:
    parts = []
    for each in commands:
        report = reports.get(each.call_id)
        if report is None or report.ended:
            parts.append(f"{each.handle} has ended; check it by its id.")
            continue
        newest = strip_terminal_codes(report.output).strip()[-LISTED_CHARACTERS:]
        parts.append(f"{newest}\n{_running(each, report)}".lstrip())
    return ToolOutput("\n\n".join(parts))


def _running(command: BackgroundCommand, report: CallReport) -> str:
    line = to_one_line(command.command)
    remark = f"[{command.handle} ({line}) is running after {format_seconds(report.seconds)}]"
    return f"{remark}\n[{refused_remark(report.refused)}]" if report.refused else remark


def _shown(output: str) -> str:
    return truncate_middle(strip_terminal_codes(output).strip("\n"))[0]


def _of_ended(state: BackgroundState, handle: str) -> ToolOutput:
    """The result for a handle of which nothing runs, or for a list without commands."""
    if not handle:
        return ToolOutput("No command runs in the background.")
    event = state.find_ended(handle)
    if event is None:
        running = ", ".join(each.handle for each in state.running) or "none"
        return ToolOutput(
            f"There is no background command {handle}. Running: {running}.", failed=True
        )
    where = f" Its whole output is in {event.file}." if event.file else ""
    text = f"{event.handle} {background.end_in_words(event)}.{where}"
    return ToolOutput(f"{event.output}\n[{text}]".lstrip())
