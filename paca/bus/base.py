"""How processes wake one another. Everything here is a hint: the database row is the truth."""

import enum
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager
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


@dataclass(frozen=True, slots=True)
class Missed:
    """For a while this listener was cut off: what was published then is lost to it. Look again."""


Hint = Woken | Announced | Shown | Signalled | Missed


# --- what other programs are told of an announcement -------------------------------------------


@dataclass(frozen=True, slots=True)
class Row:
    """One event of a log as it was stored; ``payload`` is JSON text, empty if it is very large."""

    seq: int
    type: str
    source: str
    payload: str


@dataclass(frozen=True, slots=True)
class News:
    """The rows that one transaction stored, and what the conversation has come to."""

    project_id: str
    status: str
    rows: tuple[Row, ...]


# --- what other programs ask for ------------------------------------------------------------------

# An entry of this type ends work; a worker that is busy with that very work has to hear it.
STOP = "agent.stop"


class Fate(enum.Enum):
    """What became of an entry that another program has left for the workers."""

    TAKEN = "it stands in the database now, or did already"
    REFUSED = "nobody will ever be able to take it in"
    FAILED = "something broke; it may be tried a few times more"
    LATER = "the database cannot be asked now; it is tried until it can"


@dataclass(frozen=True, slots=True)
class Verdict:
    """An entry's fate, and the reason as a person would put it."""

    fate: Fate
    reason: str = ""


class Intake(Protocol):
    """A worker as the bus sees it. Called in a thread of the bus; may block."""

    def room(self) -> int:
        """How many more conversations it would run now."""
        ...

    def take_in(self, entry_id: str, fields: Mapping[str, str]) -> Verdict:
        """Make rows of what another program wants. May be called twice with the same entry."""
        ...


class Bus(Protocol):
    """Publishing never blocks and never raises; it may be called from any thread or loop."""

    def wake(self, trigger_id: UUID, about: Mapping[str, str] | None = None) -> None:
        """A trigger is committed; ``about`` are its facts, for whoever reads the queue."""
        ...

    def announce(self, topic: str, seq: int, news: News | None = None) -> None:
        """Rows up to ``seq`` are committed; ``news`` says which, for other programs."""
        ...

    def live(self, topic: str, frame: dict[str, Any]) -> None:
        """Show a frame that is never stored."""
        ...

    def signal(self, conversation_id: UUID, what: Signal = Signal.INBOX) -> None:
        """Tell whichever worker holds the conversation to look."""
        ...

    def listen(
        self, kinds: tuple[type[Hint], ...], deliver: Callable[[Hint], None]
    ) -> AbstractContextManager[None]:
        """Call ``deliver`` in the running loop with each hint of these kinds until the block ends.

        Every listener hears everything, but for ``Woken``: see ``work``.
        """
        ...

    def work(
        self, deliver: Callable[[Hint], None], intake: Intake
    ) -> AbstractAsyncContextManager[None]:
        """Be one of the workers until the block ends: each ``Woken`` goes to one that has room."""
        ...


def conversation_topic(conversation_id: UUID) -> str:
    """The topic on which a conversation's events are announced."""
    return f"conversation:{conversation_id}"


def project_topic(project_id: UUID) -> str:
    """The topic on which changes to a project's things are announced."""
    return f"project:{project_id}"
