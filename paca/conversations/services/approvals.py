"""Services for tool calls that a person decides on before they run."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from paca import events
from paca.agents.toolbox import make_toolbox
from paca.common.best_effort import tolerated
from paca.common.errors import Conflict, Invalid, NotFound, PacaError
from paca.conversations import store
from paca.conversations.models import Approval, ApprovalState, Conversation
from paca.conversations.services import waits
from paca.conversations.services.inbox import lock
from paca.projects import permissions
from paca.projects.models import Member
from paca.projects.models.notification import NotificationKind
from paca.projects.services import notifications

DECISIONS = ("approve", "deny", "approve_rest")
MAX_REASON_CHARACTERS = 2_000
EXPIRED_AT_ONCE = 100


class ApprovalDecided(Conflict):
    """This call was decided before."""

    code = "approval_decided"

    def __init__(self, detail: str, *, first: Approval) -> None:
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


class NothingToRevoke(Conflict):
    """Nobody has approved the rest of this conversation."""

    code = "nothing_to_revoke"


def get(conversation: Conversation, call_id: str) -> Approval:
    """The approval of a call of this conversation. Raises ``NotFound`` if the call waits for none.

    The id may be written with or without dashes.
    """
    try:
        ids = {call_id, UUID(call_id).hex, str(UUID(call_id))}
    except ValueError:
        raise NotFound("This is no id of a call.") from None
    found = Approval.objects.with_details().filter(conversation=conversation, call_id__in=ids)
    approval = found.first()
    if approval is None:
        raise NotFound("No call of this conversation waits for an approval under this id.")
    return approval


@transaction.atomic
def decide(
    conversation: Conversation,
    *,
    call_id: str,
    decision: str,
    by: Member,
    arguments: dict[str, Any] | None = None,
    reason: str = "",
) -> Approval:
    """Decide on a call that waits. A worker then runs exactly this call, or tells the model the ``reason``.

    ``arguments`` run in place of those of the model. ``approve_rest`` approves this call and the later ones of
    the conversation. Raises ``Invalid`` for an unknown decision or arguments that do not fit the tool,
    ``NotFound``, and ``ApprovalDecided`` if somebody or something was faster.
    """
    current = lock(conversation)
    approval = get(current, call_id)
    _check(approval, decision, arguments, reason)
    # guard: approval-decided-once
    if approval.state != ApprovalState.OPEN:
        raise ApprovalDecided(describe(approval), first=approval)
    # guard: approval-not-after-the-deadline
    if approval.deadline <= timezone.now():
        raise ApprovalDecided("The time to decide has run out; it is not run.", first=approval)
    given = events.ApprovalGiven(
        call_id=approval.call_id,
        decision=decision,
        by=by.name,
        by_id=str(by.pk),
        reason=reason.strip(),
        arguments=arguments,
        seconds=waits.waited_seconds(approval),
    )
    waits.end(current, approval, given)
    return get(current, call_id)


def describe(approval: Approval) -> str:
    """Who or what has decided on the call, as a sentence."""
    who = approval.decided_by.name if approval.decided_by else "A person"
    match approval.state:
        case ApprovalState.APPROVED:
            return f"{who} approved this already."
        case ApprovalState.DENIED:
            return f"{who} denied this already."
        case ApprovalState.EXPIRED:
            return "The time to decide has run out; it is not run."
        case ApprovalState.SUPERSEDED if approval.reason == "message":
            return "A message came first; it is not run."
        case ApprovalState.SUPERSEDED:
            return "The conversation was stopped first; it is not run."
    return "It waits for a decision."


@transaction.atomic
def revoke_rest(conversation: Conversation, *, by: Member) -> None:
    """Let later calls of the conversation ask again. Raises ``NothingToRevoke`` if they do already."""
    current = lock(conversation)
    if not current.rest_approved_by:
        raise NothingToRevoke
    store.append(current.pk, events.ApprovalRevoked(by=by.name))


def expire_due(*, now: datetime | None = None) -> int:
    """End the waits whose deadline has passed; gives their number. Workers ask every second."""
    due = Approval.objects.open().filter(deadline__lte=now or timezone.now())
    found = list(due.order_by("deadline").values_list("conversation", "call_id")[:EXPIRED_AT_ONCE])
    ended = 0
    for conversation_id, call_id in found:
        with tolerated("expiry of an approval"):  # a faulty one does not keep the others waiting
            ended += _expire(conversation_id, call_id)
    return ended


@transaction.atomic
def _expire(conversation_id: UUID, call_id: str) -> bool:
    current = Conversation.objects.select_related("agent").for_update().get(pk=conversation_id)
    approval = Approval.objects.filter(call_id=call_id, state=ApprovalState.OPEN).first()
    if approval is None:  # somebody has decided meanwhile
        return False
    expired = events.ApprovalExpired(call_id=call_id, seconds=waits.waited_seconds(approval))
    waits.end(current, approval, expired)
    return True


def tell_people(approval: Approval) -> None:
    """Notify the people who may decide, in the transaction that stores the request."""
    project_id = approval.conversation.project_id
    people = Member.objects.live().filter(project=project_id, user__isnull=False)
    for member in people.select_related("role", "user"):
        if permissions.allows(member, permissions.APPROVE):
            notifications.tell(
                member,
                NotificationKind.APPROVAL,
                key=f"approval:{approval.call_id}",
                actor=_agent_member(approval),
                conversation_id=approval.conversation_id,
            )


def _agent_member(approval: Approval) -> Member | None:
    return Member.objects.filter(agent=approval.conversation.agent_id).first()


def _check(
    approval: Approval, decision: str, arguments: dict[str, Any] | None, reason: str
) -> None:
    """Raises ``Invalid`` if the decision is unknown, or does not fit the call."""
    # guard: approval-known-decisions
    if decision not in DECISIONS:
        raise Invalid(fields={"decision": [f"Use one of {', '.join(DECISIONS)}."]})
    if len(reason) > MAX_REASON_CHARACTERS:
        raise Invalid(fields={"reason": [f"At most {MAX_REASON_CHARACTERS:,} characters."]})
    if arguments is None:
        return
    if decision == "deny":
        raise Invalid(fields={"arguments": ["A denied call has no arguments."]})
    try:
        make_toolbox().parse(approval.tool, arguments)
    except PacaError as error:
        raise Invalid(fields={"arguments": [error.detail]}) from error
