"""The transaction that ends a turn. It reads the inbox once more."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import transaction

from paca import events
from paca.conversations import store
from paca.conversations.models import ControlCommand, Conversation, Trigger, TriggerState
from paca.conversations.store import Lease
from paca.engine.turn import LogEntry, TurnOutcome
from paca.events import Event
from paca.worker import turn_totals
from paca.worker.claim import start_turn

NEXT_TURN_MAY_FOLLOW = {
    ("finished", "answered"),
    ("stopped", "interrupted"),
    ("paused", "step_limit"),
    ("paused", "stuck"),
}


@transaction.atomic
def end_turn(
    lease: Lease, pending: Sequence[LogEntry], outcome: TurnOutcome, *, steps: int, by: str = ""
) -> bool:
    """End the running turn; True if the inbox had new messages and the next turn has started.

    ``pending`` are the entries that the run has not committed yet. The first write locks the
    conversation's row, so no message is missed: it is either read here, or its sender finds the
    conversation ended and queues it again. Raises ``Fenced`` or ``IllegalStatusMove``.
    """
    number = _turn_number(lease)
    finished = events.TurnFinished(
        number=number,
        status=outcome.status,
        reason=outcome.reason,
        steps=steps,
        **turn_totals.measure(lease.conversation_id, number, pending),
    )
    interrupted = [events.ConversationInterrupted(by=by)] if _is_interrupted(outcome) else []
    store.append(lease.conversation_id, *pending, *interrupted, finished, lease=lease)
    inbox = Trigger.objects.filter(conversation=lease.conversation_id, state=TriggerState.NEW)
    stop = inbox.filter(control=ControlCommand.STOP).first()
    pause = inbox.filter(control=ControlCommand.PAUSE).first()
    inbox.filter(control__in=(ControlCommand.STOP, ControlCommand.PAUSE)).move(TriggerState.DONE)
    follows = (outcome.status, outcome.reason) in NEXT_TURN_MAY_FOLLOW and stop is None
    if follows and pause is not None and inbox.exists():
        outcome, by = TurnOutcome("paused", "by_person"), pause.by  # the new messages wait
    # guard: worker-inbox-at-turn-end
    elif follows and inbox.exists():
        store.append(
            lease.conversation_id, start_turn(lease.conversation_id, number + 1), lease=lease
        )
        return True
    if outcome.status == "stopped" or stop is not None:
        inbox.move(TriggerState.DONE)
    if stop is not None and _is_interrupted(outcome):  # a stop came after the interrupt
        outcome, by = TurnOutcome("stopped", stop.kind), stop.by
    store.append(lease.conversation_id, _final_event(outcome, by), lease=lease)
    return False


def _turn_number(lease: Lease) -> int:
    return Conversation.objects.values_list("turn_number", flat=True).get(pk=lease.conversation_id)


def _is_interrupted(outcome: TurnOutcome) -> bool:
    return (outcome.status, outcome.reason) == ("stopped", "interrupted")


def _final_event(outcome: TurnOutcome, by: str) -> Event:
    match outcome.status:
        case "finished":
            return events.ConversationFinished(reason=outcome.reason)
        case "paused":
            return events.ConversationPaused(reason=outcome.reason, by=by, detail=outcome.detail)
        case "stopped":
            return events.ConversationStopped(reason=outcome.reason, by=by)
    return events.ConversationFailed(
        code=outcome.reason, message=outcome.detail, next_step=outcome.next_step
    )
