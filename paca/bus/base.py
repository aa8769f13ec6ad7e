"""How processes wake one another. Everything here is a hint: the database row is the truth."""

import enum
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol
from uuid import UUID


class Signal(enum.StrEnum):
    """What a worker that holds a conversation should look at."""

    INBOX = "inbox"  # a message, a stop, an interrupt or a pause stands in the inbox
    ATTACH = "attach"  # a viewer has come: say again what has been streamed so far


@dataclass(frozen=True, slots=True)
class Woken:
    """A trigger is due; any worker may take it."""

    trigger_id: UUID


@dataclass(frozen=True, slots=True)
class Announced:
    """Rows up to ``seq`` of this topic are committed. Topics: ``conversation:<id>``, ``project:<id>``."""

    topic: str
    seq: int


@dataclass(frozen=True, slots=True)
class Shown:
    """A live frame (never stored) for the viewers of a topic."""

    topic: str
    frame: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Signalled:
    """Something for whichever worker holds this conversation."""

    conversation_id: UUID
    what: Signal


Hint = Woken | Announced | Shown | Signalled


class Bus(Protocol):
    """Publishing never blocks and never raises; it may be called from any thread or loop."""

    def wake(self, trigger_id: UUID) -> None: ...

    def announce(self, topic: str, seq: int) -> None: ...

    def live(self, topic: str, frame: dict[str, Any]) -> None: ...

    def signal(self, conversation_id: UUID, what: Signal = Signal.INBOX) -> None: ...

    def listen(
        self, kinds: tuple[type[Hint], ...], deliver: Callable[[Hint], None]
    ) -> AbstractContextManager[None]:
        """Call ``deliver`` in the running loop with each hint of these kinds until the block ends."""
        ...


def conversation_topic(conversation_id: UUID) -> str:
    """The topic on which a conversation's events are announced."""
    return f"conversation:{conversation_id}"


def project_topic(project_id: UUID) -> str:
    """The topic on which changes to a project's things are announced."""
    return f"project:{project_id}"
