"""The transaction that ends a turn. It reads the inbox once more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db import transaction

from paca import events
from paca.agents.models import AgentStatus
from paca.conversations import store
from paca.conversations.models import (
    ControlCommand,
    Conversation,
    Trigger,
    TriggerState,
    TriggerType,
)
from paca.conversations.models.inbox import TriggerQuerySet
from paca.conversations.services import agent_pauses, answers, background, helpers, pauses
from paca.conversations.services.inbox import REVIEW, queue_for_waiting_messages
from paca.conversations.services.teams import settling
from paca.conversations.store import Lease
from paca.engine.turn import LogEntry, TurnOutcome
from paca.events import Event
from paca.worker import budget_pauses, turn_totals

# After these the next turn starts at once. After others people first see why the turn ended.
NEXT_TURN_FOLLOWS_AT_ONCE = {("finished", "answered"), ("stopped", "interrupted")}
BY_PERSON = ("paused", "by_person")


@dataclass(frozen=True, slots=True)
class EndingCommands:
    """The newest stop in the inbox of a turn that ends, and the newest pause that no stop follows, if there are any."""

    stop: Trigger | None
    pause: Trigger | None


@transaction.atomic
def end_turn(
    lease: Lease,
    pending: Sequence[LogEntry],
    outcome: TurnOutcome,
    *,
    steps: int,
    by: str = "",
    command_seq: int | None = None,
) -> bool:
    """End the running turn; True if the inbox had new messages and the next turn has started.

    ``pending`` are the entries that the run has not committed yet. ``command_seq`` is the last event
    before the command that ended the turn: messages after it are for the next turn. The first write
    locks the conversation's row, so no message is missed: it is either read here, or its sender finds
    the conversation ended and queues it again. Raises ``Fenced`` or ``IllegalStatusMove``.
    """
    conversation_id = lease.conversation_id
    store.append(conversation_id, *pending, lease=lease)
    number, task_id, doc_id, parent_id = Conversation.objects.values_list(
        "turn_number", "task_id", "doc_id", "parent_id"
    ).get(pk=conversation_id)
    if parent_id is not None:
        helpers.settle_soon(parent_id)
        settling.settle_soon(parent_id)
    commands = take_commands(conversation_id)
    if command_seq is None and outcome.status == "paused":
        command_seq = _end_of_paused_messages(outcome, commands)
    if command_seq is not None:
        give_back(conversation_id, number, after=command_seq)
    interrupted = [events.ConversationInterrupted(by=by)] if _is_interrupted(outcome) else []
    finished = events.TurnFinished(
        number=number,
        status=outcome.status,
        reason=outcome.reason,
        steps=steps,
        **turn_totals.measure(conversation_id, number),
    )
    store.append(conversation_id, *interrupted, finished, lease=lease)
    ended = end_stopped_messages(conversation_id, commands)
    if commands.stop is not None and (ended or _is_ended_by_a_late_stop(outcome)):
        outcome, by = TurnOutcome("stopped", commands.stop.kind), commands.stop.by
    if task_id is not None or doc_id is not None:
        waiting = waiting_messages(conversation_id)
        are_held = any(_are_held(waiting, each) for each in (commands.pause, commands.stop))
        goes_on = waiting.exists() and not are_held
        publish(conversation_id, number, outcome, goes_on=goes_on)
    goes_on = _finish(lease, outcome, commands, next_turn=number + 1, by=by)
    if commands.pause is not None and parent_id is None:
        lead = Conversation.objects.select_related("agent").get(pk=conversation_id)
        pauses.follow_lead(lead, commands.pause)
    return goes_on


def publish(conversation_id: UUID, turn: int, outcome: TurnOutcome, *, goes_on: bool) -> None:
    """Tell the task or doc of the conversation how its turn has ended, in the transaction that ends it.

    ``goes_on``: the next turn follows for messages that wait.
    """
    answers.publish(
        conversation_id, turn, status=outcome.status, reason=outcome.reason, goes_on=goes_on
    )


def _finish(
    lease: Lease, outcome: TurnOutcome, commands: EndingCommands, *, next_turn: int, by: str
) -> bool:
    """Start the next turn for messages that wait, or give the conversation its last status."""
    outcome = budget_pauses.name_people(lease.conversation_id, outcome)
    waiting = waiting_messages(lease.conversation_id)
    if waiting.exists() and _are_held(waiting, commands.pause):
        if outcome.status != "failed":
            assert commands.pause is not None
            outcome, by = TurnOutcome(*BY_PERSON), commands.pause.by
    # guard: worker-inbox-at-turn-end
    elif waiting.exists():
        if outcome.status == "finished" and _are_held(waiting, commands.stop):
            assert commands.stop is not None
            outcome, by = TurnOutcome("stopped", commands.stop.kind), commands.stop.by
        follows = (outcome.status, outcome.reason) in NEXT_TURN_FOLLOWS_AT_ONCE
        # guard: no-turn-follows-if-the-agent-is-not-active
        if follows and _agent_is_active(lease.conversation_id):
            started = start_turn(lease.conversation_id, next_turn)
            store.append(lease.conversation_id, started, lease=lease)
            return True
        store.append(lease.conversation_id, _final_event(outcome, by), lease=lease)
        queue_for_waiting_messages(lease.conversation_id)
        return False
    store.append(lease.conversation_id, _final_event(outcome, by), lease=lease)
    # guard: pause-that-was-taken-back-is-none
    if (outcome.status, outcome.reason) == BY_PERSON:
        agent_pauses.go_on_after_turn(lease.conversation_id)
    return False


def _agent_is_active(conversation_id: UUID) -> bool:
    active = Conversation.objects.filter(agent__status=AgentStatus.ACTIVE)
    return active.filter(pk=conversation_id).exists()


def start_turn(conversation_id: UUID, number: int) -> events.TurnStarted:
    """Claim the new triggers for a turn, and return the event that starts it."""
    taken = store.claim_triggers(conversation_id, turn=number)
    return events.TurnStarted(number=number, triggers=taken)


# --- the inbox ----------------------------------------------------------------------------------


def _new(conversation_id: UUID) -> TriggerQuerySet:
    return Trigger.objects.filter(conversation=conversation_id, state=TriggerState.NEW)


def waiting_messages(conversation_id: UUID) -> TriggerQuerySet:
    """The messages and requests to continue that no turn has taken up."""
    return _new(conversation_id).filter(control__in=(ControlCommand.NONE, ControlCommand.INTERRUPT))


def take_commands(conversation_id: UUID) -> EndingCommands:
    """Take every stop and pause out of the inbox: none of them may reach a later turn."""
    commands = _new(conversation_id).filter(control__in=(ControlCommand.STOP, ControlCommand.PAUSE))
    newest: dict[str, Trigger] = {}
    for trigger in commands.order_by("event_seq", "created_at"):
        if trigger.control == ControlCommand.STOP:
            newest.pop(ControlCommand.PAUSE, None)
        newest[trigger.control] = trigger
    if newest:
        commands.move(TriggerState.DONE)
    if (stop := newest.get(ControlCommand.STOP)) is not None:
        # The turn may have started commands after the stop, and before its worker heard of it.
        # guard: late-stop-ends-background-work
        background.request_stop(conversation_id, by=stop.by)
    return EndingCommands(newest.get(ControlCommand.STOP), newest.get(ControlCommand.PAUSE))


def end_stopped_messages(conversation_id: UUID, commands: EndingCommands) -> int:
    """Mark the messages that waited when the stop came as done; gives their number."""
    if commands.stop is None:
        return 0
    stopped = waiting_messages(conversation_id)
    # guard: worker-stop-ends-older-messages-only
    stopped = stopped.filter(event_seq__lte=commands.stop.event_seq)
    return stopped.move(TriggerState.DONE)


def give_back(conversation_id: UUID, turn: int, *, after: int) -> None:
    """Let the next turn answer the messages that are newer than the command that ends this one."""
    claimed = Trigger.objects.filter(
        conversation=conversation_id, turn=turn, state=TriggerState.CLAIMED
    )
    # guard: worker-newer-messages-are-given-back
    claimed.filter(event_seq__gt=after).move(TriggerState.NEW, turn=None)


def _end_of_paused_messages(outcome: TurnOutcome, commands: EndingCommands) -> int | None:
    """The place of the command that ends a turn which did not come to its answer; None if there is none.

    The messages after it are for the next turn, also if the turn has taken them up meanwhile.
    """
    # guard: worker-late-stop-ends-older-messages-only
    if commands.stop is not None:
        return commands.stop.event_seq
    if (outcome.status, outcome.reason) == BY_PERSON and commands.pause is not None:
        return commands.pause.event_seq
    return None


def _are_held(waiting: TriggerQuerySet, command: Trigger | None) -> bool:
    """Whether no message that waits ends this pause or stop: each is older, a review from outside, or of the team."""
    # guard: review-leaves-no-pause
    leaving = waiting.exclude(kind=REVIEW)
    # guard: team-leaves-no-pause
    leaving = leaving.exclude(kind=TriggerType.TEAMMATE)
    return command is not None and not leaving.filter(event_seq__gt=command.event_seq).exists()


# --- outcomes -----------------------------------------------------------------------------------


def _is_interrupted(outcome: TurnOutcome) -> bool:
    return (outcome.status, outcome.reason) == ("stopped", "interrupted")


def _is_ended_by_a_late_stop(outcome: TurnOutcome) -> bool:
    """Whether a stop still changes this outcome: an answer stands, and so does an error."""
    return outcome.status == "paused" or _is_interrupted(outcome)


def _final_event(outcome: TurnOutcome, by: str) -> Event:
    match outcome.status:
        case "finished":
            return events.ConversationFinished(reason=outcome.reason)
        case "paused":
            return events.ConversationPaused(
                reason=outcome.reason,
                by=by,
                detail=outcome.detail,
                limit=outcome.limit,
                budget=outcome.budget,
                used=outcome.used,
                raised_by=list(outcome.raised_by),
            )
        case "stopped":
            return events.ConversationStopped(reason=outcome.reason, by=by)
    return events.ConversationFailed(
        code=outcome.reason, message=outcome.detail, next_step=outcome.next_step
    )
