"""The tool that does nothing but let the model order its thoughts."""

from pydantic import Field

from paca.engine.tools.base import Effect, Text, Tool, ToolArguments, ToolContext, ToolOutput
from paca.engine.tools.shaping import phrase


class Think(Tool):
    """Write down a thought before acting. It changes nothing and reads nothing.

    Use it to weigh options, to plan several steps, or to check a result against what was asked.
    """

    name = "think"
    effect = Effect.READ_ONLY
    safe = True
    timeout_seconds = 1
    uses_workspace = False

    class Arguments(ToolArguments):
        thought: Text = Field(description="The thought, in full sentences.")

    def subject(self, arguments: Arguments) -> str:
        return phrase(arguments.thought)

    async def act(self, arguments: Arguments, context: ToolContext) -> ToolOutput:
        return ToolOutput("Noted.")
