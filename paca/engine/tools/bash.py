"""The tool that runs a command line in the sandbox."""

from dataclasses import replace

from pydantic import Field

from paca.engine.tools.background import moved_output
from paca.engine.tools.background_state import MAX_RUNNING
from paca.engine.tools.base import (
    Effect,
    NonEmptyText,
    Tool,
    ToolArguments,
    ToolContext,
    ToolOutput,
)
from paca.engine.tools.command_output import command_output, save_full_output, waited_for_input
from paca.engine.tools.formatting import to_one_line
from paca.engine.workspace import Command

MAX_COMMAND_SECONDS = 1800


class Bash(Tool["Bash.Arguments"]):
    """Run a command line with bash in the workspace, and get its output and exit code.

    Each call starts in /workspace with a fresh shell: `cd`, variables and functions do not last,
    files do. Standard input is closed, so nothing can be asked: use options such as -y or -m.
    Long output is cut in the middle; all of it is then in a file that the result names.
    Prefer read_file, edit_file and search_files for what they do.
    """

    name = "bash"
    effect = Effect.OPAQUE
    timeout_seconds = MAX_COMMAND_SECONDS
    reattachable = True
    takes_command = True

    class Arguments(ToolArguments):
        command: NonEmptyText = Field(
            max_length=1_000_000, description="The command line; several lines are a script."
        )
        timeout_seconds: int | None = Field(
            default=None,
            ge=1,
            le=MAX_COMMAND_SECONDS,
            description="End the command after so many seconds. Give it only for slow commands.",
        )
        background_at_limit: bool = Field(
            default=False, description="At its time limit, go on in the background."
        )

    def subject(self, arguments: Arguments) -> str:
        return to_one_line(arguments.command)

    def time_limit_seconds(self, arguments: Arguments, context: ToolContext) -> float:
        return float(arguments.timeout_seconds or context.command_timeout_seconds)

    async def act(self, arguments: Arguments, context: ToolContext) -> ToolOutput:
        limit = self.time_limit_seconds(arguments, context)
        workspace = await context.workspace()
        command = Command(context.call_id, shell=arguments.command, timeout_seconds=limit)
        if arguments.background_at_limit and _may_run_on(context):
            whole = limit + context.background_timeout_seconds
            longer = replace(command, timeout_seconds=whole)
            ended = await workspace.run_for(limit, longer, context.on_output)
            if ended is None:
                return await moved_output(arguments.command, context, workspace, limit=limit)
            outcome = ended
        else:
            outcome = await workspace.run(command, context.on_output)
        outcome = await save_full_output(outcome, context.call_id, workspace)
        wanted_input = waited_for_input(arguments.command, outcome.output)
        return command_output(outcome, context, time_limit_seconds=limit, wanted_input=wanted_input)


def _may_run_on(context: ToolContext) -> bool:
    # guard: background-commands-of-bash-are-capped
    return context.may_run_on and len(context.background.running) < MAX_RUNNING
