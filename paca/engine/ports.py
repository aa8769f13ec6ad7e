"""What the engine asks of the world around it; the worker gives it the real thing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from paca.engine.context.history import History
from paca.engine.limits import Tally
from paca.engine.llm.base import LLM
from paca.engine.workspace import SandboxWorkspace
from paca.events import Event


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCallStarted:
    """An attempt to get a reply begins. A row of its own, no event: nobody needs to see it."""

    call_id: str
    model: str
    attempt: int = 1


Entry = Event | ModelCallStarted


class Log(Protocol):
    """The conversation's log as the engine sees it: it writes, and reads what it folds to."""

    @property
    def history(self) -> History:
        """All that is committed, by anyone, as the model will see it."""
        ...

    @property
    def tally(self) -> Tally:
        """What the running turn has used, folded from the same rows."""
        ...

    def note(self, *entries: Entry) -> None:
        """Keep these for the next commit."""
        ...

    async def commit(self, *entries: Entry) -> None:
        """Store what was noted, then these, in one transaction, and learn what others wrote."""
        ...

    def show(self, event: Event) -> None:
        """Let viewers see this at once; it is never stored."""
        ...


class Sandboxes(Protocol):
    """The one sandbox of this conversation, started when first needed."""

    @property
    def ready(self) -> bool: ...

    def may_run(self, boot_id: str) -> bool:
        """Whether calls begun in this life of the runner may still go on, as far as we know."""
        ...

    async def loss(self, boot_id: str) -> str:
        """How that life of the runner came to its end, in a sentence; empty if it goes on, or nobody
        knows yet. Stored when first known."""
        ...

    async def workspace(self) -> SandboxWorkspace:
        """The started sandbox. Raises ``SandboxUnavailable`` or ``SandboxGone``."""
        ...


@dataclass(frozen=True, slots=True)
class Ground:
    """What a call of a tool stands on."""

    log: Log
    sandboxes: Sandboxes


@dataclass(frozen=True, slots=True)
class World(Ground):
    """Everything outside the engine that a run may touch."""

    llm: LLM
