"""The rows of approvals that follow from events of the log, in the transaction that stores them."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any, TypeAlias
from uuid import UUID

from paca import events
from paca.common.text import to_storable, to_storable_json
from paca.conversations.models import Approval, ApprovalState
from paca.conversations.models.statuses import IllegalStatusMove

Decided: TypeAlias = events.ApprovalGiven | events.ApprovalExpired | events.ApprovalSuperseded
MAX_SUBJECT_CHARACTERS = 500


def create(
    event: events.ApprovalRequested, conversation_id: UUID, *, turn: int, at: datetime
) -> None:
    """Store the request of a call. A second one for the call raises ``IntegrityError``."""
    Approval.objects.create(
        conversation_id=conversation_id,
        call_id=event.call_id,
        turn=turn,
        tool=event.tool[:100],
        arguments=_storable(event.arguments),
        subject=to_storable(event.subject)[:MAX_SUBJECT_CHARACTERS],
        rule=event.rule,
        why=event.why,
        effect=event.effect,
        undo=event.undo,
        diff=to_storable(event.diff),
        deadline=datetime.fromisoformat(event.deadline),
    )
    Approval.objects.filter(call_id=event.call_id).update(created_at=at, updated_at=at)


def decide(event: Decided, *, at: datetime) -> None:
    """Store the decision on a call. Raises ``IllegalStatusMove`` if it was decided before."""
    facts: dict[str, Any] = {"decided_at": at, "updated_at": at}
    match event:
        case events.ApprovalGiven():
            state = ApprovalState.DENIED if event.decision == "deny" else ApprovalState.APPROVED
            facts["decided_by_id"] = event.by_id or None
            facts["reason"] = to_storable(event.reason)
            if event.arguments is not None:
                facts["changed_arguments"] = _storable(event.arguments)
        case events.ApprovalExpired():
            state = ApprovalState.EXPIRED
        case events.ApprovalSuperseded():
            state = ApprovalState.SUPERSEDED
            facts["reason"] = event.cause
    if not Approval.objects.filter(call_id=event.call_id).move(state, **facts):
        raise IllegalStatusMove("The call was decided before.")


def _storable(arguments: dict[str, Any]) -> Any:
    return json.loads(to_storable_json(arguments))
