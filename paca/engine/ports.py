"""What the engine asks of the world around it; the worker gives it the real thing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from paca.engine.context.history import History
from paca.engine.limits import TurnProgress
from paca.engine.llm.base import LLM
from paca.engine.workspace import SandboxWorkspace
from paca.events import Event


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCallStarted:
    """An attempt to get a reply begins. A row of its own, no event: nobody needs to see it."""

    call_id: str
    model: str
    attempt: int = 1


LogEntry = Event | ModelCallStarted


class Log(Protocol):
    """The conversation's log as the engine sees it: it writes, and reads what it folds to."""

    @property
    def history(self) -> History:
        """All that is committed, by anyone, as the model will see it."""
        ...

    @property
    def progress(self) -> TurnProgress:
        """What the running turn has used, folded from the same rows."""
        ...

    def add(self, *entries: LogEntry) -> None:
        """Keep these for the next commit."""
        ...

    async def commit(self, *entries: LogEntry) -> None:
        """Store what was noted, then these, in one transaction, and learn what others wrote."""
        ...

    def show_live(self, event: Event) -> None:
        """Let viewers see this at once; it is never stored."""
        ...


class ConversationSandbox(Protocol):
    """The one sandbox of this conversation, started when first needed."""

    @property
    def is_attached(self) -> bool: ...

    def may_be_running(self, boot_id: str) -> bool:
        """Whether calls begun in this life of the runner may still go on, as far as we know."""
        ...

    async def exit_cause(self, boot_id: str) -> str:
        """How that life of the runner came to its end, in a sentence; empty if it goes on, or nobody
        knows yet. Stored when first known."""
        ...

    async def workspace(self) -> SandboxWorkspace:
        """The started sandbox. Raises ``SandboxUnavailable`` or ``SandboxGone``."""
        ...


@dataclass(frozen=True, slots=True)
class ToolServices:
    """What a call of a tool stands on."""

    log: Log
    sandbox: ConversationSandbox


@dataclass(frozen=True, slots=True)
class RunServices(ToolServices):
    """Everything outside the engine that a run may touch."""

    llm: LLM
