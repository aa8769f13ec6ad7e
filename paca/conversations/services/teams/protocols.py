"""What lead and teammates ask each other: to end, and to approve a plan. Each request is resolved exactly once.

A request is stored with its deadline. The answer, the deadline and the end of the teammate all resolve it by a
compare-and-swap under the lock of the lead, so the first of them counts.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import QuerySet

from paca import events
from paca.common.errors import Conflict
from paca.conversations import store
from paca.conversations.models import (
    Conversation,
    Teammate,
    TeamRequest,
    TeamRequestKind,
    TeamRequestState,
)
from paca.conversations.services.teams import messages, texts
from paca.engine.teams.requests import LEAD


class RequestResolved(Conflict):
    """There is no open request of this kind: it was resolved, or its time has run out."""

    code = "team_request_resolved"


def ask(mate: Teammate, kind: TeamRequestKind, text: str, *, now: datetime) -> TeamRequest:
    """Store a request, and its event in the log of the lead. Raises ``Conflict`` if one of this kind is open."""
    if open_of(mate, kind).exists():
        raise Conflict("This was asked already, and waits for its answer.")
    deadline = now + timedelta(seconds=settings.TEAM_ANSWER_SECONDS)
    request = TeamRequest.objects.create(teammate=mate, kind=kind, text=text, deadline=deadline)
    requested = events.ProtocolRequested(
        request_id=str(request.pk),
        kind=kind.value,
        teammate=mate.name,
        text=text,
        deadline=deadline.isoformat(),
    )
    store.append(mate.lead_id, requested)
    return request


def open_of(mate: Teammate, kind: TeamRequestKind) -> QuerySet[TeamRequest]:
    """The open request of this kind, if there is one."""
    return TeamRequest.objects.filter(teammate=mate, kind=kind, state=TeamRequestState.OPEN)


def resolve(
    mate: Teammate, kind: TeamRequestKind, state: TeamRequestState, answer: str, *, now: datetime
) -> TeamRequest:
    """Resolve the open request of this kind. Raises ``RequestResolved`` if there is none, or if it is too late."""
    request = open_of(mate, kind).first()
    # guard: team-request-has-a-deadline
    if request is None or (state != TeamRequestState.EXPIRED and request.deadline <= now):
        raise RequestResolved
    still_open = TeamRequest.objects.filter(pk=request.pk, state=TeamRequestState.OPEN)
    if not still_open.update(state=state, answer=answer, resolved_at=now):
        raise RequestResolved
    resolved = events.ProtocolResolved(
        request_id=str(request.pk),
        kind=kind.value,
        teammate=mate.name,
        decision=state.value,
        text=answer,
    )
    store.append(mate.lead_id, resolved)
    return request


# --- shutdown -------------------------------------------------------------------------------------


def ask_to_end(mate: Teammate, reason: str, *, now: datetime) -> None:
    """The lead asks a teammate to end, which is woken to answer. Raises ``Conflict`` if it was asked already."""
    ask(mate, TeamRequestKind.SHUTDOWN, reason, now=now)
    messages.wake_teammate(mate, texts.shutdown(reason), sender=LEAD)


def answer_end(
    mate: Teammate, lead: Conversation, *, agrees: bool, reason: str, now: datetime
) -> None:
    """The teammate's answer. If it agrees, it ends with its turn. Raises ``RequestResolved``."""
    state = TeamRequestState.APPROVED if agrees else TeamRequestState.REJECTED
    resolve(mate, TeamRequestKind.SHUTDOWN, state, reason, now=now)
    said = texts.shutdown_answer(mate, agrees=agrees, reason=reason)
    messages.deliver(lead, said, sender=mate.name)


# --- plan review ----------------------------------------------------------------------------------


def submit_plan(mate: Teammate, lead: Conversation, text: str, *, now: datetime) -> None:
    """The teammate asks the lead to approve its plan. Raises ``Conflict`` if a plan of it waits already."""
    ask(mate, TeamRequestKind.PLAN_REVIEW, text, now=now)
    messages.deliver(lead, texts.plan(mate, text), sender=mate.name)


def review_plan(
    mate: Teammate, lead: Conversation, *, approve: bool, feedback: str, now: datetime
) -> None:
    """The lead's decision. An approval gives the teammate its tools, but no more than the lead has.

    Its next turn tells it. Raises ``RequestResolved``.
    """
    state = TeamRequestState.APPROVED if approve else TeamRequestState.REJECTED
    resolve(mate, TeamRequestKind.PLAN_REVIEW, state, feedback, now=now)
    if approve:
        # guard: plan-approval-gives-no-more-than-the-lead-has
        bound = lead.reads_only
        Conversation.objects.filter(pk=mate.conversation_id).update(read_only=bound)
