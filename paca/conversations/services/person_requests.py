"""Services for requests to people of each kind: find, describe, expire, and tell people."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from paca import events
from paca.common.best_effort import tolerated
from paca.common.errors import Conflict, NotFound
from paca.conversations.models import Conversation, PersonRequest, RequestKind, RequestState
from paca.conversations.services import waits
from paca.projects import permissions
from paca.projects.models import Member
from paca.projects.models.notification import NotificationKind
from paca.projects.services import notifications

# The permission to decide on each kind of request, or to answer it.
PERMISSIONS = {
    RequestKind.APPROVAL: permissions.APPROVE,
    RequestKind.PLAN: permissions.APPROVE,
    RequestKind.QUESTION: permissions.ANSWER,
}
EXPIRED_AT_ONCE = 100
_NOT_DONE = {
    RequestKind.APPROVAL: "it is not run",
    RequestKind.PLAN: "the plan is not approved",
    RequestKind.QUESTION: "the agent goes on without an answer",
}


class RequestDecided(Conflict):
    """Somebody or something was faster."""

    def __init__(self, detail: str, *, first: PersonRequest) -> None:
        super().__init__(detail)
        self.first = first

    @property
    def present(self) -> dict[str, Any]:
        """The first decision."""
        by = self.first.decided_by
        at = self.first.decided_at
        return {
            "call_id": self.first.call_id,
            "state": self.first.state,
            "decided_by": by.name if by else None,
            "decided_at": at.isoformat() if at else None,
            "reason": self.first.reason,
        }


def get(conversation: Conversation, call_id: str, *, kind: RequestKind) -> PersonRequest:
    """The request of a call of this conversation. Raises ``NotFound`` if there is none of this ``kind``.

    The id may be written with or without dashes.
    """
    try:
        ids = {call_id, UUID(call_id).hex, str(UUID(call_id))}
    except ValueError:
        raise NotFound("This is no id of a call.") from None
    # guard: request-of-its-kind
    found = PersonRequest.objects.with_details().filter(kind=kind, call_id__in=ids)
    request = found.filter(conversation=conversation).first()
    if request is None:
        raise NotFound(f"This conversation has no {kind.label.lower()} under this id.")
    return request


def open_in(conversation: Conversation, *, kind: RequestKind) -> PersonRequest:
    """The request of this ``kind`` that the conversation waits for. Raises ``NotFound``."""
    found = PersonRequest.objects.with_details().open().filter(conversation=conversation, kind=kind)
    request = found.first()
    if request is None:
        raise NotFound(f"No {kind.label.lower()} of this conversation waits.")
    return request


def require_open(request: PersonRequest, error: type[RequestDecided]) -> None:
    """Raises ``error`` if the request has ended, or its time has."""
    # guard: approval-decided-once
    if request.state != RequestState.OPEN:
        raise error(describe(request), first=request)
    # guard: approval-not-after-the-deadline
    if request.deadline <= timezone.now():
        raise error(_too_late(request), first=request)


def describe(request: PersonRequest) -> str:
    """Who or what has ended the request, as a sentence."""
    who = request.decided_by.name if request.decided_by else "A person"
    match request.state:
        case RequestState.APPROVED:
            return f"{who} approved this already."
        case RequestState.ANSWERED:
            return f"{who} answered this already."
        case RequestState.DENIED:
            verb = "rejected" if request.kind == RequestKind.PLAN else "denied"
            return f"{who} {verb} this already."
        case RequestState.EXPIRED:
            return _too_late(request)
        case RequestState.SUPERSEDED:
            return f"{_first_cause(request.reason)}; {_not_done(request)}."
    return "It waits for a decision."


def _first_cause(cause: str) -> str:
    causes = {"message": "A message came first", "plan_mode": "Plan mode was switched off first"}
    return causes.get(cause, "The conversation was stopped first")


def _not_done(request: PersonRequest) -> str:
    return _NOT_DONE[RequestKind(request.kind)]


def _too_late(request: PersonRequest) -> str:
    return f"The time to decide has run out; {_not_done(request)}."


def deadline_of(request: events.Event, *, now: datetime) -> datetime:
    """Until when people may decide on the request, or answer it."""
    is_approval = isinstance(request, events.ApprovalRequested)
    seconds = (
        settings.APPROVAL_TIMEOUT_SECONDS if is_approval else settings.QUESTION_TIMEOUT_SECONDS
    )
    return now + timedelta(seconds=seconds)


def expire_due(*, now: datetime | None = None) -> int:
    """End the waits whose deadline has passed; gives their number. Workers ask every second."""
    due = PersonRequest.objects.open().filter(deadline__lte=now or timezone.now())
    found = list(due.order_by("deadline").values_list("conversation", "call_id")[:EXPIRED_AT_ONCE])
    ended = 0
    for conversation_id, call_id in found:
        with tolerated("expiry of an approval"):  # a faulty one does not keep the others waiting
            ended += _expire(conversation_id, call_id)
    return ended


@transaction.atomic
def _expire(conversation_id: UUID, call_id: str) -> bool:
    current = Conversation.objects.select_related("agent").for_update().get(pk=conversation_id)
    request = PersonRequest.objects.filter(call_id=call_id, state=RequestState.OPEN).first()
    if request is None:  # somebody has decided meanwhile
        return False
    expired = events.ApprovalExpired(
        call_id=call_id, seconds=waits.waited_seconds(request), kind=request.kind
    )
    waits.end(current, request, expired)
    return True


def tell_people(request: PersonRequest) -> None:
    """Notify the people who may decide or answer, in the transaction that stores the request."""
    project_id = request.conversation.project_id
    is_question = request.kind == RequestKind.QUESTION
    kind = NotificationKind.QUESTION if is_question else NotificationKind.APPROVAL
    people = Member.objects.live().filter(project=project_id, user__isnull=False)
    for member in people.select_related("role", "user"):
        if permissions.allows(member, PERMISSIONS[RequestKind(request.kind)]):
            notifications.tell(
                member,
                kind,
                key=f"approval:{request.call_id}",
                actor=Member.objects.filter(agent=request.conversation.agent_id).first(),
                # A helper's call is decided in the lanes of the conversation that started it.
                conversation_id=request.conversation.parent_id or request.conversation_id,
            )
