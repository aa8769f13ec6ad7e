"""The statuses of conversations, triggers, turns, calls and sandboxes, and the moves of each."""

from collections.abc import Mapping
from typing import TypeVar

from django.db import models

from paca.common.errors import Conflict


class IllegalStatusMove(Conflict):
    """The conversation, trigger, turn, call or sandbox cannot go from its present status to this one."""

    code = "illegal_move"


class ConversationStatus(models.TextChoices):
    """The status of a conversation. A trigger of the database refuses a move that is not allowed."""

    QUEUED = "queued"
    RUNNING = "running"
    WAITING = "waiting"
    PAUSED = "paused"
    FINISHED = "finished"
    FAILED = "failed"
    STOPPED = "stopped"


CONVERSATION_MOVES: dict[ConversationStatus, tuple[ConversationStatus, ...]] = {
    ConversationStatus.QUEUED: (
        ConversationStatus.RUNNING,
        ConversationStatus.STOPPED,
        ConversationStatus.FAILED,
    ),
    ConversationStatus.RUNNING: (
        ConversationStatus.WAITING,
        ConversationStatus.PAUSED,
        ConversationStatus.FINISHED,
        ConversationStatus.FAILED,
        ConversationStatus.STOPPED,
    ),
    ConversationStatus.WAITING: (
        ConversationStatus.RUNNING,
        ConversationStatus.PAUSED,
        ConversationStatus.STOPPED,
        ConversationStatus.FAILED,
    ),
    ConversationStatus.PAUSED: (ConversationStatus.QUEUED, ConversationStatus.STOPPED),
    ConversationStatus.FINISHED: (ConversationStatus.QUEUED,),
    ConversationStatus.FAILED: (ConversationStatus.QUEUED,),
    ConversationStatus.STOPPED: (ConversationStatus.QUEUED,),
}

# A turn of the conversation has started and has not ended.
ACTIVE_STATUSES = (ConversationStatus.RUNNING, ConversationStatus.WAITING)
# The reasons of a waiting conversation that goes on when a person has decided. It has no worker meanwhile.
WAITS_FOR_PEOPLE = ("approval", "question")
# It has no worker meanwhile either: one that goes on when the conversations of its helpers have ended.
WAITS_FOR_HELPERS = "helpers"
WAITS_WITHOUT_WORKER = (*WAITS_FOR_PEOPLE, WAITS_FOR_HELPERS)
ENDED_STATUSES = (
    ConversationStatus.FINISHED,
    ConversationStatus.FAILED,
    ConversationStatus.STOPPED,
)


UNFINISHED_STATUSES = tuple(status for status in ConversationStatus if status not in ENDED_STATUSES)


class WaitsFor(models.TextChoices):
    """Why a queued conversation has not begun: a person has to start it, its agent is paused, inactive or full, all
    workers are too old for it, or no worker is free."""

    WORKER = "worker"
    START = "start"
    AGENT_PAUSED = "agent_paused"
    AGENT_INACTIVE = "agent_inactive"
    AGENT_BUSY = "agent_busy"
    NEWER_WORKER = "newer_worker"


class StopReason(models.TextChoices):
    """The reason of a stopped conversation. Programs see it as ``reason``."""

    BY_PERSON = "by_person"
    AGENT_REMOVED = "agent_removed"
    PROJECT_DELETED = "project_deleted"
    TASK_DELETED = "task_deleted"
    DOC_DELETED = "doc_deleted"
    UNASSIGNED = "unassigned"
    AGENT_INACTIVE = "agent_inactive"
    SHUTDOWN = "shutdown"


class TriggerState(models.TextChoices):
    """new: waits. withdrawn: its author took it back. claimed: a turn answers it. done: answered, or ended
    by a command. dead: given up, see ``last_error``.
    """

    NEW = "new"
    WITHDRAWN = "withdrawn"
    CLAIMED = "claimed"
    DONE = "done"
    DEAD = "dead"


TRIGGER_MOVES: dict[TriggerState, tuple[TriggerState, ...]] = {
    # Done at once: a control command that a turn has obeyed, and all that a stop discards.
    TriggerState.NEW: (TriggerState.CLAIMED, TriggerState.DONE, TriggerState.WITHDRAWN),
    TriggerState.WITHDRAWN: (),
    # New again: an older command ends the turn, and the next turn answers the message.
    TriggerState.CLAIMED: (TriggerState.DONE, TriggerState.DEAD, TriggerState.NEW),
}


class TurnStatus(models.TextChoices):
    """The status of a turn. The end of a turn is final: what follows is another turn."""

    RUNNING = "running"
    FINISHED = "finished"
    PAUSED = "paused"
    FAILED = "failed"
    STOPPED = "stopped"


TURN_MOVES: dict[TurnStatus, tuple[TurnStatus, ...]] = {
    TurnStatus.RUNNING: (
        TurnStatus.FINISHED,
        TurnStatus.PAUSED,
        TurnStatus.FAILED,
        TurnStatus.STOPPED,
    ),
}


class ModelCallStatus(models.TextChoices):
    """The status of a model call. Abandoned: its worker was lost, so its outcome is not known."""

    STARTED = "started"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"
    ABANDONED = "abandoned"


MODEL_CALL_MOVES: dict[ModelCallStatus, tuple[ModelCallStatus, ...]] = {
    ModelCallStatus.STARTED: (
        ModelCallStatus.DONE,
        ModelCallStatus.FAILED,
        ModelCallStatus.CANCELLED,
        ModelCallStatus.ABANDONED,
    ),
}


class ToolCallState(models.TextChoices):
    """The state of a tool call. Called: stored, but not started. Unknown: its outcome was lost."""

    CALLED = "called"
    STARTED = "started"
    DONE = "done"
    FAILED = "failed"
    UNKNOWN = "unknown"


TOOL_CALL_MOVES: dict[ToolCallState, tuple[ToolCallState, ...]] = {
    ToolCallState.CALLED: (
        ToolCallState.STARTED,
        ToolCallState.DONE,
        ToolCallState.FAILED,
        ToolCallState.UNKNOWN,
    ),
    # A call that may run twice is started again in another sandbox if the first one is lost.
    ToolCallState.STARTED: (
        ToolCallState.STARTED,
        ToolCallState.DONE,
        ToolCallState.FAILED,
        ToolCallState.UNKNOWN,
    ),
}


class RequestState(models.TextChoices):
    """open: waits for a person. denied: also a plan that was rejected. expired: nobody decided in time.
    superseded: a message, a stop or the end of plan mode came first.
    """

    OPEN = "open"
    APPROVED = "approved"
    DENIED = "denied"
    ANSWERED = "answered"
    EXPIRED = "expired"
    SUPERSEDED = "superseded"


REQUEST_MOVES: dict[RequestState, tuple[RequestState, ...]] = {
    RequestState.OPEN: (
        RequestState.APPROVED,
        RequestState.DENIED,
        RequestState.ANSWERED,
        RequestState.EXPIRED,
        RequestState.SUPERSEDED,
    ),
}


class SandboxState(models.TextChoices):
    """The state of a sandbox. Its files exist in each state but ``ABSENT``."""

    # There is no row: the sandbox is not made yet, or its files are deleted.
    ABSENT = "absent"
    # It waits in the warm pool: a row of ``ReadySandbox``, without a conversation.
    READY = "ready"
    RUNNING = "running"
    PAUSED = "paused"
    ENDED = "ended"
    # A person has asked for its files to be deleted: at the next sweep, or before the next turn.
    # The value is an older word, which workers of an earlier version still read during an update.
    FILES_TO_DELETE = "freeing"


# The states that a row of ``Sandbox`` can have.
STORED_SANDBOX_STATES = (
    SandboxState.RUNNING,
    SandboxState.PAUSED,
    SandboxState.ENDED,
    SandboxState.FILES_TO_DELETE,
)
# The runner of the sandbox lives.
LIVING_SANDBOX_STATES = (SandboxState.RUNNING, SandboxState.PAUSED)

SANDBOX_MOVES: dict[SandboxState, tuple[SandboxState, ...]] = {
    # Removed once more: a run that was cancelled while it removed the files does so again.
    SandboxState.ABSENT: (SandboxState.ABSENT, SandboxState.READY, SandboxState.RUNNING),
    # A conversation gets its volume: the sandbox counts as ended until it is opened.
    SandboxState.READY: (SandboxState.ENDED, SandboxState.ABSENT),
    # Running once more: it was paused, and resumed before the pause was recorded.
    SandboxState.RUNNING: (
        SandboxState.RUNNING,
        SandboxState.PAUSED,
        SandboxState.ENDED,
        SandboxState.FILES_TO_DELETE,
        SandboxState.ABSENT,
    ),
    SandboxState.PAUSED: (
        SandboxState.RUNNING,
        SandboxState.ENDED,
        SandboxState.FILES_TO_DELETE,
        SandboxState.ABSENT,
    ),
    SandboxState.ENDED: (SandboxState.RUNNING, SandboxState.FILES_TO_DELETE, SandboxState.ABSENT),
    # Asked for once more, by another person.
    SandboxState.FILES_TO_DELETE: (SandboxState.FILES_TO_DELETE, SandboxState.ABSENT),
}

S = TypeVar("S", bound=models.TextChoices)


def statuses_before(status: S, moves: Mapping[S, tuple[S, ...]]) -> tuple[S, ...]:
    """The statuses from which ``moves`` allow to go to ``status``.

    Raises ``IllegalStatusMove`` if there are none: rows only begin with this status.
    """
    found = tuple(old for old, allowed in moves.items() if status in allowed)
    if not found:
        raise IllegalStatusMove(f"Nothing can go to {status.value}.")
    return found
