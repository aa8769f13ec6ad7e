"""Taking conversations: compare-and-swap on the row, so that one worker at a time runs each."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from django.db import DatabaseError, transaction
from django.db.models import Count, F, OuterRef, Q, Subquery, Value
from django.db.models.functions import Coalesce, Now

from paca import events
from paca.agents.models import Agent
from paca.conversations import store
from paca.conversations.models import (
    Control,
    Conversation,
    ModelCall,
    Status,
    Trigger,
    TriggerState,
)
from paca.conversations.models.conversation import HELD
from paca.conversations.store import Lease

logger = logging.getLogger(__name__)

MOST_CANDIDATES = 50
MOST_TAKEOVERS = 5
PARKED = f"The worker was lost {MOST_TAKEOVERS} times in a row at this step. Everything up to here is kept."


@dataclass(frozen=True, slots=True)
class Claimed:
    """A conversation that is ours until the lease ends. ``taken_over``: its turn runs already."""

    lease: Lease
    taken_over: bool


def claim(owner: str, *, lease_seconds: float, room: int) -> list[Claimed]:
    """Take up to ``room`` conversations that wait for a worker, the longest waiting first."""
    taken: list[Claimed] = []
    for candidate in _candidates():
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


def _candidates() -> list[Conversation]:
    """Agents that are paused let work queue; what they have begun is still carried on.

    Those that are full do as well: however much waits for one agent, it never hides the others'.
    """
    others = Conversation.objects.filter(agent=OuterRef("agent"), status__in=HELD)
    busy = Subquery(others.order_by().values("agent").annotate(n=Count("pk")).values("n"))
    waits = Q(status=Status.QUEUED, agent__limit_concurrent__gt=Coalesce(busy, 0)) & ~Q(
        agent__status=Agent.Status.PAUSED
    )
    return list(
        Conversation.objects.claimable()
        .filter(waits | Q(status__in=HELD))
        .select_related("agent")
        .only("status", "lease_epoch", "turn_number", "takeovers", "agent__model")
        .order_by("updated_at")[:MOST_CANDIDATES]
    )


@transaction.atomic
def _take(candidate: Conversation, owner: str, lease_seconds: float) -> Claimed | None:
    queued = candidate.status == Status.QUEUED
    if queued and not _has_slot(candidate.agent):
        return None
    won = (
        Conversation.objects.claimable()
        .filter(pk=candidate.pk, lease_epoch=candidate.lease_epoch, status=candidate.status)
        .update(
            lease_owner=owner,
            lease_epoch=F("lease_epoch") + 1,
            lease_until=Now() + timedelta(seconds=lease_seconds),
            takeovers=Value(0) if queued else F("takeovers") + 1,
        )
    )
    if not won:
        return None
    lease = Lease(candidate.pk, owner, candidate.lease_epoch + 1)
    if queued:
        _begin_turn(candidate, lease)
    elif candidate.takeovers >= MOST_TAKEOVERS:
        _park(candidate, lease)
        return None
    else:
        _take_over(lease)
    return Claimed(lease, taken_over=not queued)


def _has_slot(agent: Agent) -> bool:
    """Whether the agent may work in one more conversation; its row's lock orders the claims."""
    limit = Agent.objects.select_for_update().values_list("limit_concurrent", flat=True)
    busy = Conversation.objects.filter(agent=agent, status__in=HELD).count()
    return busy < int(limit.get(pk=agent.pk))


def _begin_turn(conversation: Conversation, lease: Lease) -> None:
    agent = conversation.agent
    store.append(
        lease.conversation_id,
        events.ConversationStarted(model=agent.model, demo=agent.is_demo),
        start_turn(lease.conversation_id, conversation.turn_number + 1),
        lease=lease,
    )


def start_turn(conversation_id: UUID, number: int) -> events.TurnStarted:
    """Claim all that waits for an answer, for the turn that the returned event begins."""
    waiting = Trigger.objects.filter(conversation=conversation_id, state=TriggerState.NEW).filter(
        control__in=(Control.NONE, Control.INTERRUPT)
    )
    ids = [str(pk) for pk in waiting.order_by("created_at").values_list("pk", flat=True)]
    waiting.update(state=TriggerState.CLAIMED, turn=number, attempts=F("attempts") + 1)
    return events.TurnStarted(number=number, triggers=ids)


def _park(conversation: Conversation, lease: Lease) -> None:
    """Whoever takes it dies of it: a person decides whether it is tried once more."""
    _abandon_model_calls(lease)
    store.append(
        lease.conversation_id,
        events.TurnFinished(number=conversation.turn_number, status="paused", reason="parked"),
        events.ConversationPaused(reason="parked", detail=PARKED),
        lease=lease,
    )


def _abandon_model_calls(lease: Lease) -> None:
    ModelCall.objects.filter(conversation=lease.conversation_id, status="started").update(
        status="abandoned", finished_at=Now()
    )


def _take_over(lease: Lease) -> None:
    """Go on where a worker that is gone stopped; its open model call will never answer."""
    _abandon_model_calls(lease)
    store.append(lease.conversation_id, events.ConversationResumed(worker=lease.owner), lease=lease)


def release(lease: Lease) -> None:
    """Let go of a conversation whose turn is not over: any worker may take it over at once."""
    Conversation.objects.filter(
        pk=lease.conversation_id, lease_owner=lease.owner, lease_epoch=lease.epoch
    ).update(lease_owner="", lease_until=None)
