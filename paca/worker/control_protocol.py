"""The control protocol: what stop, interrupt, pause and release do to a running conversation.

People send stop, interrupt and pause, as control commands in the inbox. The worker itself sends
release, when it drains or has lost the lease.
"""

from __future__ import annotations

import enum
from collections.abc import Collection
from dataclasses import dataclass
from uuid import UUID

from paca.conversations.models import ControlCommand, StopReason, Trigger, TriggerState
from paca.engine import call_cancellation
from paca.engine.turn import ActiveTurn, ToolServices


class Phase(enum.Enum):
    """What the run is doing when a request comes."""

    STARTING = "the rows and the log are read; the engine has not started"
    MODEL_CALL = "the engine runs and no tool call is open"
    TOOL_CALLS = "the engine runs and at least one tool call is open"
    ENDING = "the engine has ended; the transaction that ends the turn is next or under way"


class Action(enum.Enum):
    """What a request asks for."""

    PAUSE = "pause"
    INTERRUPT = "interrupt"
    STOP = "stop"
    RELEASE = "release"


class Effect(enum.Enum):
    """What the run does with a request."""

    SKIP_ENGINE = "the engine is not started: the turn ends at once"
    CANCEL_ENGINE = "model call and tool calls are cancelled, and the turn ends at once"
    PAUSE_AFTER_STEP = "the engine ends the turn before its next model call"
    LEAVE_IN_INBOX = "nothing: it is read again later, at the latest when the turn ends"
    SKIP_NEXT_TURN = "the turn ends as usual, and this worker does not run the next one"


EFFECTS: dict[tuple[Phase, Action], Effect] = {
    (Phase.STARTING, Action.PAUSE): Effect.LEAVE_IN_INBOX,
    (Phase.STARTING, Action.INTERRUPT): Effect.SKIP_ENGINE,
    (Phase.STARTING, Action.STOP): Effect.SKIP_ENGINE,
    (Phase.STARTING, Action.RELEASE): Effect.SKIP_ENGINE,
    (Phase.MODEL_CALL, Action.PAUSE): Effect.PAUSE_AFTER_STEP,
    (Phase.MODEL_CALL, Action.INTERRUPT): Effect.CANCEL_ENGINE,
    (Phase.MODEL_CALL, Action.STOP): Effect.CANCEL_ENGINE,
    (Phase.MODEL_CALL, Action.RELEASE): Effect.CANCEL_ENGINE,
    (Phase.TOOL_CALLS, Action.PAUSE): Effect.PAUSE_AFTER_STEP,
    (Phase.TOOL_CALLS, Action.INTERRUPT): Effect.CANCEL_ENGINE,
    (Phase.TOOL_CALLS, Action.STOP): Effect.CANCEL_ENGINE,
    (Phase.TOOL_CALLS, Action.RELEASE): Effect.CANCEL_ENGINE,
    (Phase.ENDING, Action.PAUSE): Effect.LEAVE_IN_INBOX,
    (Phase.ENDING, Action.INTERRUPT): Effect.LEAVE_IN_INBOX,
    (Phase.ENDING, Action.STOP): Effect.LEAVE_IN_INBOX,
    (Phase.ENDING, Action.RELEASE): Effect.SKIP_NEXT_TURN,
}

# The requests that replace one which ends the turn already. A release replaces all: the commands
# of people stay in the inbox, for the next worker. Of two stops the later one names who stopped it.
REPLACED_BY: dict[Action, frozenset[Action]] = {
    Action.INTERRUPT: frozenset({Action.STOP, Action.RELEASE}),
    Action.STOP: frozenset({Action.STOP, Action.RELEASE}),
    Action.RELEASE: frozenset(),
}


@dataclass(frozen=True, slots=True)
class ControlRequest:
    """A request to a running conversation. ``by`` and ``reason`` are stored if it stops the turn.

    ``trigger_id`` is that of the control command in the inbox; None for a release. ``seq`` is the last
    event before the command: what people write after it is not ended by it.
    """

    action: Action
    trigger_id: UUID | None = None
    by: str = ""
    reason: str = ""
    seq: int = 0


RELEASE = ControlRequest(Action.RELEASE)


def stronger(pending: ControlRequest | None, new: ControlRequest) -> ControlRequest:
    """The request that counts when a new one comes while another one is pending."""
    # guard: worker-stronger-request-wins
    if pending is None or new.action in REPLACED_BY[pending.action]:
        return new
    return pending


def pending_requests(conversations: Collection[UUID]) -> list[tuple[UUID, ControlRequest]]:
    """New control commands of these conversations, each with its conversation, the oldest first."""
    if not conversations:
        return []
    commands = (
        Trigger.objects.filter(conversation__in=conversations, state=TriggerState.NEW)
        .exclude(control=ControlCommand.NONE)
        .order_by("event_seq", "created_at")
    )
    return [(trigger.conversation_id, _request(trigger)) for trigger in commands]


def _request(trigger: Trigger) -> ControlRequest:
    known = trigger.kind in StopReason.values
    reason = trigger.kind if known else StopReason.BY_PERSON.value
    is_message = trigger.control == ControlCommand.INTERRUPT
    seq = trigger.event_seq - is_message
    return ControlRequest(Action(trigger.control), trigger.id, trigger.by, reason, seq)


async def cancel_open_calls(
    request: ControlRequest, active: ActiveTurn, services: ToolServices
) -> None:
    """Store the pending entries of the engine, then end each open tool call with a result.

    Raises the errors of ``EventLog.commit``.
    """
    await services.log.commit()
    verb = "Stopped" if request.action is Action.STOP else "Interrupted"
    why = f"{verb} by {request.by or 'a person'}."
    open_calls = services.log.history.open_calls()
    await call_cancellation.cancel(open_calls, active, services, why=why)
