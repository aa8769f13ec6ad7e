"""The catalogue of event types: everything that can stand in a conversation's log or be shown live."""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self, TypeVar, dataclass_transform


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Base of every event. Carries facts only: JSON values, no markup, no database objects."""

    type: ClassVar[str]
    durable: ClassVar[bool]
    facts: ClassVar[tuple[str, ...]]

    @classmethod
    def from_payload(cls, payload: dict[str, Any]) -> Self:
        """Load a stored payload; fields no longer known are ignored, new ones take their default."""
        return cls(**{name: value for name, value in payload.items() if name in cls.facts})

    def payload(self) -> dict[str, Any]:
        """The facts as a JSON object, as they stand in the row and in a frame's ``data``."""
        return {name: getattr(self, name) for name in self.facts}


E = TypeVar("E", bound=Event)
EVENT_TYPES: dict[str, type[Event]] = {}


@dataclass_transform(frozen_default=True, kw_only_default=True)
def event(name: str, *, durable: bool = True) -> Callable[[type[E]], type[E]]:
    """Enter a class in the catalogue. ``durable=False``: shown live, never stored."""

    def enter(cls: type[E]) -> type[E]:
        entry = dataclass(frozen=True, slots=True, kw_only=True)(cls)
        entry.type, entry.durable = name, durable
        entry.facts = tuple(fact.name for fact in dataclasses.fields(entry))
        if EVENT_TYPES.setdefault(name, entry) is not entry:
            raise ValueError(f"event type {name!r} is already in the catalogue")
        return entry

    return enter


def load(name: str, payload: dict[str, Any]) -> Event:
    """The event of a stored row; a type or shape no longer known becomes ``UnknownEvent``, whole."""
    cls = EVENT_TYPES.get(name)
    if cls is None:
        return UnknownEvent(original_type=name, payload_as_read=payload)
    try:
        return cls.from_payload(payload)
    except TypeError:  # a required fact is missing: written by a version we do not know
        return UnknownEvent(original_type=name, payload_as_read=payload)


# --- conversation -------------------------------------------------------------------------------


@event("agent.conversation.queued")
class ConversationQueued(Event):
    """Work waits for a worker. ``trigger`` is the kind of its cause, ``by`` who caused it."""

    trigger: str
    by: str = ""


@event("agent.conversation.started")
class ConversationStarted(Event):
    """A worker took the conversation. ``demo``: the answers come from a script, not a model."""

    model: str
    demo: bool = False


@event("agent.conversation.paused")
class ConversationPaused(Event):
    """The run stands still; a message or Continue leaves this state. ``reason`` is one of by_person,
    step_limit, token_budget, cost_budget, time_limit, rate_limited, model_unavailable, stuck (no
    progress: the same step again and again), parked."""

    reason: str
    by: str = ""
    detail: str = ""


@event("agent.conversation.waiting")
class ConversationWaiting(Event):
    """The run cannot go on for now, and will by itself: ``reason`` is what it waits for."""

    reason: str
    detail: str = ""


@event("agent.conversation.resumed")
class ConversationResumed(Event):
    """A new worker has taken over the run from one that is gone; nothing stored is lost. Or what
    it has waited for (``waited_for``) is there."""

    worker: str = ""
    waited_for: str = ""


@event("agent.conversation.finished")
class ConversationFinished(Event):
    """The agent has answered everything it was asked."""

    reason: str = "answered"


@event("agent.conversation.failed")
class ConversationFailed(Event):
    """Something only a person can repair: ``code``, what happened, and the one next step."""

    code: str
    message: str
    next_step: str = ""


@event("agent.conversation.stopped")
class ConversationStopped(Event):
    """A person (or the removal of the agent) ended the run."""

    reason: str = "by_person"
    by: str = ""


@event("agent.conversation.interrupted")
class ConversationInterrupted(Event):
    """A person cut the turn short; what they wrote starts the next one."""

    by: str = ""


@event("agent.turn.started")
class TurnStarted(Event):
    """The agent begins to answer one or more triggers; numbers count from 1."""

    number: int
    triggers: list[str] = field(default_factory=list)


@event("agent.turn.finished")
class TurnFinished(Event):
    """The turn has ended with this status and reason."""

    number: int
    status: str
    reason: str
    steps: int = 0


@event("agent.title.changed")
class TitleChanged(Event):
    """The conversation's title, made from its first message or written by a person."""

    title: str
    by: str = ""


# --- talk ---------------------------------------------------------------------------------------


@event("agent.message.received")
class MessageReceived(Event):
    """Someone wrote to the agent. ``client_id`` is the sender's own name for the message."""

    text: str
    author_id: str = ""
    author_name: str = ""
    client_id: str = ""
    on_busy: str = "queue"


@event("agent.message.spoken")
class MessageSpoken(Event):
    """The agent's words. ``call_id`` is the model call whose live text this replaces.

    ``truncated``: the model hit its output limit here and is asked to go on.
    """

    text: str
    call_id: str = ""
    model: str = ""
    demo: bool = False
    truncated: bool = False


@event("agent.message.discarded")
class MessageDiscarded(Event):
    """Streamed text that never became a message. ``text``, if kept, is for people only."""

    call_id: str
    cause: str
    text: str = ""


@event("agent.text.streamed", durable=False)
class TextStreamed(Event):
    """A piece of the answer being written, at ``offset`` characters of this model call's text."""

    call_id: str
    offset: int
    text: str


@event("agent.thought.recorded")
class ThoughtRecorded(Event):
    """The model's reasoning. ``signature`` and ``redacted`` go back to the provider unread."""

    text: str
    call_id: str = ""
    signature: str = ""
    redacted: str = ""
    seconds: float = 0.0


@event("agent.thought.streamed", durable=False)
class ThoughtStreamed(Event):
    """A piece of reasoning being written, at ``offset`` characters."""

    call_id: str
    offset: int
    text: str


# --- model --------------------------------------------------------------------------------------


@event("agent.model.retried")
class ModelRetried(Event):
    """Attempt ``attempt`` failed because of ``cause``; the next begins in ``wait_seconds``."""

    call_id: str
    attempt: int
    wait_seconds: float
    cause: str
    code: str = ""


@event("agent.usage.recorded")
class UsageRecorded(Event):
    """What one attempt of a model call took, however it ended.

    ``outcome`` is done, failed or cancelled. ``cost_usd`` is null when the price is unknown.
    ``seen_seq``: the last event the model had before it when it was asked. A message above it
    is younger than the reply and stands after it in the history, whatever its number.
    Tokens are null where the server told none; ``estimated_tokens`` and ``estimated_usd`` then keep
    the limits, and are nothing to be shown.
    """

    call_id: str
    model: str
    attempt: int = 1
    outcome: str = "done"
    input: int | None = 0
    output: int | None = 0
    cache_read: int | None = 0
    cache_write: int | None = 0
    cost_usd: float | None = None
    seen_seq: int = 0
    seconds: float = 0.0
    estimated_tokens: int = 0
    estimated_usd: float = 0.0


# --- tools --------------------------------------------------------------------------------------


@event("agent.tool.called")
class ToolCalled(Event):
    """The model asks for a tool. ``subject`` is a short phrase for the card ("src/app.py")."""

    call_id: str
    tool: str
    arguments: dict[str, Any]
    effect: str = "opaque"
    subject: str = ""
    model_call_id: str = ""


@event("agent.tool.started")
class ToolStarted(Event):
    """The intent: from here on the call may have had its effect. ``boot_id`` names the runner."""

    call_id: str
    boot_id: str = ""


@event("agent.tool.progressed", durable=False)
class ToolProgressed(Event):
    """New output of a running command, at ``offset`` characters of what was shown so far."""

    call_id: str
    offset: int
    text: str


@event("agent.tool.returned")
class ToolReturned(Event):
    """The outcome of a call. ``cause`` is empty, or why it did not end by itself:
    invalid, refused, failed, timed_out, out_of_memory, too_many_processes, disk_full, cancelled,
    sandbox_lost.

    ``file``: where in the sandbox the whole output stands when it was cut here.
    """

    call_id: str
    output: str
    failed: bool = False
    exit_code: int | None = None
    seconds: float = 0.0
    truncated: bool = False
    file: str = ""
    cause: str = ""


@event("agent.tool.outcome_unknown")
class ToolOutcomeUnknown(Event):
    """The worker or sandbox was lost while the call ran; it was not run again."""

    call_id: str
    output: str
    reason: str = ""


# --- context ------------------------------------------------------------------------------------


@event("agent.limit.neared")
class LimitNeared(Event):
    """A limit is close; the model is told to wrap up. ``which`` as in the reasons of paused."""

    which: str
    left: float


@event("agent.limit.reached")
class LimitReached(Event):
    """A limit is reached; what follows is one summary without tools, or nothing."""

    which: str
    limit: float


@event("agent.guard.noticed")
class GuardNoticed(Event):
    """The model did something that leads nowhere; ``note`` is what it is told about it.
    ``guard`` is text_tool_call (a call written into the answer) or repeated_step."""

    guard: str
    note: str


# --- sandbox ------------------------------------------------------------------------------------


@event("agent.sandbox.starting")
class SandboxStarting(Event):
    """A sandbox is being started on this backend."""

    backend: str


@event("agent.sandbox.started")
class SandboxStarted(Event):
    """The sandbox is ready. ``boot_id`` names this life of its runner."""

    backend: str
    boot_id: str
    seconds: float = 0.0


@event("agent.sandbox.paused")
class SandboxPaused(Event):
    """Nobody has used it for a while: its processes stand still, and go on with the next message."""


@event("agent.sandbox.resumed")
class SandboxResumed(Event):
    """A paused sandbox goes on where it stood; ``boot_id`` is that of before."""

    boot_id: str
    seconds: float = 0.0


@event("agent.sandbox.lost")
class SandboxLost(Event):
    """The sandbox is gone although nobody removed it; ``cause`` as far as it is known, in words.

    ``end``: the same for programs, one of out_of_memory, disk_full, killed, exited, retired,
    removed, silent.
    ``exit_code``: of its main program.
    """

    cause: str
    end: str = ""
    exit_code: int | None = None


@event("agent.sandbox.removed")
class SandboxRemoved(Event):
    """The sandbox has been removed; its workspace is kept if ``kept``."""

    kept: bool = True


@event("agent.event.unknown")
class UnknownEvent(Event):
    """A row of a type this version does not know, kept whole."""

    original_type: str
    payload_as_read: dict[str, Any]
