"""Services for tool calls that a person decides on before they run."""

from __future__ import annotations

from typing import Any

from django.db import transaction

from paca import events
from paca.agents.toolbox import make_toolbox
from paca.common.errors import Conflict, Invalid, PacaError
from paca.conversations import store
from paca.conversations.models import Conversation, PersonRequest, RequestKind
from paca.conversations.services import helpers, person_requests, waits
from paca.conversations.services.inbox import lock
from paca.conversations.services.person_requests import RequestDecided
from paca.projects.models import Member

DECISIONS = ("approve", "deny", "approve_rest")
MAX_REASON_CHARACTERS = 2_000


class ApprovalDecided(RequestDecided):
    """This call was decided before."""

    code = "approval_decided"


class NothingToRevoke(Conflict):
    """Nobody has approved the rest of this conversation."""

    code = "nothing_to_revoke"


@transaction.atomic
def decide(
    conversation: Conversation,
    *,
    call_id: str,
    decision: str,
    by: Member,
    arguments: dict[str, Any] | None = None,
    reason: str = "",
) -> PersonRequest:
    """Decide on a call that waits. A worker then runs exactly this call, or tells the model the ``reason``.

    ``arguments`` run in place of those of the model. ``approve_rest`` approves this call and the later ones of
    the conversation. Raises ``Invalid`` for an unknown decision or arguments that do not fit the tool,
    ``NotFound``, and ``ApprovalDecided`` if somebody or something was faster.
    """
    current = lock(conversation)
    approval = person_requests.get(current, call_id, kind=RequestKind.APPROVAL)
    _check(approval, decision, arguments, reason)
    person_requests.require_open(approval, ApprovalDecided)
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
    return person_requests.get(current, call_id, kind=RequestKind.APPROVAL)


@transaction.atomic
def revoke_rest(conversation: Conversation, *, by: Member) -> None:
    """Let later calls of the conversation ask again. Raises ``NothingToRevoke`` if they do already."""
    current = lock(conversation)
    if not current.rest_approved_by:
        raise NothingToRevoke
    store.append(current.pk, events.ApprovalRevoked(by=by.name))
    # guard: revocation-reaches-the-helpers
    for child in helpers.living(current):
        store.append(child.pk, events.ApprovalRevoked(by=by.name))


def _check(
    approval: PersonRequest, decision: str, arguments: dict[str, Any] | None, reason: str
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
