"""Claims of conversations: compare-and-swap on the row, so that one worker at a time runs each."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import UUID

from django.core.exceptions import ObjectDoesNotExist
from django.db import DatabaseError, DataError, IntegrityError, transaction
from django.db.models import F
from django.db.models.functions import Now

from paca import events
from paca.agents.models import Agent
from paca.common.best_effort import tolerated
from paca.common.errors import PacaError
from paca.common.prepared_queries import Select
from paca.conversations import store
from paca.conversations.models import (
    ControlCommand,
    Conversation,
    ConversationStatus,
    Event,
    ModelCall,
    ModelCallStatus,
    PersonRequest,
    RequestKind,
    Trigger,
    TriggerState,
    TriggerType,
    Turn,
    TurnStatus,
)
from paca.conversations.models.statuses import (
    MODEL_CALL_MOVES,
    WAITS_FOR_HELPERS,
    statuses_before,
)
from paca.conversations.models.worker_versions import WORKER_VERSION
from paca.conversations.services import helpers, stop_agent_conversations
from paca.conversations.services.inbox import queue_for_waiting_messages
from paca.conversations.store import Lease
from paca.engine import after_turn
from paca.engine.turn import TurnOutcome
from paca.worker import assembly, claim_queries, turn_totals
from paca.worker.claim_queries import WAITS_FOR_WORKER, ClaimCandidate
from paca.worker.run_log import CachedHistory, HistoryCache
from paca.worker.turn_end import (
    end_stopped_messages,
    give_back,
    publish,
    start_turn,
    take_commands,
    waiting_messages,
)

logger = logging.getLogger(__name__)

RELEASED = events.SubagentsReleased.type
ENDS_OF_WAITS = (
    events.ApprovalGiven.type,
    events.ApprovalExpired.type,
    events.ApprovalSuperseded.type,
    events.QuestionAnswered.type,
    events.PlanDecided.type,
    RELEASED,
)
MAX_LOST_WORKERS = 3
FAILED_STEP_PAUSE_SECONDS = 1.0
PARKED_DETAIL = (
    f"The worker was lost in this step, or the step failed on this server, {MAX_LOST_WORKERS} times in a row. "
    "Everything up to here is kept."
)


@dataclass(frozen=True, slots=True)
class Claimed:
    """A conversation that this worker has claimed, its rows after the claim, and the start of its turn.

    Every message up to the event ``claimed_seq`` has a turn. ``turn`` is what the turn needs; None if it is
    still to be read. ``taken_over``: the turn had begun before.
    """

    lease: Lease
    rows: assembly.ConversationRows
    turn_started_at: datetime
    claimed_seq: int = 0
    turn: assembly.AssembledTurn | None = None
    taken_over: bool = False


def claim_with_turns(
    owner: str, *, lease_seconds: float, limit: int, histories: HistoryCache
) -> list[Claimed]:
    """Claim like ``claim``, and read what the turns need with the same visit of a database thread."""
    claimed = claim(owner, lease_seconds=lease_seconds, limit=limit)
    return [_with_turn(one, histories.pop(one.lease.conversation_id)) for one in claimed]


def _with_turn(claimed: Claimed, cached: CachedHistory) -> Claimed:
    """The claim with its turn. If that cannot be read, the run tries it again and reports the error."""
    with tolerated("reading of a turn at its claim"):
        turn = assembly.assemble_turn(claimed.rows, claimed.turn_started_at, cached)
        return replace(claimed, turn=turn)
    return claimed


def claim(
    owner: str, *, lease_seconds: float, limit: int, version: int = WORKER_VERSION
) -> list[Claimed]:
    """Claim up to ``limit`` conversations that wait for a worker of this version, in the order of ``claimable``.

    A conversation whose rows do not allow the claim is logged and skipped. Raises ``DatabaseError`` if the
    database fails before the first claim; if it fails later, gives those that are claimed already.
    """
    claimed: list[Claimed] = []
    for candidate in claim_queries.candidates(version):
        if len(claimed) == limit:
            break
        try:
            one = _claim_one(candidate, owner, lease_seconds, version)
        except (PacaError, IntegrityError, DataError, ObjectDoesNotExist):
            logger.exception("conversation not claimed", extra={"conversation": str(candidate.id)})
            continue
        except DatabaseError:
            if not claimed:
                raise
            logger.exception("claiming stopped early")
            break
        if one is not None:
            claimed.append(one)
    return claimed


@transaction.atomic
def _claim_one(
    candidate: ClaimCandidate, owner: str, lease_seconds: float, version: int
) -> Claimed | None:
    queued = candidate.status == ConversationStatus.QUEUED
    # A worker that releases its claim clears the owner: it has not died of this step.
    lost_workers = 0 if queued else candidate.lost_workers + bool(candidate.lease_owner)
    is_helper = candidate.trigger_type == TriggerType.HELPER
    if queued and not _agent_has_capacity(candidate.agent_id, is_helper=is_helper):
        return None
    decided = not queued and candidate.activity == WAITS_FOR_WORKER and not candidate.lease_owner
    # guard: decided-work-waits-for-a-place
    if decided and not _has_place_again(candidate):
        return None
    won = claim_queries.CLAIM.run(
        version=version,
        id=candidate.id,
        epoch=candidate.lease_epoch,
        status=candidate.status,
        owner=owner,
        length=timedelta(seconds=lease_seconds),
        lost_workers=lost_workers,
    )
    rows = assembly.read_rows(candidate.id) if won else None
    if rows is None:
        return None
    lease = Lease(candidate.id, owner, candidate.lease_epoch + 1)
    if queued:
        return _begin_turn(rows, lease)
    # guard: worker-parks-deadly-step
    if lost_workers >= MAX_LOST_WORKERS:
        _park(rows.conversation, lease)
        return None
    # guard: worker-goes-on-after-a-decision
    goes_on = candidate.activity == WAITS_FOR_WORKER
    return _take_over(rows, lease, waited_for=_waited_for(lease) if goes_on else "")


def _waited_for(lease: Lease) -> str:
    """What the turn has waited for: helpers, question, or approval, which a plan waits for too."""
    newest = Event.objects.filter(conversation=lease.conversation_id, type__in=ENDS_OF_WAITS)
    if newest.order_by("-seq").values_list("type", flat=True).first() == RELEASED:
        return WAITS_FOR_HELPERS
    ended = PersonRequest.objects.filter(conversation=lease.conversation_id)
    kind = ended.order_by("-decided_at").values_list("kind", flat=True).first()
    return "question" if kind == RequestKind.QUESTION else "approval"


def _has_place_again(candidate: ClaimCandidate) -> bool:
    """Whether the agent has room for a conversation that has left its place while it waited for a person.

    It comes before queued ones, which count it. One that was stopped meanwhile only has to end.
    """
    stop = Trigger.objects.filter(
        conversation=candidate.id, state=TriggerState.NEW, control=ControlCommand.STOP
    )
    return stop.exists() or _agent_has_capacity(candidate.agent_id, claim_queries.AT_WORK_COUNT)


def _agent_has_capacity(
    agent_id: UUID, count: Select = claim_queries.RUNNING_COUNT, *, is_helper: bool = False
) -> bool:
    """Whether the agent may run one more conversation than ``count``. The lock on its row orders the claims."""
    [(deleted_at, limit, status)] = claim_queries.AGENT_LOCK.rows(id=agent_id)
    if deleted_at is not None:
        # A message came at the moment of its deletion, whose transaction did not see it.
        stop_agent_conversations(agent_id, by="")
        return False
    # Its status has changed since the candidates were read.
    # guard: agent-that-is-not-active-begins-nothing
    if count is claim_queries.RUNNING_COUNT and not is_helper and status != Agent.Status.ACTIVE:
        return False
    # Counted after the lock is taken, so that claims made meanwhile count.
    running = sum(int(n) for (n,) in count.rows(agent=agent_id))
    return running < int(limit)


def _begin_turn(rows: assembly.ConversationRows, lease: Lease) -> Claimed:
    conversation, number = rows.conversation, rows.conversation.turn_number + 1
    appended = store.append(
        conversation.pk,
        events.ConversationStarted(model=rows.agent.model, demo=rows.agent.is_demo),
        start_turn(conversation.pk, number),
        lease=lease,
    )
    conversation.turn_number, conversation.next_seq = number, appended.last_seq + 1
    return Claimed(lease, rows, appended.at, claimed_seq=appended.last_seq)


def _park(conversation: Conversation, lease: Lease) -> None:
    """Pause a conversation whose step kills its workers, until a person tries it again."""
    _mark_model_calls_abandoned(lease)
    number = conversation.turn_number
    commands = take_commands(lease.conversation_id)
    if commands.stop is not None:
        give_back(lease.conversation_id, number, after=commands.stop.event_seq)
    Trigger.objects.filter(conversation=lease.conversation_id, turn=number).move(
        TriggerState.DEAD, last_error=PARKED_DETAIL
    )
    turn = Turn.objects.filter(conversation=lease.conversation_id, number=number)
    totals = turn_totals.measure(lease.conversation_id, number)
    finished = events.TurnFinished(
        number=number, status=TurnStatus.PAUSED.value, reason="parked", **totals
    )
    turn_has_ended = turn.exclude(status=TurnStatus.RUNNING).exists()
    store.append(lease.conversation_id, *([] if turn_has_ended else [finished]), lease=lease)
    end_stopped_messages(lease.conversation_id, commands)
    last: events.Event = events.ConversationPaused(reason="parked", detail=PARKED_DETAIL)
    if commands.stop is not None:
        last = events.ConversationStopped(reason=commands.stop.kind, by=commands.stop.by)
    if not turn_has_ended:
        status = "paused" if commands.stop is None else "stopped"
        publish(lease.conversation_id, number, TurnOutcome(status, "parked"), goes_on=False)
    store.append(lease.conversation_id, last, lease=lease)
    if conversation.parent_id is not None:
        helpers.settle_soon(conversation.parent_id)
    # A message after a stop is a new request. One before the pause waits until a person tries again.
    # guard: worker-parked-stop-leaves-newer-messages
    if commands.stop is not None and waiting_messages(lease.conversation_id).exists():
        queue_for_waiting_messages(lease.conversation_id)


def _mark_model_calls_abandoned(lease: Lease) -> None:
    """Of the claim before this one. A call that follows a turn has no claim, and may be running."""
    ModelCall.objects.filter(
        conversation=lease.conversation_id,
        status__in=statuses_before(ModelCallStatus.ABANDONED, MODEL_CALL_MOVES),
    ).exclude(purpose__in=after_turn.PURPOSES).update(
        status=ModelCallStatus.ABANDONED, finished_at=Now()
    )


def _take_over(rows: assembly.ConversationRows, lease: Lease, *, waited_for: str = "") -> Claimed:
    """Carry on a turn of a worker that is gone, or that ``waited_for`` a person.

    An open model call will never be answered.
    """
    _mark_model_calls_abandoned(lease)
    conversation = rows.conversation
    event = (
        events.ConversationResumed(waited_for=waited_for)
        if waited_for
        else events.ConversationResumed(worker=lease.owner)
    )
    conversation.next_seq = store.append(conversation.pk, event, lease=lease).last_seq + 1
    return Claimed(lease, rows, assembly.turn_start(conversation), taken_over=True)


def release(lease: Lease, *, step_failed: bool = False, pause_seconds: float = 0) -> None:
    """Give up the claim of a conversation whose turn is not over. Any worker may claim it after the pause.

    ``step_failed``: the step came to nothing and may do so again. It counts like a lost worker, and
    the next claim waits for a second.
    """
    seconds = FAILED_STEP_PAUSE_SECONDS if step_failed else pause_seconds
    pause = Now() + timedelta(seconds=seconds) if seconds else None
    Conversation.objects.filter(
        pk=lease.conversation_id, lease_owner=lease.owner, lease_epoch=lease.epoch
    ).update(lease_owner="", lease_until=pause, lost_workers=F("lost_workers") + int(step_failed))
