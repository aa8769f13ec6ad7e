"""The tool with which the model asks for a summary in place of what came before."""

from pydantic import Field

from paca.engine.tools.base import (
    Effect,
    EncodableText,
    Tool,
    ToolArguments,
    ToolContext,
    ToolOutput,
)
from paca.engine.tools.formatting import to_one_line

COMPACT_TOOL = "compact_context"


class CompactContext(Tool["CompactContext.Arguments"]):
    """Put a summary in place of the conversation so far, after this step.

    Use it when one piece of work is done and its details are not needed any more.
    """

    name = COMPACT_TOOL
    effect = Effect.READ_ONLY  # the log says what it asks for; the loop makes the summary
    timeout_seconds = 1
    uses_workspace = False
    only_thinks = True

    class Arguments(ToolArguments):
        focus: EncodableText = Field(
            default="", max_length=2000, description="What the summary must keep."
        )

    def subject(self, arguments: Arguments) -> str:
        return to_one_line(arguments.focus)

    async def act(self, arguments: Arguments, context: ToolContext) -> ToolOutput:
        return ToolOutput("A summary stands in place of what came before from the next step on.")
