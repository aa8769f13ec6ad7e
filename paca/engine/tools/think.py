"""The tool with which the model writes a thought down. It has no effect."""

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


class Think(Tool["Think.Arguments"]):
    """Write down a thought before acting. It changes nothing and reads nothing.

    Use it to weigh options, to plan several steps, or to check a result against what was asked.
    """

    name = "think"
    effect = Effect.READ_ONLY
    timeout_seconds = 1
    uses_workspace = False
    only_thinks = True

    class Arguments(ToolArguments):
        thought: EncodableText = Field(description="The thought, in full sentences.")

    def subject(self, arguments: Arguments) -> str:
        return to_one_line(arguments.thought)

    async def act(self, arguments: Arguments, context: ToolContext) -> ToolOutput:
        return ToolOutput("Noted.")
