"""The base of the tools on the project, and the door through which they reach its data."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Protocol, TypeVar
from uuid import UUID

from paca.common.errors import Conflict, Invalid, NotAllowed, NotFound, PacaError
from paca.engine.tools.base import Effect, Tool, ToolArguments, ToolContext, ToolOutput
from paca.engine.tools.formatting import truncate_middle
from paca.projects.models import Member, Project


@dataclass(frozen=True, slots=True)
class Caller:
    """The agent's member that acts, with its role and names, its project and its conversation."""

    member: Member
    project: Project
    conversation_id: UUID


Act = Callable[[Caller], str]
T = TypeVar("T")


class ProjectAccess(Protocol):
    """The way of one conversation's agent to the data of its project."""

    async def read(self, permission: str, act: Callable[[Caller], T]) -> T:
        """Give what ``act`` reads.

        Raises ``NotAllowed`` if the agent's role lacks the permission, and what ``act`` raises.
        """
        ...

    async def write(self, call_id: str, permission: str, act: Act) -> str:
        """Do what ``act`` does in one transaction, once for each call, and give its text.

        It runs to its end even if the caller is cancelled, and gives its text then too. Raises
        ``NotAllowed`` if the agent's role lacks the permission, and what ``act`` raises; nothing is
        written then.
        """
        ...

    async def find_result(self, call_id: str) -> str | None:
        """The text of a call that has written; None if it has not."""
        ...


ArgumentsT = TypeVar("ArgumentsT", bound=ToolArguments)


class ConnectedTool(Tool[ArgumentsT]):
    """A tool that uses the data of the agent's project. The agent's role must have ``permission``."""

    permission: ClassVar[str]

    def __init__(self, access: ProjectAccess | None = None) -> None:
        """A tool without ``access`` can be described and not used."""
        self._access = access

    @property
    def connected(self) -> ProjectAccess:
        """The access to the project."""
        assert self._access is not None, f"{self.name} is not connected to a project"
        return self._access


class ProjectTool(ConnectedTool[ArgumentsT]):
    """A tool that acts on the data of the project only, and uses no sandbox.

    Its text for the model may quote what people wrote.
    """

    uses_workspace: ClassVar[bool] = False

    def permission_for(self, arguments: ArgumentsT) -> str:
        """The permission that this call needs."""
        return self.permission

    @abstractmethod
    def act_on(self, caller: Caller, arguments: ArgumentsT, context: ToolContext) -> str:
        """Carry the call out, in a thread of the database; gives the text for the model.

        A tool that writes runs in one transaction. Raises ``Invalid``, ``NotFound`` or ``Conflict`` with
        a text that tells the model what to correct; nothing is written then.
        """

    async def act(self, arguments: ArgumentsT, context: ToolContext) -> ToolOutput:
        def act_on(caller: Caller) -> str:
            return self.act_on(caller, arguments, context)

        access, permission = self.connected, self.permission_for(arguments)
        try:
            if self.effect is Effect.READ_ONLY:
                text, is_cut = truncate_middle(await access.read(permission, act_on))
                return ToolOutput(text, truncated=is_cut)
            return ToolOutput(await access.write(context.call_id, permission, act_on))
        except REFUSALS as error:
            return refusal(error)

    async def find_result(self, call_id: str) -> ToolOutput | None:
        if self.effect is not Effect.KEYED:
            return None
        text = await self.connected.find_result(call_id)
        return None if text is None else ToolOutput(text)


REFUSALS = (NotAllowed, Invalid, NotFound, Conflict)


def refusal(error: PacaError) -> ToolOutput:
    """The output of a call that was refused with one of ``REFUSALS``."""
    if isinstance(error, NotAllowed):
        return ToolOutput(error.detail, failed=True, cause="refused")
    return ToolOutput(_describe(error), failed=True)


def _describe(error: PacaError) -> str:
    """The error's sentence, and one line for each field that is not valid."""
    fields = getattr(error, "fields", {})
    lines = [f"- {name}: {' '.join(texts)}" for name, texts in fields.items()]
    return "\n".join(
        ["Nothing was changed: these fields are not valid.", *lines] if lines else [error.detail]
    )
