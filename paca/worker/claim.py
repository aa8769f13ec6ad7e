"""Taking conversations: compare-and-swap on the row, so that one worker at a time runs each."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from django.db import DatabaseError, transaction
from django.db.models import (
    CharField,
    Count,
    DurationField,
    F,
    IntegerField,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    UUIDField,
)
from django.db.models.functions import Coalesce, Now

from paca import events
from paca.agents.models import Agent
from paca.common.prepared_queries import Parameter, Select, Update
from paca.conversations import store
from paca.conversations.models import (
    Conversation,
    ConversationStatus,
    ModelCall,
    ModelCallStatus,
    Trigger,
    TriggerState,
    TurnStatus,
)
from paca.conversations.models.statuses import ACTIVE_STATUSES
from paca.conversations.services import stop_agent_conversations
from paca.conversations.store import Lease
from paca.worker import assembly

logger = logging.getLogger(__name__)

MOST_CANDIDATES = 50
MOST_LOST = 3
IN_VAIN_SECONDS = 1.0
PARKED = (
    f"This step has cost its worker, or failed on this server, {MOST_LOST} times in a row. "
    "Everything up to here is kept."
)


@dataclass(frozen=True, slots=True)
class Claimed:
    """A conversation that is ours until the lease ends, as it is since then, and its turn's begin."""

    lease: Lease
    rows: assembly.Rows
    turn_began: datetime


def claim(owner: str, *, lease_seconds: float, room: int) -> list[Claimed]:
    """Take up to ``room`` conversations that wait for a worker, the longest waiting first."""
    taken: list[Claimed] = []
    for candidate in map(Candidate._make, _CANDIDATES.rows()):
        if len(taken) == room:
            break
        try:
            claimed = _take(candidate, owner, lease_seconds)
        except DatabaseError:
            if not taken:
                raise
            logger.exception("claiming stopped short of what there was room for")
            break
        if claimed is not None:
            taken.append(claimed)
    return taken


def claimable() -> QuerySet[Conversation]:
    """What a worker with room would take now, the longest waiting first.

    Agents that are paused let work queue; what they have begun is still carried on. Those that are
    full do as well: however much waits for one agent, it never hides the others'.
    """
    others = Conversation.objects.filter(agent=OuterRef("agent"), status__in=ACTIVE_STATUSES)
    busy = Subquery(others.order_by().values("agent").annotate(n=Count("pk")).values("n"))
    waits = Q(status=ConversationStatus.QUEUED, agent__limit_concurrent__gt=Coalesce(busy, 0)) & ~Q(
        agent__status=Agent.Status.PAUSED
    )
    found = Conversation.objects.claimable().filter(waits | Q(status__in=ACTIVE_STATUSES))
    return found.order_by("updated_at")


class Candidate(NamedTuple):
    """A conversation as it was when it waited for a worker."""

    id: UUID
    agent_id: UUID
    status: str
    lease_owner: str
    lease_epoch: int
    takeovers: int


_CANDIDATES = Select(lambda: claimable().values_list(*Candidate._fields)[:MOST_CANDIDATES])
_AGENT_LOCK = Select(
    lambda: (
        Agent.objects.filter(pk=Parameter("id", UUIDField()))
        .select_for_update(no_key=True)
        .values_list("deleted_at", "limit_concurrent")
    )
)
_AT_WORK = Select(
    lambda: (
        Conversation.objects.filter(
            agent=Parameter("agent", UUIDField()), status__in=ACTIVE_STATUSES
        )
        .order_by()
        .values("agent")
        .annotate(n=Count("pk"))
        .values_list("n")
    )
)
_TAKE = Update(
    lambda: Conversation.objects.claimable().filter(
        pk=Parameter("id", UUIDField()),
        lease_epoch=Parameter("epoch", IntegerField()),
        status=Parameter("status", CharField()),
    ),
    lease_owner=Parameter("owner", CharField()),
    lease_epoch=F("lease_epoch") + 1,
    lease_until=Now() + Parameter("length", DurationField()),
    takeovers=Parameter("takeovers", IntegerField()),
)


@transaction.atomic
def _take(candidate: Candidate, owner: str, lease_seconds: float) -> Claimed | None:
    queued = candidate.status == ConversationStatus.QUEUED
    # Who lets go of it in order leaves no name: a worker that ends has not died of it.
    lost = 0 if queued else candidate.takeovers + bool(candidate.lease_owner)
    if queued and not _may_begin(candidate.agent_id):
        return None
    won = _TAKE.run(
        id=candidate.id,
        epoch=candidate.lease_epoch,
        status=candidate.status,
        owner=owner,
        length=timedelta(seconds=lease_seconds),
        takeovers=lost,
    )
    rows = assembly.read(candidate.id) if won else None
    if rows is None:
        return None
    lease = Lease(candidate.id, owner, candidate.lease_epoch + 1)
    if queued:
        return _begin_turn(rows, lease)
    # guard: worker-parks-deadly-step
    if lost >= MOST_LOST:
        _park(rows.conversation, lease)
        return None
    return _take_over(rows, lease)


def _may_begin(agent_id: UUID) -> bool:
    """Whether the agent may work in one more conversation; its row's lock orders the claims."""
    [(deleted_at, most)] = _AGENT_LOCK.rows(id=agent_id)
    if deleted_at is not None:
        # It was written to at the moment of its removal, which did not see that yet.
        stop_agent_conversations(agent_id, by="")
        return False
    # Counted when the lock is ours: what was claimed while we waited for it counts.
    busy = sum(int(n) for (n,) in _AT_WORK.rows(agent=agent_id))
    return busy < int(most)


def _begin_turn(rows: assembly.Rows, lease: Lease) -> Claimed:
    conversation, number = rows.conversation, rows.conversation.turn_number + 1
    begun = store.append(
        conversation.pk,
        events.ConversationStarted(model=rows.agent.model, demo=rows.agent.is_demo),
        start_turn(conversation.pk, number),
        lease=lease,
    )
    conversation.turn_number, conversation.next_seq = number, begun.last_seq + 1
    return Claimed(lease, rows, begun.at)


def start_turn(conversation_id: UUID, number: int) -> events.TurnStarted:
    """Claim all that waits for an answer, for the turn that the returned event begins."""
    taken = store.claim_triggers(conversation_id, turn=number)
    return events.TurnStarted(number=number, triggers=taken)


def _park(conversation: Conversation, lease: Lease) -> None:
    """Whoever takes it dies of it: a person decides whether it is tried once more."""
    _abandon_model_calls(lease)
    Trigger.objects.filter(
        conversation=lease.conversation_id,
        turn=conversation.turn_number,
        state=TriggerState.CLAIMED,
    ).update(state=TriggerState.DEAD, last_error=PARKED)
    store.append(
        lease.conversation_id,
        events.TurnFinished(
            number=conversation.turn_number, status=TurnStatus.PAUSED.value, reason="parked"
        ),
        events.ConversationPaused(reason="parked", detail=PARKED),
        lease=lease,
    )


def _abandon_model_calls(lease: Lease) -> None:
    ModelCall.objects.filter(
        conversation=lease.conversation_id, status=ModelCallStatus.STARTED
    ).update(status=ModelCallStatus.ABANDONED, finished_at=Now())


def _take_over(rows: assembly.Rows, lease: Lease) -> Claimed:
    """Go on where a worker that is gone stopped; its open model call will never answer."""
    _abandon_model_calls(lease)
    conversation = rows.conversation
    resumed = store.append(
        conversation.pk, events.ConversationResumed(worker=lease.owner), lease=lease
    )
    conversation.next_seq = resumed.last_seq + 1
    return Claimed(lease, rows, assembly.began(conversation))


def release(lease: Lease, *, in_vain: bool = False, pause_seconds: float = 0) -> None:
    """Let go of a conversation whose turn is not over: any worker may take it over, after the pause.

    ``in_vain``: its step came to nothing, and may do so again. This counts like a lost worker, and
    the next one waits a moment.
    """
    seconds = IN_VAIN_SECONDS if in_vain else pause_seconds
    pause = Now() + timedelta(seconds=seconds) if seconds else None
    Conversation.objects.filter(
        pk=lease.conversation_id, lease_owner=lease.owner, lease_epoch=lease.epoch
    ).update(lease_owner="", lease_until=pause, takeovers=F("takeovers") + int(in_vain))
