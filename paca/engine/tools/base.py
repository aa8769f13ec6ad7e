"""What a tool is: its name, what the model reads about it, its arguments and its act."""

import asyncio
import contextlib
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, BaseModel, ConfigDict, StringConstraints

from paca.engine.tools.shaping import phrase, seconds_phrase
from paca.engine.workspace import (
    CallUnknown,
    OnOutput,
    OutsideWorkspace,
    SandboxGone,
    SandboxUnavailable,
    SandboxWorkspace,
    WorkspaceError,
)

# A workspace keeps its own limits; this much later we stop believing that it will answer.
GRACE_SECONDS = 15.0


class Effect(StrEnum):
    """What a second execution of the same call would do."""

    READ_ONLY = "read_only"
    IDEMPOTENT = "idempotent"
    KEYED = "keyed"
    OPAQUE = "opaque"


def _storable(text: str) -> str:
    """Half of a surrogate pair is valid in JSON and in ``str``, and can be written nowhere."""
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise ValueError("text without lone surrogates (\\ud800 to \\udfff)")
    return text


def _without_nul(text: str) -> str:
    if "\0" in text:
        raise ValueError("text without NUL characters")
    return _storable(text)


Text = Annotated[str, AfterValidator(_storable)]
Phrase = Annotated[str, StringConstraints(min_length=1), AfterValidator(_without_nul)]
FilePath = Annotated[
    str, StringConstraints(min_length=1, max_length=4096), AfterValidator(_without_nul)
]


class ToolArguments(BaseModel):
    """Arguments as the model gave them: nothing is guessed, converted or ignored."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """What came of a call; the fields are those of the event ``ToolReturned``."""

    output: str
    failed: bool = False
    exit_code: int | None = None
    truncated: bool = False
    file: str = ""
    cause: str = ""


@dataclass(frozen=True, slots=True)
class ToolContext:
    """What a call may use. ``workspace`` opens the sandbox when first asked.

    ``seen`` is shared by all calls of a run: path to the digest of the file as the model last
    knew it. ``memory_mib`` and ``workspace_mib`` are the sandbox's limits, 0 where unknown.
    """

    call_id: str
    workspace: Callable[[], Awaitable[SandboxWorkspace]]
    on_output: OnOutput | None = None
    seen: dict[str, str] = field(default_factory=dict)
    command_timeout_seconds: float = 60
    memory_mib: int = 0
    workspace_mib: int = 0


class Tool(ABC):
    """One thing an agent can do. The docstring of a subclass is what the model reads.

    ``safe``: needs no approval. ``uses_workspace``: cannot act without the sandbox.
    ``reattachable``: the call goes through the runner's table under its call id, so acting
    again with the same id, on the same boot of the runner, waits for the first execution
    instead of starting a second.
    """

    name: ClassVar[str]
    effect: ClassVar[Effect]
    safe: ClassVar[bool] = False
    timeout_seconds: ClassVar[float] = 30
    uses_workspace: ClassVar[bool] = True
    reattachable: ClassVar[bool] = False
    Arguments: ClassVar[type[ToolArguments]]

    def subject(self, arguments: Any) -> str:
        """A short phrase for the card, at most one line."""
        return phrase(getattr(arguments, "path", ""))

    def limit_seconds(self, arguments: Any, context: ToolContext) -> float:
        """How long this very call may take."""
        return self.timeout_seconds

    @abstractmethod
    async def act(self, arguments: Any, context: ToolContext) -> ToolOutput:
        """Do it. A ``WorkspaceError`` raised here is a result for the model: see ``perform``."""


async def perform(tool: Tool, arguments: ToolArguments, context: ToolContext) -> ToolOutput:
    """Act within the call's time limit; what the workspace refuses becomes a failed output.

    Only ``SandboxGone`` and ``CallUnknown`` pass: what became of the call is then not ours to say.
    """
    limit = tool.limit_seconds(arguments, context)
    try:
        if tool.uses_workspace:
            await context.workspace()  # its start has limits of its own and is not the call's time
        async with asyncio.timeout(limit + GRACE_SECONDS):
            return await tool.act(arguments, context)
    except TimeoutError:
        return await _given_up(tool, limit, context)
    except (SandboxGone, CallUnknown):
        raise
    except WorkspaceError as error:
        return _refusal(error, arguments)


def _refusal(error: WorkspaceError, arguments: ToolArguments) -> ToolOutput:
    path = getattr(arguments, "path", None) or getattr(arguments, "repository", "")
    known = not path or path in error.detail or isinstance(error, SandboxUnavailable)
    refused = isinstance(error, (OutsideWorkspace, SandboxUnavailable))
    return ToolOutput(
        error.detail if known else f"{path}: {error.detail}",
        failed=True,
        cause="refused" if refused else "",
    )


async def _given_up(tool: Tool, limit: float, context: ToolContext) -> ToolOutput:
    if tool.reattachable:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(GRACE_SECONDS):
                await (await context.workspace()).kill(context.call_id)
    text = f"{tool.name} gave no answer within {seconds_phrase(limit)}; it was stopped."
    return ToolOutput(text, failed=True, cause="timed_out")
