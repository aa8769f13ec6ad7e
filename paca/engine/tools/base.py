"""The base of all tools: name, description for the model, arguments and act."""

from __future__ import annotations

import asyncio
import contextlib
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Any, ClassVar, Generic, TypeAlias, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, StringConstraints

from paca.common.secret_removal import SecretMask
from paca.common.text import is_encodable
from paca.engine.llm.base import ToolSpec
from paca.engine.todo_list import TodoList
from paca.engine.tools.background_state import BackgroundState
from paca.engine.tools.formatting import format_seconds, to_one_line
from paca.engine.workspace import (
    CallUnknown,
    OnOutput,
    OutsideWorkspace,
    SandboxGone,
    SandboxUnavailable,
    SandboxWorkspace,
    WorkspaceError,
)
from paca.events import Event

# A workspace keeps the time limit itself. After this many seconds more it will not answer at all.
GRACE_SECONDS = 15.0


class Effect(StrEnum):
    """The effect of a second execution of the same call."""

    READ_ONLY = "read_only"
    IDEMPOTENT = "idempotent"
    KEYED = "keyed"
    OPAQUE = "opaque"


def _refuse_surrogates(text: str) -> str:
    if not is_encodable(text):
        raise ValueError("text without lone surrogates (\\ud800 to \\udfff)")
    return text


def refuse_nul(text: str) -> str:
    """The text. Raises ``ValueError`` if it has NUL characters or lone surrogates."""
    if "\0" in text:
        raise ValueError("text without NUL characters")
    return _refuse_surrogates(text)


EncodableText = Annotated[str, AfterValidator(_refuse_surrogates)]
NonEmptyText = Annotated[str, StringConstraints(min_length=1), AfterValidator(refuse_nul)]
FilePath = Annotated[
    str, StringConstraints(min_length=1, max_length=4096), AfterValidator(refuse_nul)
]


class ToolArguments(BaseModel):
    """Arguments of the right types. The toolbox has read what can be meant in one way only."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


ArgumentsT = TypeVar("ArgumentsT", bound=ToolArguments)


@dataclass(frozen=True, slots=True)
class ToolImage:
    """An image in a result. ``kind`` is its media type, such as ``image/png``."""

    kind: str
    data: bytes


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """The result of a call. The fields are those of the event ``ToolReturned``.

    ``events`` come before it in the log, in the same transaction. ``images`` are shown to people, and to a model that
    can see.
    """

    output: str
    failed: bool = False
    exit_code: int | None = None
    truncated: bool = False
    file: str = ""
    cause: str = ""
    events: tuple[Event, ...] = ()
    images: tuple[ToolImage, ...] = ()


def _ask_a_person(script: str) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class RepositorySetup:
    """Whether the setup script of a repository runs after its clone. ``needs_person``: whether the agent's policy
    would ask before a command that runs this script.
    """

    is_on: bool = False
    needs_person: Callable[[str], bool] = _ask_a_person


NO_MASK = SecretMask()


@dataclass(frozen=True, slots=True)
class ToolContext:
    """The context of one call. ``workspace`` starts the sandbox when it is first called.

    All calls of a run share ``seen_files``: path to sha256 of the file as the model last saw it.
    ``memory_mib`` and ``workspace_mib`` are the sandbox's limits; 0 means unknown. ``todo`` is the to-do list,
    ``background`` the background commands, each of which may run for ``background_timeout_seconds`` unless its call
    says otherwise. ``may_run_on``: a command may be moved to the background at its time limit. ``repository_setup``:
    what follows the clone of a repository. ``mask`` hides secrets in what the model reads.
    """

    call_id: str
    workspace: Callable[[], Awaitable[SandboxWorkspace]]
    on_output: OnOutput | None = None
    seen_files: dict[str, str] = field(default_factory=dict)
    command_timeout_seconds: float = 60
    memory_mib: int = 0
    workspace_mib: int = 0
    todo: TodoList = TodoList()
    background: BackgroundState = BackgroundState()
    background_timeout_seconds: float = 300
    may_run_on: bool = False
    repository_setup: RepositorySetup = RepositorySetup()
    mask: SecretMask = NO_MASK


class Tool(ABC, Generic[ArgumentsT]):
    """One thing an agent can do. The model reads the docstring of the subclass as its description.

    ``uses_workspace``: the tool cannot act without the sandbox.
    ``takes_command``: its argument ``command`` is a command line, and the rules of commands say whether it is
    harmless. ``only_thinks``: nothing leaves the agent, so that no policy asks before a call.
    ``package``: the installed package of a custom tool, with its version; empty for Paca's own.
    ``reattachable``: the runner knows the call by its id. A second ``act`` with the same id, in the
    same start of the runner, waits for the first execution and does not start another.
    ``takes_other_fields``: fields that the schema does not have are arguments too.
    """

    name: str
    effect: ClassVar[Effect]
    timeout_seconds: ClassVar[float] = 30
    uses_workspace: ClassVar[bool] = True
    reattachable: ClassVar[bool] = False
    takes_command: ClassVar[bool] = False
    only_thinks: ClassVar[bool] = False
    takes_other_fields: ClassVar[bool] = False
    package: ClassVar[str] = ""
    Arguments: type[ArgumentsT]

    def subject(self, arguments: ArgumentsT) -> str:
        """A phrase of one line for the card on the page: what the call is about."""
        return to_one_line(getattr(arguments, "path", ""))

    def diff(self, arguments: ArgumentsT) -> str:
        """The change that the arguments describe, as lines with ``-`` and ``+``; empty if it is no edit."""
        return ""

    @property
    def own_spec(self) -> ToolSpec | None:
        """The tool as the model sees it, if that does not follow from its class."""
        return None

    @property
    def asks_always(self) -> bool:
        """Whether a person sees each call before it runs, with every policy."""
        return False

    @property
    def sends_out(self) -> bool:
        """Whether a call sends work or data out of Paca in the agent's name: a person sees it first, with every policy."""
        return False

    @property
    def safe(self) -> bool:
        """Whether every call of the tool may run without approval where unsafe calls ask."""
        # guard: approval-opaque-tools-are-unsafe
        return self.effect is not Effect.OPAQUE

    @property
    def repeatable(self) -> bool:
        """Whether a second execution of a call does no harm, whatever happened since the first."""
        if self.effect is Effect.KEYED:
            # The key is kept where the call writes. A runner's keys end with its sandbox, the database's
            # do not.
            return not self.uses_workspace
        return self.effect in (Effect.READ_ONLY, Effect.IDEMPOTENT)

    async def find_result(self, call_id: str) -> ToolOutput | None:
        """The result of a keyed call that has taken effect, if its key tells it outside of the sandbox."""
        return None

    def time_limit_seconds(self, arguments: ArgumentsT, context: ToolContext) -> float:
        """The seconds that this call may take."""
        return self.timeout_seconds

    @abstractmethod
    async def act(self, arguments: ArgumentsT, context: ToolContext) -> ToolOutput:
        """Carry the call out.

        Raises ``WorkspaceError`` if the workspace refuses; ``perform`` makes a result of it.
        """


@dataclass(frozen=True, slots=True)
class ParsedCall(Generic[ArgumentsT]):
    """A tool and the arguments that it has checked. ``notes`` tell the model what was read in another way."""

    tool: Tool[ArgumentsT]
    arguments: ArgumentsT
    notes: tuple[str, ...] = ()

    @property
    def subject(self) -> str:
        return self.tool.subject(self.arguments)


# A toolbox holds tools with different arguments; ``ParsedCall`` keeps tool and arguments matched.
AnyTool: TypeAlias = Tool[Any]
AnyParsedCall: TypeAlias = ParsedCall[Any]


async def perform(call: ParsedCall[ArgumentsT], context: ToolContext) -> ToolOutput:
    """Act within the call's time limit. A refusal of the workspace becomes a failed output.

    Raises ``SandboxGone`` or ``CallUnknown`` if the outcome of the call is not known.
    """
    tool, limit = call.tool, call.tool.time_limit_seconds(call.arguments, context)
    try:
        if tool.uses_workspace:
            # The start of a sandbox has time limits of its own. It does not count for the call.
            await context.workspace()
        async with asyncio.timeout(limit + GRACE_SECONDS):
            return await tool.act(call.arguments, context)
    except TimeoutError:
        if tool.reattachable:
            await _kill(context)
        return _timed_out(tool.name, limit)
    except (SandboxGone, CallUnknown):
        raise
    except WorkspaceError as error:
        return _failed_output(error, call.arguments)


def _failed_output(error: WorkspaceError, arguments: ToolArguments) -> ToolOutput:
    path = getattr(arguments, "path", None) or getattr(arguments, "repository", "")
    names_path = not path or path in error.detail or isinstance(error, SandboxUnavailable)
    refused = isinstance(error, (OutsideWorkspace, SandboxUnavailable))
    return ToolOutput(
        error.detail if names_path else f"{path}: {error.detail}",
        failed=True,
        cause="refused" if refused else "",
    )


async def _kill(context: ToolContext) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(GRACE_SECONDS):
            await (await context.workspace()).kill(context.call_id)


def _timed_out(tool_name: str, limit_seconds: float) -> ToolOutput:
    text = f"{tool_name} gave no answer within {format_seconds(limit_seconds)}; it was stopped."
    return ToolOutput(text, failed=True, cause="timed_out")
