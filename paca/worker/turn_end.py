"""How a turn ends: in one transaction that looks into the inbox once more."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import transaction

from paca import events
from paca.conversations import store
from paca.conversations.models import ControlCommand, Conversation, Trigger, TriggerState
from paca.conversations.store import Lease
from paca.engine.ports import LogEntry
from paca.engine.run import TurnOutcome
from paca.events import Event
from paca.worker.claim import start_turn

ANSWERS_FOLLOW = {
    ("finished", "answered"),
    ("stopped", "interrupted"),
    ("paused", "step_limit"),
    ("paused", "stuck"),
}


@transaction.atomic
def end_turn(
    lease: Lease, noted: Sequence[LogEntry], outcome: TurnOutcome, *, steps: int, by: str = ""
) -> bool:
    """End the running turn; True if something was written meanwhile and the next has begun.

    The row is locked by the first write, so a message is either seen here, or finds the
    conversation ended and queues it again: none falls in between.
    """
    number = _turn_number(lease)
    finished = events.TurnFinished(
        number=number, status=outcome.status, reason=outcome.reason, steps=steps
    )
    interrupted = [events.ConversationInterrupted(by=by)] if _interrupted(outcome) else []
    store.append(lease.conversation_id, *noted, *interrupted, finished, lease=lease)
    orders = Trigger.objects.filter(conversation=lease.conversation_id, state=TriggerState.NEW)
    stop = orders.filter(control=ControlCommand.STOP).first()
    pause = orders.filter(control=ControlCommand.PAUSE).first()
    orders.filter(control__in=(ControlCommand.STOP, ControlCommand.PAUSE)).update(
        state=TriggerState.DONE
    )
    follows = (outcome.status, outcome.reason) in ANSWERS_FOLLOW and stop is None
    if follows and pause is not None and orders.exists():
        outcome, by = TurnOutcome("paused", "by_person"), pause.by  # what was written waits
    # guard: worker-inbox-at-turn-end
    elif follows and orders.exists():
        store.append(
            lease.conversation_id, start_turn(lease.conversation_id, number + 1), lease=lease
        )
        return True
    if outcome.status == "stopped" or stop is not None:
        orders.update(state=TriggerState.DONE)
    if stop is not None and _interrupted(outcome):  # the turn was interrupted, then all was stopped
        outcome, by = TurnOutcome("stopped", stop.kind), stop.by
    store.append(lease.conversation_id, _ending(outcome, by), lease=lease)
    return False


def _turn_number(lease: Lease) -> int:
    return Conversation.objects.values_list("turn_number", flat=True).get(pk=lease.conversation_id)


def _interrupted(outcome: TurnOutcome) -> bool:
    return (outcome.status, outcome.reason) == ("stopped", "interrupted")


def _ending(outcome: TurnOutcome, by: str) -> Event:
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
