"""The interface of the bus. Every message is a hint: the database row is the truth."""

import enum
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol
from uuid import UUID

from paca.common.frames import StoredEvent


class Signal(enum.StrEnum):
    """What the worker that holds a conversation should do."""

    INBOX = "inbox"  # read the inbox: it has a message, a stop, an interrupt or a pause
    FILES = "files"  # any worker: somebody asks for files of its sandbox
    ATTACH = "attach"  # a viewer has joined: send the text streamed so far again


# --- hints ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TriggerDue:
    """A trigger is due; any worker may claim its conversation."""

    trigger_id: UUID


@dataclass(frozen=True, slots=True)
class EventsCommitted:
    """Rows up to ``seq`` of this topic are committed. Topics: ``conversation:<id>``, ``project:<id>``."""

    topic: str
    seq: int


@dataclass(frozen=True, slots=True)
class LiveFrame:
    """A frame for the viewers of a topic. It is never stored."""

    topic: str
    frame: dict[str, Any]


@dataclass(frozen=True, slots=True)
class ConversationSignal:
    """A signal to the worker that holds this conversation."""

    conversation_id: UUID
    signal: Signal


@dataclass(frozen=True, slots=True)
class HintsLost:
    """The listener was disconnected and may have lost hints. It must look into the database."""


Hint = TriggerDue | EventsCommitted | LiveFrame | ConversationSignal | HintsLost


# --- the copy of the event log for other programs -------------------------------------------------


@dataclass(frozen=True, slots=True)
class CommittedBatch:
    """The events that one transaction stored, and the conversation's status after them."""

    project_id: str
    status: str
    events: tuple[StoredEvent, ...]


# --- external triggers ----------------------------------------------------------------------------

# The type of an entry that ends work. A worker without free capacity has to hear it too, because
# the entry may stop the very conversation that keeps the worker busy.
STOP = "agent.stop"


class EntryStatus(enum.Enum):
    """What became of an entry that another program has put on the trigger stream."""

    ACCEPTED = "its rows are in the database"
    REJECTED = "no worker can ever accept it"
    FAILED = "handling it failed; a few more attempts are made"
    RETRY_LATER = "the database cannot be used now; attempts go on until it can"


@dataclass(frozen=True, slots=True)
class EntryResult:
    """The status of an entry, the reason as a sentence for a person, and its code for a program.

    ``facts`` of an accepted entry are told to its program.
    """

    status: EntryStatus
    reason: str = ""
    code: str = ""
    facts: Mapping[str, str] = field(default_factory=dict)


class TriggerHandler(Protocol):
    """A worker as the bus sees it. The bus calls it in a thread of its own; calls may block."""

    def capacity(self) -> int:
        """How many more conversations the worker would run now."""
        ...

    def handle(self, entry_id: str, fields: Mapping[str, str]) -> EntryResult:
        """Store the rows that another program asks for. May be called twice with the same entry.

        ``entry_id`` is the id under which its program added it, also if it was added again since.
        """
        ...


class Bus(Protocol):
    """Publishing never blocks and never raises. It may be called from any thread or event loop."""

    def wake(self, trigger_id: UUID, facts: Mapping[str, str] | None = None) -> None:
        """Tell one worker that a trigger is committed; ``facts`` describe it to other programs."""
        ...

    def announce(self, topic: str, seq: int, batch: CommittedBatch | None = None) -> None:
        """Tell all listeners that rows up to ``seq`` are committed; ``batch`` is for other programs."""
        ...

    def live(self, topic: str, frame: dict[str, Any]) -> None:
        """Send a frame that is never stored to the viewers of a topic."""
        ...

    def signal(self, conversation_id: UUID, signal: Signal = Signal.INBOX) -> None:
        """Send a signal to the worker that holds the conversation."""
        ...

    def listen(
        self, kinds: tuple[type[Hint], ...], deliver: Callable[[Hint], None]
    ) -> AbstractAsyncContextManager[None]:
        """Call ``deliver`` in the running loop with each hint of these kinds until the block ends.

        Every listener gets every hint, except ``TriggerDue``: see ``consume_triggers``.
        """
        ...

    def consume_triggers(
        self, deliver: Callable[[Hint], None], handler: TriggerHandler
    ) -> AbstractAsyncContextManager[None]:
        """Be one of the workers until the block ends. One worker with free capacity gets each trigger."""
        ...


def conversation_topic(conversation_id: UUID) -> str:
    """The topic on which a conversation's events are announced."""
    return f"conversation:{conversation_id}"


def project_topic(project_id: UUID) -> str:
    """The topic on which changes to a project's objects are announced."""
    return f"project:{project_id}"


def person_topic(user_id: UUID) -> str:
    """The topic on which a person's own pages are told of changes, whatever project they show."""
    return f"person:{user_id}"
