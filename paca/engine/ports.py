"""Interfaces that the engine needs from outside. The worker implements them."""

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
    """The start of an attempt to get a reply. It becomes a row of ``ModelCall`` and no event."""

    call_id: str
    model: str
    attempt: int = 1


LogEntry = Event | ModelCallStarted


class EventLog(Protocol):
    """The event log of the conversation: the engine writes to it and reads what it derives from it."""

    @property
    def history(self) -> History:
        """The committed events of all writers, as the model sees them."""
        ...

    @property
    def progress(self) -> TurnProgress:
        """The usage of the running turn, derived from the same events."""
        ...

    def add(self, *entries: LogEntry) -> None:
        """Keep the entries for the next commit."""
        ...

    async def commit(self, *entries: LogEntry) -> None:
        """Store the added entries and then these in one transaction, and read what others wrote.

        Raises an error of the implementation if the conversation is no longer this worker's.
        """
        ...

    def show_live(self, event: Event) -> None:
        """Send an event to viewers without storing it."""
        ...


class ConversationSandbox(Protocol):
    """The one sandbox of the conversation. It starts when it is first needed."""

    @property
    def is_attached(self) -> bool:
        """Whether the sandbox runs and this worker is connected to it."""
        ...

    def may_be_running(self, boot_id: str) -> bool:
        """Whether calls in this start of the runner may still run, as far as is known."""
        ...

    async def exit_sentence(self, boot_id: str) -> str:
        """Why the runner with this boot id ended, as a sentence. Stored as an event when first known.

        Empty while the runner lives, or if the cause is not known yet.
        """
        ...

    async def workspace(self) -> SandboxWorkspace:
        """The workspace of the sandbox, which is started or attached to first.

        Raises ``SandboxUnavailable``, ``SandboxGone`` or ``Superseded``.
        """
        ...


@dataclass(frozen=True, slots=True)
class ToolServices:
    """The parts of the outside that a tool call uses."""

    log: EventLog
    sandbox: ConversationSandbox


@dataclass(frozen=True, slots=True)
class RunServices(ToolServices):
    """Everything outside the engine that a run uses."""

    llm: LLM
