"""The end of a conversation's wait for a person: a worker then carries the turn on."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from paca import events
from paca.bus import get_bus
from paca.conversations import store
from paca.conversations.models import Approval, ApprovalState, Conversation
from paca.projects.services import notifications


def supersede(current: Conversation, *, cause: str, by: str) -> None:
    """End the wait of a locked conversation, because a message or a stop comes first; if it waits.

    The call is not run. In the caller's transaction.
    """
    approval = Approval.objects.filter(conversation=current, state=ApprovalState.OPEN).first()
    if approval is None:
        return
    superseded = events.ApprovalSuperseded(
        call_id=approval.call_id, cause=cause, by=by, seconds=waited_seconds(approval)
    )
    end(current, approval, superseded)


def end(current: Conversation, approval: Approval, event: events.Event) -> None:
    """Store what ends the wait of a locked conversation, and wake the workers after the commit."""
    store.append(current.pk, event)
    notifications.settle(f"approval:{approval.call_id}")
    facts = {
        "type": "agent.approval",
        "conversation_id": str(current.pk),
        "agent_id": str(current.agent_id),
        "project_id": str(current.project_id),
    }
    transaction.on_commit(lambda: get_bus().wake(approval.pk, facts))


def waited_seconds(approval: Approval) -> float:
    """How long the call has waited until now."""
    return round(max(0.0, (timezone.now() - approval.created_at).total_seconds()), 3)
