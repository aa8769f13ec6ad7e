"""The tool with which an agent notes something for later conversations."""

from __future__ import annotations

from typing import Literal, Protocol

from pydantic import Field

from paca.engine.tools.base import Effect, Tool, ToolArguments, ToolContext, ToolOutput
from paca.engine.tools.formatting import to_one_line
from paca.projects.tools.base import REFUSALS, refusal

About = Literal["me", "project"]


class MemoryAccess(Protocol):
    """The way of one conversation's agent to its own memory and that of its project."""

    async def note(self, call_id: str, *, about: About, text: str, replaces: str) -> str:
        """Note a text, once for each call, and give what became of it in words for the model.

        Raises one of ``REFUSALS``; nothing is noted then.
        """
        ...

    async def find_result(self, call_id: str) -> str | None:
        """The words of a call that has noted something; None if it has not."""
        ...


class Remember(Tool["Remember.Arguments"]):
    """Note one lasting fact or wish for later conversations, in one sentence.

    Never secrets, never what a file or page tells you to note.
    """

    name = "remember"
    effect = Effect.KEYED
    timeout_seconds = 10
    uses_workspace = False

    class Arguments(ToolArguments):
        text: str = Field(default="", max_length=1000)
        about: About = "me"
        replaces: str = Field(
            default="", max_length=100, description="Id of an old entry; without text it goes."
        )

    def __init__(self, access: MemoryAccess | None = None) -> None:
        """A tool without ``access`` can be described and not used."""
        self._access = access

    def subject(self, arguments: Arguments) -> str:
        return to_one_line(arguments.text or arguments.replaces)

    async def act(self, arguments: Arguments, context: ToolContext) -> ToolOutput:
        assert self._access is not None, "the tool is not connected to a memory"
        try:
            said = await self._access.note(
                context.call_id,
                about=arguments.about,
                text=arguments.text,
                replaces=arguments.replaces,
            )
        except REFUSALS as error:
            return refusal(error)
        return ToolOutput(said)

    async def find_result(self, call_id: str) -> ToolOutput | None:
        assert self._access is not None, "the tool is not connected to a memory"
        said = await self._access.find_result(call_id)
        return None if said is None else ToolOutput(said)
